"""Grading a class: take in, execute, record, report. One bad submission never stops the others."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import course_lib
from course_lib.course import Course
from course_lib.grading.execute import ExecutionFailed, execute
from course_lib.grading.intake import Missing, Submission, Unreadable, collect, stage, submissions_in
from course_lib.grading.notebook import read_notebook
from course_lib.grading.report import Item, Report, Status, StudentReport
from course_lib.grading.secret import secret_of
from course_lib.grading.verdicts import Verdict, read_verdicts
from course_lib.grading.workspace import Workspace, nbgrader_at_work, open_workspace, register

_SAY = {
    "ko": {"waits": "사람이 채점할 차례입니다.", "marked": "사람이 채점했습니다.", "empty": "답이 없습니다."},
    "en": {"waits": "Waits for a person's mark.", "marked": "Marked by a person.", "empty": "No answer."},
}

Progress = Callable[[int, int, str], None]  # done, total, the student whose turn it is


def grade(
    course: Course,
    problem_set: str,
    submitted: Path,
    workspace: Path,
    *,
    again: bool = False,
    progress: Progress = lambda done, total, student: None,
) -> Report:
    """Grades `submitted`/STUDENT/PROBLEM_SET/*.ipynb in a workspace.

    A submission that was graded before is not run again while it, the release and the library stay as they were,
    except with `again`; what people marked stays in any case. CourseError where there is nothing to grade.
    """
    course.require_problem_set(problem_set)
    place = open_workspace(course, workspace)
    place.source(problem_set)
    submissions = submissions_in(submitted, problem_set)
    register(place, problem_set)
    run = _Run(place, problem_set, again)
    students = []
    for done, submission in enumerate(submissions):
        progress(done, len(submissions), submission.student)
        students.append(run.grade(submission))
    progress(len(submissions), len(submissions), "")
    return Report(problem_set, tuple(students))


class _Run:
    """What the submissions of one run have in common."""

    def __init__(self, workspace: Workspace, problem_set: str, again: bool) -> None:
        self.workspace = workspace
        self.problem_set = problem_set
        self.again = again
        self.released = read_notebook(
            workspace.course.nbgrader / "release" / problem_set / f"{problem_set}.ipynb"
        )
        self.surroundings = _digest_of_surroundings(workspace, problem_set)
        self.records = _Records(workspace.root / ".course" / f"graded-{problem_set}.json")

    def grade(self, submission: Submission) -> StudentReport:
        student = submission.student
        staged = self.workspace.notebook(".course/staged", self.problem_set, student)
        try:
            collected = collect(submission, self.problem_set, self.workspace.submitted)
            stage(collected, self.problem_set, self.released, staged)
        except Missing as nothing:
            return self._without_marks(student, "missing", str(nothing))
        except Unreadable as damage:
            return self._without_marks(student, "unreadable", str(damage))
        except PermissionError as refusal:
            return self._without_marks(
                student, "unreadable", f"{refusal.filename} may not be read or written"
            )
        digest = hashlib.sha256(_bytes_of(staged.parent.iterdir())).hexdigest()
        if not self._stands(student, digest):
            same = self.records.of(student, "submission") == digest
            failure = self._execute(student, keep_marks=same)
            self.records.add(student, submission=digest, surroundings=self.surroundings, failure=failure)
        return self._report(student, self.records.of(student, "failure"))

    def _stands(self, student: str, digest: str) -> bool:
        """Whether the marks in the gradebook are those of this very submission."""
        known = self.records.of(student, "submission"), self.records.of(student, "surroundings")
        if self.again or known != (digest, self.surroundings):
            return False
        executed = self.workspace.notebook("autograded", self.problem_set, student)
        with _gradebook(self.workspace) as gradebook:
            return _submitted_notebook(gradebook, self.problem_set, student) is not None and (
                executed.is_file() or bool(self.records.of(student, "failure"))
            )

    def _execute(self, student: str, *, keep_marks: bool) -> str:
        """Executes and records; returns why it failed, or nothing."""
        with _gradebook(self.workspace) as gradebook:
            marked = _marked_by_hand(gradebook, self.problem_set, student) if keep_marks else set()
        try:
            execute(self.workspace, self.problem_set, student)
            verdicts = read_verdicts(
                read_notebook(self.workspace.notebook("autograded", self.problem_set, student))
            )
            failure = ""
        except ExecutionFailed as error:
            verdicts, failure = {}, str(error)
        with _gradebook(self.workspace) as gradebook:
            _record(gradebook, self.problem_set, student, verdicts, marked)
        return failure

    def _report(self, student: str, failure: str) -> StudentReport:
        executed = self.workspace.notebook("autograded", self.problem_set, student)
        verdicts = read_verdicts(read_notebook(executed)) if executed.is_file() and not failure else {}
        items = []
        with _gradebook(self.workspace) as gradebook:
            notebook = _submitted_notebook(gradebook, self.problem_set, student)
            if notebook is None:
                return self._without_marks(student, "failed", failure or "nbgrader recorded nothing")
            grades = {grade.name: grade for grade in notebook.grades}
            for cell in self._graded_cells():
                score = _score(grades[cell.id])
                verdict = verdicts.get(cell.id)
                message = failure or (verdict.message if verdict else self._say(score))
                items.append(Item(cell.id, score, cell.points, message))
        status: Status = "failed" if failure else "graded"
        if not failure and any(item.score is None for item in items):
            status = "needs_marking"
        return StudentReport(student, status, tuple(items), failure)

    def _say(self, score: float | None) -> str:
        """The message of an answer in words."""
        return _SAY[self.workspace.course.language][
            "waits" if score is None else "marked" if score else "empty"
        ]

    def _without_marks(self, student: str, status: Status, note: str) -> StudentReport:
        items = [Item(cell.id, 0.0, cell.points, note) for cell in self._graded_cells()]
        return StudentReport(student, status, tuple(items), note)

    def _graded_cells(self) -> list[_GradedCell]:
        cells = [cell.metadata.nbgrader for cell in self.released.cells if "nbgrader" in cell.metadata]
        return [_GradedCell(cell.grade_id, float(cell.points)) for cell in cells if cell.grade]


@dataclass(frozen=True)
class _GradedCell:
    id: str
    points: float


def _record(
    gradebook: Any, problem_set: str, student: str, verdicts: dict[str, Verdict], marked: set[str]
) -> None:
    """Puts the verdicts into nbgrader's gradebook; `marked` are items whose mark by hand still holds."""
    notebook = _submitted_notebook(gradebook, problem_set, student)
    for grade_ in notebook.grades if notebook else []:
        if grade_.cell.cell_type == "code" or not verdicts:
            verdict = verdicts.get(grade_.name)
            grade_.auto_score = (verdict.points or 0.0) if verdict else 0.0
            grade_.needs_manual_grade = grade_.manual_score is not None
        if grade_.name in marked:
            grade_.needs_manual_grade = False
    gradebook.db.commit()


def _score(grade_: Any) -> float | None:
    """The score in the gradebook; None while a person has to give it, or to look at it again."""
    waits = grade_.needs_manual_grade or (grade_.auto_score is None and grade_.manual_score is None)
    return None if waits else float(grade_.score)


def _marked_by_hand(gradebook: Any, problem_set: str, student: str) -> set[str]:
    notebook = _submitted_notebook(gradebook, problem_set, student)
    grades = notebook.grades if notebook else []
    return {grade.name for grade in grades if grade.manual_score is not None and not grade.needs_manual_grade}


def _submitted_notebook(gradebook: Any, problem_set: str, student: str) -> Any:
    from nbgrader.api import MissingEntry

    try:
        return gradebook.find_submission_notebook(problem_set, problem_set, student)
    except MissingEntry:
        return None


class _gradebook:  # noqa: N801  # used as a function: with _gradebook(workspace) as gradebook
    """nbgrader's gradebook of a workspace, closed at the end."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def __enter__(self) -> Any:
        from nbgrader.api import Gradebook

        with nbgrader_at_work():
            self.gradebook = Gradebook(self.workspace.gradebook)
        return self.gradebook

    def __exit__(self, *_: object) -> None:
        self.gradebook.close()


class _Records:
    """What each student's marks are for: a file beside the gradebook, written after each student."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.entries: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            self.entries = {}

    def of(self, student: str, what: str) -> str:
        return self.entries.get(student, {}).get(what, "")

    def add(self, student: str, **entry: str) -> None:
        self.entries[student] = entry
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(self.entries, ensure_ascii=False, indent=1), encoding="utf-8")
        os.replace(draft, self.path)


def _digest_of_surroundings(workspace: Workspace, problem_set: str) -> str:
    """A digest of all that marks depend on besides the submission: release, tasks, library, secret, versions."""
    course = workspace.course
    parts = [
        _bytes_of(workspace.source(problem_set).iterdir()),
        _bytes_of(course.solutions.joinpath(problem_set).glob("*.py")),
        _bytes_of_library(),
        secret_of(course),
        f"{platform.python_version()} {np.__version__} {course.language}".encode(),
    ]
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _bytes_of_library() -> bytes:
    """Of what may change a mark: the whole library, but not the release, nor the command."""
    package = Path(course_lib.__file__).parent
    files = [*package.glob("*.py"), *package.glob("grading/**/*.py")]
    return _bytes_of(path for path in files if path.name != "cli.py")


def _bytes_of(paths: Iterable[Path]) -> bytes:
    return b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in sorted(paths))
