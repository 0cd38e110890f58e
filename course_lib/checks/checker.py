"""The check in a notebook: `check = load()`, then `check("scores", scores)`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from course_lib.checks.calling import copies, prepared
from course_lib.checks.case_file import LIBRARY, CaseFile, read_cases
from course_lib.checks.cases import NOT_CALLABLE, Function, Inputs, TaskCases
from course_lib.checks.guard import guard
from course_lib.checks.judging import Verdict, judge
from course_lib.checks.wording import SAY, folded, report

SECONDS = 20  # that a check may take: it takes one, and a slow machine may first have to load Torch


def load(path: str | Path = "cases.npz", language: str = "ko", problem_set: str = "") -> Checker:
    """The checks of a problem set, from the file beside its notebook; says in one line whether all is in place.

    Errors: NotInPlace where the file is missing, damaged, or that of another problem set than the one named.
    """
    if language not in SAY:
        raise ValueError(f"language must be one of {', '.join(SAY)}: it is {language!r}")
    say = SAY[language]
    try:
        file = read_cases(path)
    except ValueError:
        lacking = "damaged" if Path(path).is_file() else "missing"
        raise NotInPlace(say[lacking].format(path=path, folder=Path(path).absolute().parent)) from None
    if problem_set and file.problem_set != problem_set:
        raise NotInPlace(say["other_set"].format(path=path, found=file.problem_set, needed=problem_set))
    _print(_in_place(file, say))
    return Checker({task.name: task for task in file.tasks}, language)


@dataclass(frozen=True)
class Checker:
    """`check("scores", scores)` prints what holds and what does not, and returns the points of what holds.

    In a notebook's graded cell that number is what `nbgrader validate` reads. `failing` keeps, by task, the inputs on
    which the function failed first.
    """

    tasks: dict[str, TaskCases]
    language: str = "ko"
    failing: dict[str, Inputs] = field(default_factory=dict)

    def __call__(self, task: str, function: Function) -> float:
        say = SAY[self.language]
        if not isinstance(task, str) or task not in self.tasks:
            raise NotInPlace(say["no_task"].format(task=task, tasks=", ".join(self.tasks)))
        with guard(SECONDS, say["cut"]) as watch:
            verdict = judge(self.tasks[task], function, watch)
        _print(folded(report(verdict, self.language)))
        self.failing.pop(task, None)
        failed = next((part.failed for part in verdict.parts if part.failed), None)
        if failed and _was_written(verdict) and verdict.task.way.kind == "function":
            self.failing[task] = prepared(copies(failed.inputs), verdict.task.way)
            _print(f'  {say["try"]}:\n      {task}(**check.failing["{task}"])')
        return float(verdict.points)


class NotInPlace(ValueError):
    """What a notebook needs is missing. IPython shows the sentence, and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def _print(text: str) -> None:
    """Prints, where not every letter can be shown, too."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))


def _was_written(verdict: Verdict) -> bool:
    """Whether there is a function, and no stub of one."""
    errors = {part.outcome.error for part in verdict.parts if part.outcome}
    return NOT_CALLABLE not in errors and errors != {"NotImplementedError"}


def _in_place(file: CaseFile, say: dict[str, str]) -> str:
    """The line about the versions that are there, or about the first thing that is not as it should be.

    A module that the notebook can't do without is missed by its own import, above: any other may be missing.
    """
    if LIBRARY and file.library != LIBRARY:
        return say["other_library"].format(needed=file.library, found=LIBRARY)
    found = {module: _version(module) for module in file.modules}
    count = len(file.tasks)
    versions = {"course_lib": LIBRARY, "NumPy": np.__version__, **found}
    listed = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    tasks = say["task" if count == 1 else "tasks"].format(count=count)
    missing = [say["no_module"].format(name=name) for name, number in found.items() if not number]
    return " ".join([say["ready"].format(tasks=tasks, versions=listed), *missing[:1]])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
