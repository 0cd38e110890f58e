"""Honest submissions score as in nbgrader's own autograde."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from course_lib.course import Course, find_course
from course_lib.grading.run import grade
from course_lib.grading.workspace import nbgrader_at_work, open_workspace, settings
from course_lib.release.notebooks import release

ROOT = Path(__file__).parents[1]


def stock_scores(
    course: Course, problem_set: str, handed_in: Path, workspace: Path
) -> dict[str, dict[str, float]]:
    """What nbgrader's own autograde gives: its kernel, its cells, with `mark` as the hidden cell."""
    from nbgrader.api import Gradebook
    from nbgrader.converters import Autograde
    from nbgrader.coursedir import CourseDirectory

    from course_lib.grading.workspace import register

    place = open_workspace(course, workspace)
    register(place, problem_set)
    with nbgrader_at_work(COURSE_ROOT=str(course.root)) as log:
        config = settings(place, problem_set)
        config.CourseDirectory.submitted_directory = str(handed_in)
        Autograde(coursedir=CourseDirectory(config=config), config=config, log=log.logger).start()
    with Gradebook(place.gradebook) as gradebook:
        return {
            submission.student.id: {grade.name: grade.score for grade in submission.notebooks[0].grades}
            for submission in gradebook.assignment_submissions(problem_set)
        }


@pytest.mark.slow
def test_honest_submissions_score_as_in_stock_nbgrader(tmp_path: Path) -> None:
    from course_lib.grading.sample import sample_class, write_sample
    from course_lib.release.notebooks import require_bank

    shutil.copy(ROOT / "course.toml", tmp_path)
    shutil.copytree(ROOT / "solutions" / "ps1", tmp_path / "solutions" / "ps1")
    course = find_course(tmp_path)
    release(course, "ps1")
    students = [
        student
        for student in sample_class(require_bank(course.solutions / "ps1"))
        if student.kind == "notebook"
    ]
    write_sample(students, course.exercises / "ko" / "ps1", tmp_path / "in" / "ps1")
    ours = grade(course, "ps1", tmp_path / "in" / "ps1", tmp_path / "ours")
    stock = stock_scores(course, "ps1", tmp_path / "in" / "ps1", tmp_path / "stock")
    assert len(stock) == len(students) > 10
    assert {
        student.id: {item.id: item.score or 0.0 for item in student.items} for student in ours.students
    } == stock
