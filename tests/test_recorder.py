"""What a run records: times, penalties, and in which gradebook."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from graded_class import ANSWERS, Inline, marks
from mini import MEAN, hand_in, released_course

import course_lib.grading.recorder as recorder
import course_lib.grading.run as run
import course_lib.grading.worker as worker
from course_lib.course import Course, CourseError
from course_lib.grading.run import grade
from course_lib.grading.workspace import nbgrader_at_work


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """One of its own for each test, and the workspace too."""
    return released_course(tmp_path / "course")


@pytest.fixture(scope="module", autouse=True)
def room_closed() -> Iterator[None]:
    yield
    worker.end()


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LocalWorkers", Inline)


@pytest.mark.parametrize("year", [1970, 2099])
def test_marks_and_penalties_do_not_go_by_the_clock_of_whoever_grades(
    course: Course, tmp_path: Path, inline: None, monkeypatch: pytest.MonkeyPatch, year: int
) -> None:
    """A clock that was set says no more than that times look odd by it."""
    path = hand_in(course, tmp_path / "in", "student-001", double_solution=ANSWERS["right"])
    (path.parent / "timestamp.txt").write_text("2026-03-01 10:00:00 UTC\n")
    right = grade(course, "mini", tmp_path / "in", tmp_path / "w").students[0]
    before = marks(tmp_path / "w")

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(year, 1, 1, tzinfo=tz)

    monkeypatch.setattr(run, "datetime", Clock)
    odd = grade(course, "mini", tmp_path / "in", tmp_path / "w", again=True).students[0]
    assert marks(tmp_path / "w") == before
    assert odd.items == right.items
    assert ("is in the future" if year == 1970 else "more than a year ago") in odd.time_stamp


PENALTY = """
c = get_config()
class Half:
    pass
from nbgrader.plugins import BasePlugin
class HalfAfterAnHour(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return {result}
c.AssignLatePenalties.plugin_class = HalfAfterAnHour
"""


def late_by(course: Course, folder: Path, **late: float) -> None:
    """Hands in a right answer so late, by the due date that the gradebook has."""
    from nbgrader.api import Gradebook

    due = datetime(2026, 3, 1, 12)
    with Gradebook(f"sqlite:///{course.root / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_assignment("mini", duedate=due)
    path = hand_in(course, folder, "student-001", double_solution=ANSWERS["right"], mean_solution=MEAN)
    (path.parent / "timestamp.txt").write_text(f"{due + timedelta(**late)} UTC\n")


@pytest.mark.parametrize(
    ("result", "seconds", "penalty"),
    [
        ("score / 2", 60.0, 2.75),
        ("None", 60.0, None),
        ("-1", 60.0, 0.0),
        ("1000", 60.0, 5.5),
        ("total_seconds_late", 2.5, 2.5),
        ("score", 0.0, None),
        ("score", -60.0, None),
    ],
)
def test_late_penalties_are_those_of_the_plugin(
    course: Course, tmp_path: Path, inline: None, result: str, seconds: float, penalty: float | None
) -> None:
    (course.root / "nbgrader_config.py").write_text(PENALTY.format(result=result))
    late_by(course, tmp_path / "in", seconds=seconds)
    grade(course, "mini", tmp_path / "in", course.root)
    assert marks(course.root)["student-001"]["penalty"] == penalty


def test_penalties_follow_the_due_date_and_extensions(course: Course, tmp_path: Path, inline: None) -> None:
    from nbgrader.api import Gradebook

    (course.root / "nbgrader_config.py").write_text(
        "c = get_config()\nc.LateSubmissionPlugin.penalty_method = 'zero'\n"
    )
    late_by(course, tmp_path / "in", minutes=5)
    grade(course, "mini", tmp_path / "in", course.root)
    assert marks(course.root)["student-001"]["penalty"] == 5.5
    with Gradebook(f"sqlite:///{course.root / 'gradebook.db'}") as gradebook:
        gradebook.grant_extension("mini", "student-001", minutes=10)
    grade(course, "mini", tmp_path / "in", course.root)
    assert marks(course.root)["student-001"]["penalty"] is None
    # handed in the same again, later: the marks stand, time and penalty do not
    (tmp_path / "in" / "student-001" / "mini" / "timestamp.txt").write_text("2026-03-01 13:00:00 UTC\n")
    grade(course, "mini", tmp_path / "in", course.root)
    kept = marks(course.root)["student-001"]
    assert (kept["time"], kept["penalty"]) == (datetime(2026, 3, 1, 13), 5.5)


def test_a_plugin_that_fails_is_named(course: Course, tmp_path: Path, inline: None) -> None:
    (course.root / "nbgrader_config.py").write_text(PENALTY.format(result="score / 0"))
    late_by(course, tmp_path / "in", minutes=5)
    with pytest.raises(
        CourseError, match=r"The plugin HalfAfterAnHour .* at student-001 \(ZeroDivisionError"
    ):
        grade(course, "mini", tmp_path / "in", course.root)


@pytest.mark.parametrize(
    "text", ["2026-03-01 10:00:00 Asia/Seoul", "2026-03-01T10:00:00+09:00", "2026-13-45 99:99"]
)
def test_times_are_read_as_nbgrader_reads_them(
    course: Course, tmp_path: Path, inline: None, text: str
) -> None:
    path = hand_in(course, tmp_path / "in", "student-001", double_solution=ANSWERS["right"])
    (path.parent / "timestamp.txt").write_text(text)
    grade(course, "mini", tmp_path / "in", tmp_path / "w")
    expected = None if "99" in text else datetime(2026, 3, 1, 1)
    assert marks(tmp_path / "w")["student-001"]["time"] == expected


def test_rows_that_nobody_has_graded_are_no_marks_from_before(
    course: Course, tmp_path: Path, inline: None
) -> None:
    """As nbgrader's own commands leave them where they end too early."""
    from nbgrader.api import Gradebook

    hand_in(course, tmp_path / "in", "student-001").write_bytes(b"{")
    grade(course, "mini", tmp_path / "in", course.root)
    address = f"sqlite:///{course.root / 'gradebook.db'}"
    with nbgrader_at_work(), Gradebook(address) as gradebook:  # nbgrader warns on its own rows
        gradebook.update_or_create_submission("mini", "student-001")
    for _ in range(2):
        [student] = grade(course, "mini", tmp_path / "in", course.root).students
        assert (student.status, student.score) == ("unreadable", 0.0)
        assert "handed in before" not in student.note


def test_a_gradebook_of_db_url_is_used(course: Course, tmp_path: Path, inline: None) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    config = course.root / "nbgrader_config.py"
    config.write_text(
        f"c = get_config()\nc.CourseDirectory.db_url = 'sqlite:///{elsewhere / 'gradebook.db'}'\n"
    )
    before = (course.root / "gradebook.db").read_bytes()
    hand_in(course, tmp_path / "in", "student-001", double_solution=ANSWERS["right"])
    grade(course, "mini", tmp_path / "in", course.root)
    assert marks(elsewhere)["student-001"]["score"] == 3.0
    assert (course.root / "gradebook.db").read_bytes() == before


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            "c.CourseDirectory.db_url = 'postgresql+nosuch://localhost/marks'",
            "The gradebook that db_url names",
        ),
        ("c.CourseDirectory.db_url = 'sqlite:////nowhere/at/all.db'", "unable to open database file"),
        ("1 / 0", r"nbgrader_config.py can't be read \(ZeroDivisionError"),
    ],
)
def test_a_gradebook_that_cannot_be_opened_is_named(
    course: Course, tmp_path: Path, config: str, sentence: str
) -> None:
    (course.root / "nbgrader_config.py").write_text(f"c = get_config()\n{config}\n")
    hand_in(course, tmp_path / "in", "student-001")
    with pytest.raises(CourseError, match=sentence):
        grade(course, "mini", tmp_path / "in", course.root)


def test_what_is_recorded_fits_postgresql(course: Course) -> None:
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.schema import CreateTable

    table = recorder._graded_table()
    made = str(CreateTable(table).compile(dialect=postgresql.dialect()))
    assert "PRIMARY KEY (problem_set, student)" in made
    assert "course_graded" in str(table.insert().compile(dialect=postgresql.dialect()))
