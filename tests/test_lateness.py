"""What lateness costs, by `course grade` and by plain `nbgrader autograde`: the same, and by today's rules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from mini import DOUBLE, hand_in

from course_lib.course import Course, find_course
from course_lib.grading.feedback import write_feedback
from course_lib.grading.gradebook import gradebook_of, open_gradebook
from course_lib.grading.receipts import Receipt, read_receipts, write_receipts
from course_lib.grading.report import Report
from course_lib.grading.run import grade
from course_lib.grading.workspace import open_workspace, register
from course_lib.release.notebooks import release

ROOT = Path(__file__).parents[1]
DATES = """
time_zone = "Asia/Seoul"
[due]
mini = 2027-03-31T23:59:00
[late]
penalty = "10% per day"
grace = "15 minutes"
cut_off = "3 days"
[extensions]
student-005 = { mini = "2 days" }
"""
HANDED_IN = {  # 23:59 in Seoul is 14:59 UTC
    "student-001": "2027-03-31 14:59:00 UTC",
    "student-002": "2027-03-31 15:14:00 UTC",
    "student-003": "2027-03-31 15:14:01 UTC",
    "student-004": "2027-04-03 14:59:01 UTC",
    "student-005": "2027-04-02 14:59:00 UTC",
    "student-006": "2027-04-03 14:00:00 UTC",
}
PENALTIES = {
    "student-001": 0.0,
    "student-002": 0.0,
    "student-003": 0.3,
    "student-004": 3.0,
    "student-005": 0.0,
    "student-006": 0.9,
}


@pytest.fixture(scope="module")
def course(course: Course) -> Course:
    shutil.copy(ROOT / "nbgrader_config.py", course.root)
    with (course.root / "course.toml").open("a") as settings:
        settings.write(DATES)
    release(course, "mini")
    for student, line in HANDED_IN.items():
        path = hand_in(course, course.root / "submitted", student, double_solution=DOUBLE)
        (path.parent / "timestamp.txt").write_text(line + "\n")
    return find_course(course.root)


def penalties(course: Course) -> dict[str, float]:
    with gradebook_of(course) as gradebook:
        return {
            submission.student_id: submission.late_submission_penalty or 0.0
            for submission in gradebook.assignment_submissions("mini")
        }


def reported(report: Report) -> dict[str, float]:
    return {student.id: student.penalty for student in report.students}


def test_grade_takes_what_the_policy_says_and_takes_it_back(course: Course) -> None:
    report = grade(course, "mini", course.root / "submitted", course.root, jobs=1)
    assert penalties(course) == reported(report) == pytest.approx(PENALTIES, abs=1e-12)

    settings = course.root / "course.toml"
    text = settings.read_text()
    settings.write_text(text.replace("10% per day", "1 point per day").replace("student-005", "student-006"))
    changed_rules = find_course(course.root)
    report = grade(changed_rules, "mini", course.root / "submitted", course.root, jobs=1)
    changed = {**PENALTIES, "student-003": 1.0, "student-005": 2.0, "student-006": 1.0}
    assert penalties(course) == reported(report) == pytest.approx(changed, abs=1e-12)
    settings.write_text(text)


@pytest.mark.slow
def test_autograde_takes_the_same(course: Course, tmp_path: Path) -> None:
    fresh = shutil.copytree(
        course.root,
        tmp_path / "course",
        ignore=shutil.ignore_patterns("gradebook.db", "autograded", ".course"),
    )
    register(open_workspace(find_course(fresh), fresh), "mini")
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "autograde", "mini"],
        cwd=fresh, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert penalties(find_course(fresh)) == pytest.approx(PENALTIES, abs=1e-12)


def test_feedback_takes_what_todays_rules_say(course: Course, tmp_path: Path) -> None:
    root = shutil.copytree(course.root, tmp_path / "course")
    copy = find_course(root)
    grade(copy, "mini", root / "submitted", root, jobs=1)
    settings = root / "course.toml"
    settings.write_text(settings.read_text().replace("10% per day", "1 point per day"))
    write_feedback(find_course(root), "mini", root)
    page = (root / "feedback" / "student-003" / "mini" / "mini.html").read_text(encoding="utf-8")
    assert "Late penalty</th><td>−1</td>" in page
    assert "−0.3" not in page
    on_time = (root / "feedback" / "student-001" / "mini" / "mini.html").read_text(encoding="utf-8")
    assert "Late penalty" not in on_time


def test_receipts_win_over_a_submissions_own_timestamp(course: Course, tmp_path: Path) -> None:
    root = shutil.copytree(course.root, tmp_path / "course", ignore=shutil.ignore_patterns("gradebook.db"))
    copy = find_course(root)
    received = datetime(2027, 4, 1, 15, tzinfo=UTC)
    place = open_workspace(copy, root)
    with open_gradebook(place) as gradebook:
        receipt = Receipt("student-001", received, "a test", "0" * 64, "mini.ipynb")
        write_receipts(gradebook, "mini", [receipt])
        write_receipts(gradebook, "mini", [receipt])
        assert read_receipts(gradebook, "mini") == {"student-001": receipt}
    grade(copy, "mini", root / "submitted", root, jobs=1)
    assert penalties(copy) == pytest.approx({**PENALTIES, "student-001": 0.6}, abs=1e-12)
    written = (root / "submitted" / "student-001" / "mini" / "timestamp.txt").read_text()
    assert written == "2027-04-01 15:00:00.000000 UTC\n"
