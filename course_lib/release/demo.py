"""The whole module once, end to end: release every problem set and grade a class whose marks are known beforehand."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib.course import Course
from course_lib.grading.report import StudentReport
from course_lib.grading.run import Progress, WallsMissing, grade
from course_lib.grading.sample import SampleStudent, sample_class, write_sample
from course_lib.release.archive import packed
from course_lib.release.notebooks import require_bank

LATE = 3  # which of the sample class comes late, where its files stand for those of an LMS


@dataclass(frozen=True)
class DemoRow:
    """One student of the sample class: what was handed in, what the bank predicts, and what grading gave."""

    student: SampleStudent
    report: StudentReport

    @property
    def as_predicted(self) -> bool:
        expected = {"notebook": {"graded", "needs_marking"}, "broken": {"unreadable"}, "nothing": {"missing"}}
        return self.report.status in expected[self.student.kind] and (
            abs(self.report.score - self.student.predicted) < 1e-9
        )

    @property
    def why(self) -> str:
        """In short why points were lost: of the first item that lost some; of several, only the first reason."""
        if self.report.note:
            return self.report.note
        lost = [item for item in self.report.items if item.score is not None and item.score < item.max_score]
        waiting = [item for item in self.report.items if item.score is None]
        return next((f"{item.id}: {_reason(item.message)}" for item in [*lost, *waiting]), "")


@dataclass(frozen=True)
class DemoClass:
    """The sample class, graded; `walls` says whether its code was confined."""

    rows: tuple[DemoRow, ...]
    walls: bool


def demo_workspace(course: Course) -> Path:
    """Where the sample class is graded, away from the course's own students."""
    return course.build / "demo"


def write_class(course: Course, problem_set: str) -> list[SampleStudent]:
    """Writes the sample class of a released problem set, to rehearse a term with; returns who is in it.

    In _build/demo: handed-in/PS/STUDENT/PS, and what Canvas would give of it, gradebook.csv and submissions.zip.
    """
    workspace = demo_workspace(course)
    bank = require_bank(course.require_problem_set(problem_set))
    students = sample_class(bank, course.language)
    handed_in = workspace / "handed-in" / problem_set
    write_sample(students, course.exercises / course.language / problem_set, handed_in)
    with (workspace / "gradebook.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(_canvas_gradebook(students, problem_set, bank.points))
    (workspace / "submissions.zip").write_bytes(packed(_canvas_names(students, problem_set, handed_in)))
    return students


def _canvas_gradebook(
    students: Iterable[SampleStudent], problem_set: str, points: float
) -> Iterator[list[str]]:
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", f"{problem_set} (9000)"]
    yield ["    Points Possible", "", "", "", "", f"{points:g}"]
    for number, student in enumerate(students, start=1):
        yield [student.id, str(7000 + number), student.id, student.id, "1", ""]


def _canvas_names(
    students: Iterable[SampleStudent], problem_set: str, handed_in: Path
) -> Iterator[tuple[str, bytes]]:
    """Each notebook under the name that Canvas gives it; one of them late."""
    for number, student in enumerate(students, start=1):
        path = handed_in / student.id / problem_set / f"{problem_set}.ipynb"
        late = "_LATE" if number == LATE else ""
        if path.is_file():
            name = student.id.replace("-", "")
            yield f"{name}{late}_{7000 + number}_{8000 + number}_{path.name}", path.read_bytes()


def grade_sample(course: Course, problem_set: str, *, progress: Progress) -> DemoClass:
    """The sample class of a released problem set, written to _build/demo/handed-in and graded in _build/demo.

    Its code is the module's own: where nothing confines code, it runs without walls.
    """
    workspace = demo_workspace(course)
    students = write_class(course, problem_set)
    handed_in = workspace / "handed-in" / problem_set
    try:
        report = grade(course, problem_set, handed_in, workspace, progress=progress)
    except WallsMissing:
        report = grade(course, problem_set, handed_in, workspace, walls=False, progress=progress)
    rows = tuple(DemoRow(*pair) for pair in zip(students, report.students, strict=True))
    return DemoClass(rows, report.walls)


def _reason(message: str) -> str:
    """Of a verdict, the first sentence of the first hint; else the first lost part; else the line after the points."""
    lines = [line.strip() for line in message.splitlines()]
    reasons = [line for mark in ("→", "✗") for line in lines if line.startswith(mark)]
    reason = (reasons or lines[1:] or lines)[0]
    return reason.split(": ", 1)[-1].lstrip("→✗ ").split(". ")[0].rstrip(".")
