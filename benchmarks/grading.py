"""How fast `course grade` is beside stock `nbgrader autograde`: `make bench-grading` prints the page and keeps it.

Both grade the same submissions on the same cores: honest ones, made from a bank's right answers and named mistakes,
a quarter of them late. Both write every mark, late penalty and executed notebook. Runs take turns, so that what else
the machine does meets both; a line is the median over the turns.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from machine import cores, processor

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).with_suffix(".md")
DUE = datetime(2026, 3, 1, 12)
DIFFERENT = 40  # submissions of a class that differ; the inputs drawn for each student differ in any case

# The courses: what computes in NumPy, what in torch.
SETS = {"numpy": (ROOT, "ps1"), "torch": (ROOT / "tests" / "torch_course", "tensors")}

OURS = "c = get_config()\nc.LateSubmissionPlugin.penalty_method = 'zero'\n"


@dataclass
class Run:
    """One command: seconds, those of all processors together, and the peaks of resident memory in MiB."""

    seconds: float
    cpu: float = 0.0
    writer: float = 0.0
    workers: float = 0.0
    rooms: float = 0.0
    pace: float = 0.0  # submissions a second once the workers are warm
    scores: dict[str, float] = field(default_factory=dict)


def main() -> None:
    """Measures everything, prints the page and keeps it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--students", type=int, default=200, help="of the class whose throughput is measured")
    parser.add_argument(
        "--large", type=int, default=2000, help="of the class whose memory is measured; 0: none"
    )
    parser.add_argument("--jobs", type=int, nargs="+", default=sorted({1, min(2, cores()), cores()}))
    parser.add_argument("--keep", type=Path, default=RESULT, help="where the page is written")
    options = parser.parse_args()
    lines = [*head(options)]
    for name in options.sets:
        with tempfile.TemporaryDirectory(prefix="bench-grading-") as scratch:
            lines += Bench(name, Path(scratch), options).lines()
    page = "\n".join(lines) + "\n"
    print(page)
    options.keep.write_text(page, encoding="utf-8")


class Bench:
    """One problem set."""

    def __init__(self, name: str, scratch: Path, options: Any) -> None:
        self.name, self.scratch, self.options = name, scratch, options
        source, self.problem_set = SETS[name]
        self.course = scratch / "course"
        shutil.copytree(source / "solutions" / self.problem_set, self.course / "solutions" / self.problem_set)
        shutil.copy(source / "course.toml", self.course)
        command(self.course, "course", "release", self.problem_set)
        self._set_due_date()
        self.runs = itertools.count()

    def lines(self) -> Iterator[str]:
        """The section of this set."""
        few, small, many = (self.hand_in(count) for count in (2, 20, self.options.students))
        most = max(self.options.jobs)
        found: dict[str, list[Run]] = {}
        plan: dict[str, Callable[[], Run]] = {
            "stock 2": lambda: self.stock(few),
            "stock 20": lambda: self.stock(small),
            "ours 20": lambda: self.ours(small, most),
            **{
                f"ours {jobs}": (lambda jobs=jobs: self.ours(many, jobs))  # type: ignore[misc]
                for jobs in self.options.jobs
            },
        }
        if {1, 2} <= set(self.options.jobs) and shutil.which("taskset"):
            plan["ours 1 on one core"] = lambda: self.ours(many, 1, one_core=True)
        for turn in range(self.options.turns):
            for what, run in plan.items():
                found.setdefault(what, []).append(run())
                print(
                    f"{self.name}, turn {turn + 1}: {what}: {found[what][-1].seconds:.1f} s", file=sys.stderr
                )
        self._same_marks(found)
        yield from self._table(found)
        if self.options.large:
            yield from self._large(most)

    def _same_marks(self, found: dict[str, list[Run]]) -> None:
        """Ends the benchmark with a list where a run gave other marks than another."""
        runs = [run.scores for what in ("stock 20", "ours 20") for run in found[what]]
        differ = {
            student: given
            for student in runs[0]
            if len(set(given := tuple(scores[student] for scores in runs))) > 1
        }
        if differ:
            sys.exit(f"{self.name}: the marks differ between runs, first of stock, then ours: {differ}")

    def _table(self, found: dict[str, list[Run]]) -> Iterator[str]:
        def median(what: Callable[[int], float]) -> float:
            return statistics.median(what(turn) for turn in range(self.options.turns))

        def seconds(name: str, turn: int) -> float:
            return found[name][turn].seconds

        students, jobs = self.options.students, self.options.jobs
        each = median(lambda turn: (seconds("stock 20", turn) - seconds("stock 2", turn)) / 18)
        yield from (f"## {self.name}: {self.problem_set}", "")
        yield from ("| | stock nbgrader | `course grade` | times as fast |", "| --- | ---: | ---: | ---: |")
        yield row(
            "class of 20, the whole command",
            median(lambda turn: seconds("stock 20", turn)),
            median(lambda turn: seconds("ours 20", turn)),
            median(lambda turn: seconds("stock 20", turn) / seconds("ours 20", turn)),
            unit="s",
        )
        for workers in jobs:
            ratio = median(
                lambda turn, name=f"ours {workers}": (
                    (seconds("stock 20", turn) - seconds("stock 2", turn))
                    / 18
                    * students
                    / seconds(name, turn)
                )
            )
            yield row(
                f"class of {students}, a submission, {workers} workers",
                1000 * each,
                1000 * median(lambda turn, name=f"ours {workers}": seconds(name, turn) / students),
                ratio,
                unit="ms",
            )
        yield ""
        yield from self._processor(found, most=max(jobs), median=median)
        yield (
            f"A submission's time is the whole command's over {students}, ours with its start; stock's is that of 18 "
            f"more submissions (20 against 2), without its start: {students} would take it "
            f"{median(lambda turn: seconds('stock 2', turn)) + each * students:.0f} s. "
            "Both gave the 20 the same marks."
        )
        if "ours 1 on one core" in found:
            yield from self._scaling(found, median=median)
        yield ""

    def _scaling(
        self, found: dict[str, list[Run]], *, median: Callable[[Callable[[int], float]], float]
    ) -> Iterator[str]:
        """How the pace grows with workers, and why it can't grow further."""

        def times(slower: str) -> float:
            return median(lambda turn: found["ours 2"][turn].pace / found[slower][turn].pace)

        def busy(name: str) -> float:
            return median(lambda turn: found[name][turn].cpu / found[name][turn].seconds)

        yield (
            "Once they are warm (between the first and the last batch written), from 1 worker to 2: "
            f"{times('ours 1'):.2f} times; from 1 worker with all of the command on one core to 2 on "
            f"{cores()} cores: {times('ours 1 on one core'):.2f} times. "
            f"Processors kept busy, the start counted in: {busy('ours 1'):.2f} by 1 worker (the writer and the "
            f"system's clearing up work beside it), {busy('ours 2'):.2f} by 2."
        )

    def _processor(
        self, found: dict[str, list[Run]], *, most: int, median: Callable[[Callable[[int], float]], float]
    ) -> Iterator[str]:
        """What a submission more costs, in seconds of the processors: what others do meets it least."""

        def cpu(name: str, turn: int) -> float:
            return found[name][turn].cpu

        more = self.options.students - 20
        stock = median(lambda turn: (cpu("stock 20", turn) - cpu("stock 2", turn)) / 18)
        ours = median(lambda turn: (cpu(f"ours {most}", turn) - cpu("ours 20", turn)) / more)
        yield (
            f"Time of the processors for a submission more: stock {1000 * stock:.0f} ms, ours {1000 * ours:.0f} ms "
            f"({stock / ours:.1f} times less), of which ours uses {most} at once."
        )

    def _large(self, jobs: int) -> Iterator[str]:
        middle = self.ours(self.hand_in(self.options.students), jobs)
        large = self.ours(self.hand_in(self.options.large), jobs)
        yield "| class | seconds | ms a submission | writer MiB | each worker MiB | each warm room MiB |"
        yield "| ---: | ---: | ---: | ---: | ---: | ---: |"
        for count, run in ((self.options.students, middle), (self.options.large, large)):
            yield (
                f"| {count} | {run.seconds:.1f} | {1000 * run.seconds / count:.1f} | {run.writer:.0f} "
                f"| {run.workers:.0f} | {run.rooms:.0f} |"
            )
        yield from ("", "Peaks of resident memory, shared pages counted in each.", "")

    def hand_in(self, count: int) -> Path:
        """A class of so many."""
        folder = self.scratch / f"handed-in-{count}"
        if folder.exists():
            return folder
        texts = self._texts()
        for number in range(count):
            target = folder / f"student-{number:05}" / self.problem_set
            target.mkdir(parents=True)
            (target / f"{self.problem_set}.ipynb").write_text(texts[number % len(texts)], encoding="utf-8")
            time_ = DUE + timedelta(hours=1 if number % 4 == 3 else -1)
            (target / "timestamp.txt").write_text(f"{time_} UTC\n")
        return folder

    def _texts(self) -> list[str]:
        from course_lib.grading.bank import load_bank
        from course_lib.grading.sample import SampleStudent, write_sample

        bank = load_bank(self.course / "solutions" / self.problem_set)
        choices = {
            task.name: [
                answer
                for answer in (task.reference, *task.right_answers, *(m.function for m in task.mistakes))
                if bank.modules or "import torch" not in inspect.getsource(answer)
            ]
            for task in bank.tasks
        }
        students = [
            SampleStudent(
                f"student-{number:03}",
                "",
                0.0,
                {name: answers[number % len(answers)] for name, answers in choices.items()},
                {written.name: written.model_answer.en for written in bank.written},
            )
            for number in range(DIFFERENT)
        ]
        folder = self.scratch / "different"
        write_sample(students, self.course / "exercises" / "en" / self.problem_set, folder)
        return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*/*/*.ipynb"))]

    def stock(self, handed_in: Path) -> Run:
        """Stock nbgrader, in a fresh copy of the course."""
        place = self._fresh()
        shutil.copytree(handed_in, place / "submitted")
        self._configure(place)
        run = command(place, "nbgrader", "autograde", self.problem_set)
        run.scores = scores(place, self.problem_set)
        return run

    def ours(self, handed_in: Path, jobs: int, *, one_core: bool = False) -> Run:
        """`course grade`, in a fresh copy of the course."""
        place = self._fresh()
        shutil.copytree(handed_in, place / "submitted")
        (place / "nbgrader_config.py").write_text(OURS)
        run = command(place, "course", "grade", self.problem_set, "--jobs", str(jobs), one_core=one_core)
        run.scores = scores(place, self.problem_set)
        run.pace = pace(place)
        return run

    def _fresh(self) -> Path:
        place = self.scratch / f"run-{next(self.runs)}"
        shutil.copytree(self.course, place)
        return place

    def _configure(self, place: Path) -> None:
        """Writes the course's folders and limits for stock nbgrader, which grades in its own way."""
        from course_lib.course import find_course
        from course_lib.grading.workspace import Workspace, settings

        config = settings(Workspace(find_course(place), place), self.problem_set)
        del config.CourseDirectory["assignment_id"]  # the command names it
        config.LateSubmissionPlugin.penalty_method = "zero"
        (place / "nbgrader_config.json").write_text(json.dumps(config))

    def _set_due_date(self) -> None:
        from nbgrader.api import Gradebook

        with Gradebook(f"sqlite:///{self.course / 'gradebook.db'}") as gradebook:
            gradebook.update_or_create_assignment(self.problem_set, duedate=DUE)


def command(folder: Path, name: str, *arguments: str, one_core: bool = False) -> Run:
    """Runs a command of this environment in a folder, its output kept away."""
    environment = {**os.environ, "COURSE_ROOT": str(folder)}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    since = time.perf_counter()
    only = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))] if one_core else []
    process = subprocess.Popen(
        [*only, Path(sys.executable).with_name(name), *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    watcher = Watcher(process.pid)
    said, _ = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = Run(time.perf_counter() - since)
    run.cpu = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    if process.returncode:
        sys.exit(f"{name} {' '.join(arguments)} failed:\n{said}")
    run.writer, run.workers, run.rooms = watcher.peaks()
    run.cpu += sum(watcher.cpu.values())  # nobody waits for a room's processes once its worker has ended
    return run


class Watcher:
    """Looks at the resident memory of a command's processes twice a second, until they end."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.most = {"writer": 0.0, "worker": 0.0, "room": 0.0}
        self.cpu: dict[int, float] = {}
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()

    def peaks(self) -> tuple[float, float, float]:
        self.thread.join()
        return self.most["writer"], self.most["worker"], self.most["room"]

    def _watch(self) -> None:
        while (peak := memory(self.pid)) is not None:
            self._keep("writer", peak)
            for worker in children(self.pid):
                self._keep("worker", memory(worker) or 0.0)
                for room in descendants(worker):
                    self._keep("room", memory(room) or 0.0)
                    self.cpu[room] = max(self.cpu.get(room, 0.0), warm_room_seconds(room))
            time.sleep(0.5)

    def _keep(self, kind: str, found: float) -> None:
        self.most[kind] = max(self.most[kind], found)


def memory(pid: int) -> float | None:
    """The peak of a process's resident memory in MiB; None when it has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return None
    return int(found[1]) / 1024 if found else None


def warm_room_seconds(pid: int) -> float:
    """Processor seconds of a warm room and of the children that it has ended; 0 for any other process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        names = [Path(f"/proc/{one}/comm").read_text().strip() for one in (pid, fields[1])]
    except OSError:
        return 0.0
    if names[0] == "bwrap" or names[1] != "bwrap":
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> Iterator[int]:
    """They, and what they started."""
    for child in children(pid):
        yield child
        yield from descendants(child)


def pace(place: Path) -> float:
    """Submissions a second between the first and the last batch of notebooks that were written."""
    times = sorted(path.stat().st_mtime for path in (place / "autograded").glob("*/*/*.ipynb"))
    after = [time_ for time_ in times if time_ > times[0] + 0.3]
    return len(after) / (times[-1] - times[0]) if after else float("nan")


def scores(place: Path, problem_set: str) -> dict[str, float]:
    """Score less penalty of every student, and that each has an executed notebook."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{place / 'gradebook.db'}") as gradebook:
        submissions = gradebook.assignment_submissions(problem_set)
        found = {
            submission.student.id: submission.score - (submission.late_submission_penalty or 0.0)
            for submission in submissions
        }
    executed = {path.parent.parent.name for path in (place / "autograded").glob("*/*/*.ipynb")}
    assert executed == found.keys(), "some notebook is missing"
    return found


def row(what: str, stock: float, ours: float, ratio: float, *, unit: str) -> str:
    """A line of the table."""
    return f"| {what} | {stock:.1f} {unit} | {ours:.1f} {unit} | {ratio:.1f} |"


def head(options: Any) -> Iterator[str]:
    """What was measured, and on what, without names of hosts."""
    from importlib.metadata import version

    yield "# How fast a class is graded"
    yield ""
    yield (
        f"`make bench-grading` wrote this page: {options.turns} turns, medians. Submissions are honest ones, made from "
        "a bank's right answers and mistakes; a quarter is late. On a machine that others use at the same time, "
        "ratios are worth more than times."
    )
    yield ""
    yield f"- Processor: {processor()}, {cores()} cores, load {os.getloadavg()[0]:.1f} at the start"
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "torch", "nbgrader"))
    yield f"- {platform.system()}, Python {platform.python_version()}, {packages}"
    yield ""


if __name__ == "__main__":
    main()
