"""Each student's own page, written where nbgrader keeps feedback, by nbgrader's own generate_feedback."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.course import Course, CourseError
from course_lib.grading.feedback_page import ItemMark, SubmissionMarks, page
from course_lib.grading.files import write_whole
from course_lib.grading.gradebook import open_gradebook
from course_lib.grading.intake import Missing, refusal, stage, submissions_in
from course_lib.grading.lateness import recompute_penalties
from course_lib.grading.notebook import read_notebook
from course_lib.grading.workspace import Workspace, nbgrader_at_work, open_workspace, settings

Progress = Callable[[int, int, str], None]

_NOT_READ = {
    "ko": "낸 것을 읽을 수 없어 채점하지 못했습니다. 다음을 고쳐 다시 내세요: {reason}.",
    "en": "What was handed in can't be read, so nothing was graded: {reason}.",
}
_NOT_READ_NOW = {
    "ko": "마지막에 낸 것은 읽을 수 없습니다. 다음을 고쳐 다시 내세요: {reason}. 아래는 그 전에 낸 것의 결과입니다.",
    "en": "What was handed in last can't be read: {reason}. This is the result of what was handed in before.",
}


@dataclass(frozen=True)
class Feedback:
    """What was written: the folder, how many pages, and the students without one."""

    folder: Path
    pages: int
    without: tuple[str, ...]


def write_feedback(
    course: Course,
    problem_set: str,
    workspace: Path,
    *,
    progress: Progress = lambda done, total, student: None,
) -> Feedback:
    """Writes feedback/STUDENT/PROBLEM_SET/PROBLEM_SET.html for every graded submission of a workspace, anew.

    Lateness costs what it costs by today's rules. Who handed in something that can't be read finds the
    sentence that says so. CourseError where nothing was graded.
    """
    course.require_problem_set(problem_set)
    place = open_workspace(course, workspace)
    executed = sorted(place.root.glob(f"autograded/*/{problem_set}/{problem_set}.ipynb"))
    if not executed:
        raise CourseError(
            f"{problem_set} has not been graded in {place.root}. Run: course grade {problem_set}"
        )
    folders = {path.parent.parent.name for path in executed}
    with open_gradebook(place) as gradebook:
        recompute_penalties(gradebook, place, problem_set)  # dates and marks by hand change after a run
        graded = folders & _students_of(gradebook, problem_set)
    unknown = tuple(sorted(folders - graded))  # removed from the gradebook, say
    _generate(place, problem_set, unknown, lambda done: progress(done, len(graded), ""))
    noted, without = _say_what_is_not_read(place, problem_set, folders)
    return Feedback(place.root / "feedback", len(graded) + noted, unknown + without)


def _students_of(gradebook: Any, problem_set: str) -> set[str]:
    from nbgrader.api import Assignment, SubmittedAssignment
    from sqlalchemy import select

    query = select(SubmittedAssignment.student_id).join(Assignment).where(Assignment.name == problem_set)
    return set(gradebook.db.scalars(query))


def _generate(
    place: Workspace, problem_set: str, unknown: tuple[str, ...], done: Callable[[int], None]
) -> None:
    from nbgrader.converters import GenerateFeedback
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory

    from course_lib.grading.nbgrader_plugin import install

    config = settings(place, problem_set)
    install(config, place.course.root)
    count = 0

    def one_more(**_: Any) -> None:
        nonlocal count
        count += 1
        done(count)

    with nbgrader_at_work() as log:
        converter = GenerateFeedback(coursedir=CourseDirectory(config=config), config=config, log=log.logger)
        converter.force = True
        converter.post_convert_hook = one_more
        # nbgrader's own list of students to leave out has commas between ids.
        goes_on = converter.init_destination
        converter.init_destination = lambda name, student: student not in unknown and goes_on(name, student)
        try:
            converter.start()
        except NbGraderException as error:
            raise CourseError(f"nbgrader could not write the feedback: {log.last_error or error}.") from error


def _say_what_is_not_read(
    place: Workspace, problem_set: str, graded: set[str]
) -> tuple[int, tuple[str, ...]]:
    """Pages that say that a submission can't be read: how many of them are new, and who has no page at all."""
    released = read_notebook(place.course.released(problem_set))
    pages, without = 0, []
    with contextlib.suppress(CourseError), tempfile.TemporaryDirectory() as scratch:
        for submission in submissions_in(place.submitted, problem_set):
            student, has_page = submission.student, submission.student in graded
            try:
                stage(submission, problem_set, released, Path(scratch, problem_set, "staged.ipynb"))
            except (Missing, PermissionError):
                pass
            except Exception as damage:
                _write_note(place, problem_set, student, None if has_page else released, refusal(damage))
                pages += not has_page
                continue
            if not has_page:
                without.append(student)
    return pages, tuple(without)


def _write_note(place: Workspace, problem_set: str, student: str, released: Any | None, reason: str) -> None:
    """The page with the sentence: on what was graded before, or, where nothing was, on the tasks of `released`."""
    from course_lib.grading.nbgrader_plugin import marks_of

    language, executed = place.course.language, None
    if released is None:
        executed = read_notebook(place.notebook("autograded", problem_set, student))
        with open_gradebook(place) as gradebook:
            marks = marks_of(gradebook, problem_set, student)
    else:
        cells = [cell.metadata.nbgrader for cell in released.cells if "nbgrader" in cell.metadata]
        marks = SubmissionMarks(
            {cell.grade_id: ItemMark(0.0, float(cell.points)) for cell in cells if cell.grade}, {}
        )
    note = (_NOT_READ if executed is None else _NOT_READ_NOW)[language].format(reason=reason)
    text = page(executed, marks, problem_set=problem_set, student=student, language=language, note=note)
    path = place.root / "feedback" / student / problem_set / f"{problem_set}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())
