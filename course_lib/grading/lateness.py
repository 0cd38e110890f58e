"""Deadlines of course.toml in nbgrader's gradebook, and its plugin for late submissions that applies the policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

from nbgrader import api
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import select, update
from traitlets import Unicode

from course_lib.course import Course, CourseError, read_course
from course_lib.grading.gradebook import Mark
from course_lib.grading.workspace import Workspace, nbgrader_at_work


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


def penalty_of(workspace: Workspace) -> Callable[[str, float, float], float | None]:
    """The penalty that nbgrader's plugin gives a late submission, kept between 0 and the score as nbgrader does."""
    with nbgrader_at_work() as log:
        config = workspace.configuration
        if "plugin_class" not in config.AssignLatePenalties:  # there may be no nbgrader_config.py
            install(config, workspace.course.root)
        preprocessor = AssignLatePenalties(config=config, log=log.logger)
        preprocessor.init_plugin()
    plugin = preprocessor.plugin_inst

    def penalty(student: str, score: float, seconds: float) -> float | None:
        try:
            given = plugin.late_submission_penalty(student, score, seconds)
        except Exception as error:
            name = type(plugin).__name__
            raise CourseError(
                f"The plugin {name} for late submissions fails at {student} ({type(error).__name__}: {error}). "
                "Correct it, or take it out of nbgrader_config.py."
            ) from error
        return None if given is None else min(max(0.0, float(given)), score)

    return penalty


def write_deadlines(session: Any, course: Course, problem_set: str) -> Mapping[str, timedelta]:
    """Writes into the gradebook when a set is due and for whom later; returns the extensions.

    Where course.toml sets no date, what the gradebook has stays.
    """
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


def recompute_penalties(gradebook: Any, workspace: Workspace, problem_set: str) -> None:
    """Penalties by today's dates, policy and marks: what a person gave in formgrader came after the last run."""
    write_deadlines(gradebook.db, workspace.course, problem_set)
    penalty = penalty_of(workspace)
    scores = _scores(gradebook.db, problem_set)
    changed = []
    for row in _late_rows(gradebook.db, problem_set):
        due = row.duedate + (row.extension or timedelta(0))
        late = (row.timestamp - due).total_seconds()
        today = penalty(row.student_id, scores.get(row.id, 0.0), late) if late > 0 else None
        if today != row.late_submission_penalty:
            changed.append({"id": row.id, "late_submission_penalty": today})
    if changed:
        gradebook.db.execute(update(api.SubmittedNotebook), changed)
    gradebook.db.commit()


def _late_rows(session: Any, problem_set: str) -> list[Any]:
    """What has a date and came at some time."""
    tables = api.SubmittedNotebook, api.SubmittedAssignment, api.Assignment
    notebook, submission, assignment = (model.__table__.c for model in tables)
    query = select(
        notebook.id, notebook.late_submission_penalty, submission.student_id, submission.timestamp,
        submission.extension, assignment.duedate,
    ).where(
        notebook.assignment_id == submission.id,
        submission.assignment_id == assignment.id,
        assignment.name == problem_set,
        assignment.duedate.is_not(None),
        submission.timestamp.is_not(None),
    )  # fmt: skip
    return list(session.execute(query))


def _scores(session: Any, problem_set: str) -> dict[str, float]:
    """The points so far, by submitted notebook."""
    tables = api.Grade, api.SubmittedNotebook, api.SubmittedAssignment, api.Assignment
    grade, notebook, submission, assignment = (model.__table__.c for model in tables)
    query = select(notebook.id, grade.auto_score, grade.manual_score, grade.extra_credit).where(
        grade.notebook_id == notebook.id,
        notebook.assignment_id == submission.id,
        submission.assignment_id == assignment.id,
        assignment.name == problem_set,
    )
    scores: dict[str, float] = {}
    for key, auto, manual, extra in session.execute(query):
        scores[key] = scores.get(key, 0.0) + Mark(auto, manual, extra, waits=False).score
    return scores
