"""What grading a class gave: who got what and why, and the same as JSON."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from course_lib.course import CourseError
from course_lib.grading.files import write_private

Status = Literal["graded", "needs_marking", "missing", "unreadable", "failed"]


@dataclass(frozen=True)
class Item:
    """One task of one student; `score` is None while it waits for a person."""

    id: str
    score: float | None
    max_score: float
    message: str


@dataclass(frozen=True)
class StudentReport:
    """One student's result. `note` says what a person should know of the submission as a whole; mostly empty.

    `graded`: every item has its score. `needs_marking`: only what a person marks waits. `missing`: nothing was handed
    in. `unreadable`: what was handed in is no notebook. `failed`: the notebook could not be run to its end. What was
    graded before something `missing` or `unreadable` came still counts, and `note` says so.
    """

    id: str
    status: Status
    items: tuple[Item, ...]
    note: str = ""
    before: dict[str, float | None] | None = None  # the items' old scores, where this run changed one
    time_stamp: str = ""  # what speaks against the time at which it says that it came
    penalty: float = 0.0  # the points that lateness takes off, as exports and feedback do

    def after(self, before: dict[str, float | None]) -> StudentReport:
        """This report beside the scores that stood before, where they differ."""
        changed = before != {item.id: item.score for item in self.items}
        return replace(self, before=before if changed else None)

    @property
    def score_before(self) -> float | None:
        """The points that stood before; None where nothing changed, or there were none."""
        return (
            None if self.before is None else sum(score for score in self.before.values() if score is not None)
        )

    @property
    def waits(self) -> bool:
        """Whether an item waits for a person."""
        return any(item.score is None for item in self.items)

    @property
    def score(self) -> float:
        """The points so far, before what lateness costs."""
        return sum(item.score for item in self.items if item.score is not None)

    @property
    def max_score(self) -> float:
        return sum(item.max_score for item in self.items)


@dataclass(frozen=True)
class Report:
    """The class, in the order of ids."""

    assignment: str
    students: tuple[StudentReport, ...]
    walls: bool = True

    def as_json(self) -> dict[str, Any]:
        """The report in the form that other programs read; `without_walls` is there only where it is true."""
        return {
            "assignment": self.assignment,
            **({} if self.walls else {"without_walls": True}),
            "students": [_student_as_json(student) for student in self.students],
        }


class AsJson(Protocol):
    """A report that other programs can read."""

    def as_json(self) -> dict[str, Any]: ...


def write_json(report: AsJson, path: Path) -> None:
    """Writes the report in one piece, for its owner alone: it holds marks."""
    text = json.dumps(report.as_json(), ensure_ascii=False, indent=2) + "\n"
    write_private(path, lambda draft: draft.write_text(text, encoding="utf-8"))


def require_writable(path: Path) -> None:
    """CourseError unless a report can be written to `path`: asked before an hour of grading, not after it."""
    if path.is_dir():
        raise CourseError(f"{path} is a folder. Give the name of a file for --json.")
    if not path.absolute().parent.is_dir():
        raise CourseError(
            f"There is no folder {path.absolute().parent}. Make it, or give another file for --json."
        )
    if not os.access(path.absolute().parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise CourseError(
            f"{path} cannot be written. Change its permissions, or give another file for --json."
        )


def _student_as_json(student: StudentReport) -> dict[str, Any]:
    """`before`, the items' scores that stood before, is there only where a regrade changed one.

    `time_stamp` is there only where something speaks against it, and `penalty`, the points that lateness takes off,
    only where there is one.
    """
    return {
        "id": student.id,
        "status": student.status,
        "score": student.score,
        "max_score": student.max_score,
        **({} if student.before is None else {"before": student.before}),
        **({"time_stamp": student.time_stamp} if student.time_stamp else {}),
        **({"penalty": student.penalty} if student.penalty else {}),
        "items": [vars(item) for item in student.items],
    }
