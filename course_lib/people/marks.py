"""The marks of a whole class, read from the gradebook in a few queries however many students there are."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from course_lib.course import Course, CourseError
from course_lib.grading.gradebook import Mark, gradebook_of
from course_lib.grading.notebook import read_notebook
from course_lib.grading.workspace import open_workspace


@dataclass
class Marks:
    """What one student has for one problem set; an item that waits for a person is None."""

    items: dict[str, float | None] = field(default_factory=dict)
    penalty: float = 0.0
    received: datetime | None = None  # in UTC, without saying so

    @property
    def waits(self) -> bool:
        """Whether a person has still something to mark."""
        return None in self.items.values()

    @property
    def before_penalty(self) -> float:
        """The points so far."""
        return sum(score for score in self.items.values() if score is not None)

    @property
    def total(self) -> float | None:
        """The points after what lateness cost; None while a person has still something to mark."""
        return None if self.waits else max(0.0, self.before_penalty - self.penalty)


@dataclass(frozen=True)
class ClassMarks:
    """A problem set's items with their points, in the notebook's order, and the marks by student."""

    problem_set: str
    points: dict[str, float]
    students: dict[str, Marks]

    @property
    def most(self) -> float:
        """The points that all items have."""
        return sum(self.points.values())


def marks_in(gradebook: Any, course: Course, problem_set: str) -> ClassMarks:
    """The marks of everybody who was graded, with penalties by today's rules.

    CourseError where the set is unknown to the gradebook.
    """
    from nbgrader import api
    from sqlalchemy import select

    from course_lib.grading.lateness import recompute_penalties

    recompute_penalties(gradebook, open_workspace(course, course.root), problem_set)

    known = api.GradeCell.__table__.c, api.BaseCell.__table__.c, api.Notebook.__table__.c
    query = select(known[1].name, known[0].max_score).where(
        known[0].id == known[1].id,
        known[1].notebook_id == known[2].id,
        known[2].assignment_id == api.Assignment.__table__.c.id,
        api.Assignment.__table__.c.name == problem_set,
    )
    points = {name: float(most or 0) for name, most in gradebook.db.execute(query)}
    if not points:
        raise CourseError(f"{problem_set} has not been graded here. Run: course grade {problem_set}")
    order = _order(course, problem_set)
    points = dict(sorted(points.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))
    return ClassMarks(problem_set, points, _students(gradebook, problem_set, points))


def graded_sets(course: Course) -> list[str]:
    """The problem sets of which the gradebook has marks."""
    from nbgrader import api
    from sqlalchemy import select

    with gradebook_of(course) as gradebook:
        assignment, submission = api.Assignment.__table__.c, api.SubmittedAssignment.__table__.c
        query = select(assignment.name).where(submission.assignment_id == assignment.id).distinct()
        return sorted(name for name in gradebook.db.scalars(query) if name in course.problem_sets)


def _students(gradebook: Any, problem_set: str, points: dict[str, float]) -> dict[str, Marks]:
    from nbgrader import api
    from sqlalchemy import select

    tables = api.Grade, api.SubmittedNotebook, api.SubmittedAssignment, api.Assignment, api.BaseCell
    grade, notebook, submission, assignment, cell = (model.__table__.c for model in tables)
    query = select(
        submission.student_id, submission.timestamp, notebook.late_submission_penalty, cell.name,
        grade.auto_score, grade.manual_score, grade.extra_credit, grade.needs_manual_grade,
    ).where(
        grade.notebook_id == notebook.id,
        grade.cell_id == cell.id,
        notebook.assignment_id == submission.id,
        submission.assignment_id == assignment.id,
        assignment.name == problem_set,
    )  # fmt: skip
    students: dict[str, Marks] = {}
    for student, received, penalty, name, auto, manual, extra, waits in gradebook.db.execute(query):
        marks = students.get(student)
        if marks is None:
            marks = students[student] = Marks(dict.fromkeys(points), float(penalty or 0), received)
        marks.items[name] = Mark(auto, manual, extra, bool(waits)).final
    gradebook.db.rollback()
    return students


def _order(course: Course, problem_set: str) -> dict[str, int]:
    path = course.released(problem_set)
    if not path.is_file():
        return {}
    cells = read_notebook(path).cells
    return {cell.metadata.get("nbgrader", {}).get("grade_id", ""): place for place, cell in enumerate(cells)}
