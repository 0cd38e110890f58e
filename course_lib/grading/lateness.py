"""Deadlines of course.toml in nbgrader's gradebook, and its plugin for late submissions that applies the policy."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

from nbgrader.plugins import LateSubmissionPlugin
from sqlalchemy import select, update
from traitlets import Unicode

from course_lib.course import Course, read_course


class CourseLatePolicy(LateSubmissionPlugin):  # type: ignore[misc]  # untyped
    """What nbgrader asks for the penalty of a late submission: the policy [late] of course.toml."""

    course = Unicode(help="The course's folder.").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._policy = read_course(Path(self.course)).deadlines.policy

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """The points to take off; None where the policy takes none."""
        if self._policy is None:
            return None
        return self._policy.penalty(score, timedelta(seconds=total_seconds_late)) or None


def install(config: Any, course: Path) -> None:
    """Sets in nbgrader's `config` that the policy of the course, where it has one, says what lateness costs."""
    if read_course(course).deadlines.policy is not None:
        config.AssignLatePenalties.plugin_class = f"{__name__}.CourseLatePolicy"
        config.CourseLatePolicy.course = str(course)


def write_deadlines(session: Any, course: Course, problem_set: str) -> Mapping[str, timedelta]:
    """Writes into the gradebook when a set is due and for whom later; returns the extensions.

    Where course.toml sets no date, what the gradebook has stays.
    """
    from nbgrader import api

    due = course.deadlines.due.get(problem_set)
    if due is None:
        return {}
    extensions = course.deadlines.extensions(problem_set)
    assignment, submission = api.Assignment.__table__.c, api.SubmittedAssignment.__table__.c
    number = session.scalar(select(assignment.id).where(assignment.name == problem_set))
    if number is None:
        return extensions
    naive = due.astimezone(UTC).replace(tzinfo=None)  # as nbgrader keeps its times
    session.execute(update(api.Assignment), [{"id": number, "duedate": naive}])
    query = select(submission.id, submission.student_id, submission.extension)
    changed = [
        {"id": row.id, "extension": extensions.get(row.student_id)}
        for row in session.execute(query.where(submission.assignment_id == number))
        if row.extension != extensions.get(row.student_id)
    ]
    if changed:
        session.execute(update(api.SubmittedAssignment), changed)
    session.commit()
    return extensions
