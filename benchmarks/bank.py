"""What the banks of the problem sets are worth, measured: `make bank` prints a table and ends in one line.

A *false accept* is a named mistake that keeps a part its bank says it loses; a *false reject* is a right answer (the
reference among them) that loses a part. Both are counted over the cases that students see and over hidden ones, drawn
as grading draws them. A mistake is *diagnosed* where the check that students have names it, and no other, to its
author. The *slowest check* is the longest that the students' check took for any of these answers, the first included.
Exit status 1 where a false accept or a false reject exists.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from course_lib.checks import Function, TaskCases, Verdict, judge, read_cases, save_cases
from course_lib.course import find_course
from course_lib.grading.bank import Bank, Task, draw_cases, load_bank, visible_cases

ROOT = Path(__file__).parents[1]
DRAWS = 3


@dataclass
class Measured:
    """One task: how much there is, and the names of what went wrong."""

    task: Task
    accepted: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    undiagnosed: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def check(self, seen: TaskCases, answer: Function) -> Verdict:
        """The verdict of the check that students have, whose time counts."""
        start = time.perf_counter()
        verdict = judge(seen, answer)
        self.slowest = max(self.slowest, time.perf_counter() - start)
        return verdict

    @property
    def diagnosed(self) -> int:
        return len(self.task.mistakes) - len(self.undiagnosed)


def main() -> int:
    """Measures the problem sets named, or all of them, and prints what came out."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("sets", nargs="*", default=find_course(ROOT).problem_sets)
    arguments.add_argument("--draws", type=int, default=DRAWS, help="hidden draws of each task")
    given = arguments.parse_args()
    importlib.import_module("torch")  # in a notebook its cell loads it, before the check
    banks = [load_bank(ROOT / "solutions" / name) for name in given.sets]
    measured = {bank.name: measure(bank, given.draws) for bank in banks}
    console = Console(width=120)
    console.print(table(measured))
    for name, tasks in measured.items():
        for found in tasks:
            report_faults(console, name, found)
    line, sound = summary([found for tasks in measured.values() for found in tasks])
    console.print(line, highlight=False)
    return 0 if sound else 1


def measure(bank: Bank, draws: int) -> list[Measured]:
    """Every task of the bank, held against the file that students get and against `draws` hidden draws."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.npz"
        save_cases(file, visible_cases(bank))
        seen = {cases.name: cases for cases in read_cases(file).tasks}
    return [measure_task(bank.name, task, seen[task.name], draws) for task in bank.tasks]


def measure_task(name: str, task: Task, seen: TaskCases, draws: int) -> Measured:
    """One task: every mistake and every right answer on every draw."""
    found = Measured(task)
    drawn = [draw_cases(task, f"make bank/{name}/{task.name}/{n}".encode(), rounds=3) for n in range(draws)]
    for mistake in task.mistakes:
        verdicts = [
            found.check(seen, mistake.function),
            *(judge(cases, mistake.function) for cases in drawn),
        ]
        kept = [{part.part.name for part in verdict.parts if part.earned} for verdict in verdicts]
        if any(names & mistake.loses for names in kept):
            found.accepted.append(mistake.name)
        if verdicts[0].mistakes != [mistake.name]:
            found.undiagnosed.append(mistake.name)
    for answer in (task.reference, *task.right_answers):
        verdicts = [found.check(seen, answer), *(judge(cases, answer) for cases in drawn)]
        if any(verdict.points != task.points for verdict in verdicts):
            found.rejected.append(answer.__name__)
    return found


def table(measured: dict[str, list[Measured]]) -> Table:
    """One line a task."""
    shown = Table("set", "task")
    for title in (
        "mistakes",
        "false accepts",
        "right answers",
        "false rejects",
        "diagnosed",
        "slowest check",
    ):
        shown.add_column(title, justify="right")
    for name, tasks in measured.items():
        for found in tasks:
            mistakes, answers = len(found.task.mistakes), 1 + len(found.task.right_answers)
            numbers = (mistakes, len(found.accepted), answers, len(found.rejected), found.diagnosed)
            shown.add_row(name, found.task.name, *map(str, numbers), f"{found.slowest:.2f} s")
    return shown


def report_faults(console: Console, name: str, found: Measured) -> None:
    """The names behind a task's numbers, where not all is well."""
    faults = {
        "accepted": found.accepted,
        "refused though right": found.rejected,
        "not diagnosed": found.undiagnosed,
    }
    for what, names in faults.items():
        if names:
            console.print(f"{name} {found.task.name}: {what}: {', '.join(names)}")


def summary(measured: list[Measured]) -> tuple[str, bool]:
    """The last line, and whether marks can be trusted."""
    accepts = sum(len(found.accepted) for found in measured)
    rejects = sum(len(found.rejected) for found in measured)
    share = sum(found.diagnosed for found in measured) / sum(len(found.task.mistakes) for found in measured)
    line = f"false accepts {accepts}, false rejects {rejects}, diagnosed {100 * share:.1f} %"
    return line, accepts == rejects == 0


if __name__ == "__main__":
    sys.exit(main())
