"""A time stamp that can't be right is said to be so; whoever writes a submission's folder can write that file, too."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mini import DOUBLE, hand_in, released_course

from course_lib import cli
from course_lib.course import Course, find_course
from course_lib.deadlines import Deadlines
from course_lib.grading.gradebook import gradebook_of
from course_lib.grading.intake import HandedIn, set_aside_no_time, submissions_in
from course_lib.grading.receipts import Receipt, write_receipts
from course_lib.grading.stamps import doubt
from course_lib.grading.workspace import nbgrader_at_work
from course_lib.release.notebooks import release

HOUR = timedelta(hours=1)
RELEASED, DUE, NOW = (datetime(2027, *day, 12, tzinfo=UTC) for day in ((3, 3), (3, 31), (4, 5)))
DATES = Deadlines(
    due={"mini": DUE}, extended={"mini": {"more-time": DUE + 48 * HOUR}}, released={"mini": RELEASED}
)


def against(
    said: datetime | None,
    changed: datetime | None = None,
    *,
    student: str = "student-001",
    deadlines: Deadlines = DATES,
    now: datetime = NOW,
) -> str:
    line = "" if said is None else f"{said:%Y-%m-%d %H:%M:%S} UTC\n"
    return doubt(HandedIn("mini.ipynb", b"", line, changed=changed), "mini", student, deadlines, now)


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        (RELEASED, None),
        (DUE, DUE),
        (DUE - HOUR, DUE + HOUR / 20),
        (DUE + HOUR, DUE + 24 * HOUR),
        (DUE - HOUR, DUE - 24 * HOUR),
        (NOW + HOUR / 10, NOW),
    ],
)
def test_doubt_says_nothing_of_what_can_be_right(said: datetime, changed: datetime | None) -> None:
    assert against(said, changed) == ""


@pytest.mark.parametrize(
    ("said", "changed", "part"),
    [
        (datetime(2001, 1, 1, tzinfo=UTC), None, "2001-01-01 00:00 UTC, is before the set was released"),
        (RELEASED - HOUR, RELEASED - HOUR, "is before the set was released (2027-03-03 12:00 UTC)"),
        (NOW + HOUR, NOW, "is in the future"),
        (datetime(9999, 12, 31, tzinfo=UTC), NOW, "is in the future"),
        (datetime(1, 1, 2, tzinfo=UTC), NOW, "is before the set was released"),
        (
            DUE - HOUR,
            DUE + HOUR,
            "is in time, but the notebook was changed after that (2027-03-31 13:00 UTC)",
        ),
        (None, DUE - HOUR, "no time stamp says when it came"),
    ],
)
def test_doubt_says_what_speaks_against_it(
    said: datetime | None, changed: datetime | None, part: str
) -> None:
    assert part in against(said, changed)


def test_doubt_goes_by_a_students_own_date() -> None:
    assert against(DUE + HOUR, DUE + 24 * HOUR, student="more-time") == ""
    assert "changed after that" in against(DUE + HOUR, DUE + 72 * HOUR, student="more-time")


def test_doubt_without_dates_is_of_years_alone() -> None:
    none = Deadlines()
    assert against(None, deadlines=none) == ""
    assert against(NOW - 200 * 24 * HOUR, NOW, deadlines=none) == ""
    assert against(NOW - 400 * 24 * HOUR, NOW, deadlines=none).endswith("is more than a year ago")
    due = Deadlines(due={"mini": DUE})
    assert against(DUE - 400 * 24 * HOUR, deadlines=due).endswith("is more than a year before it was due")
    assert against(None, deadlines=due, now=DUE - HOUR) == ""


# A class: who came in time, and who only says so

CLASS = {
    "student-001": ("2020-03-30 12:00:00 UTC", "2020-03-30 11:00:00+00:00", ""),
    "student-002": ("2001-01-01 00:00:00 UTC", "2020-04-09 12:00:00+00:00", "before the set was released"),
    "student-003": ("2999-01-01 00:00:00 UTC", "2020-03-30 12:00:00+00:00", "in the future"),
    "student-004": ("2020-03-30 12:00:00 UTC", "2020-04-09 12:00:00+00:00", "changed after that"),
    "student-005": ("the first of May\x1b[2J", "2020-03-30 12:00:00+00:00", "no time stamp"),
    "student-006": ("", "2020-03-30 12:00:00+00:00", "no time stamp"),
    "student-007": ("2020-04-01 12:00:00 UTC", "2020-04-09 12:00:00+00:00", ""),
}


@pytest.fixture
def course(tmp_path: Path) -> Course:
    course = released_course(tmp_path / "course")
    with (course.root / "course.toml").open("a") as settings:
        settings.write(
            "[released]\nmini = 2020-03-03T12:00:00Z\n[due]\nmini = 2020-03-31T12:00:00Z\n"
            '[late]\npenalty = "10% per day"\n'
        )
    release(course, "mini")
    for student, (line, changed, _) in CLASS.items():
        path = hand_in(course, course.root / "in", student, double_solution=DOUBLE)
        at = datetime.fromisoformat(changed).timestamp()
        os.utime(path, (at, at))
        if line:
            (path.parent / "timestamp.txt").write_text(line + "\n")
    return find_course(course.root)


def test_grade_reports_time_stamps_in_doubt(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course.root)
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    for _ in range(2):  # marks that stand are doubted as new ones are
        with pytest.raises(SystemExit) as ended:
            cli.main(["grade", "mini", "--submitted", "in", "--json", "report.json"])
        assert ended.value.code == 0
        report = json.loads((course.root / "report.json").read_text(encoding="utf-8"))
        said = {student["id"]: student.get("time_stamp", "") for student in report["students"]}
        assert [bool(said[name]) for name in CLASS] == [bool(part) for *_, part in CLASS.values()]
        assert all(part in said[name] for name, (*_, part) in CLASS.items())
        out = capsys.readouterr().out
        assert (
            "Not sure when it came: student-002, student-003, student-004, student-005, student-006." in out
        )
        assert re.search(r"student-002 .*2001-01-01 00:00 UTC, is before the set was released", out)


def test_formgrader_opens_a_class_with_a_time_stamp_that_is_none(course: Course) -> None:
    from course_lib.grading.run import grade

    grade(course, "mini", course.root / "in", course.root, jobs=1)
    listed = listed_by_formgrader(course.root)
    assert [row["student"] for row in listed] == list(CLASS)
    assert {row["autograded"] for row in listed} == {True}


def listed_by_formgrader(root: Path) -> list[dict[str, object]]:
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    with nbgrader_at_work():
        config = Config({"CourseDirectory": {"root": str(root)}})
        rows: list[dict[str, object]] = NbGraderAPI(
            CourseDirectory(config=config), config=config
        ).get_submissions("mini")
    return rows


@pytest.mark.parametrize("kind", ["text", "bytes", "fifo", "link", "folder", "two lines", "digits", "taken"])
def test_what_is_no_time_is_set_aside_where_submissions_lie(course: Course, kind: str) -> None:
    path = course.root / "in" / "student-006" / "mini" / "timestamp.txt"
    make = {
        "text": lambda: path.write_text("soon"),
        "bytes": lambda: path.write_bytes(bytes(range(256))),
        "fifo": lambda: os.mkfifo(path),
        "link": lambda: path.symlink_to("/etc/hostname"),
        "folder": path.mkdir,
        "digits": lambda: path.write_text("2020-03-30 12:00" + "9" * 40),
        "taken": lambda: (path.write_text("soon"), (path.parent / "no-time-timestamp.txt").mkdir()),
        "two lines": lambda: path.write_text("2020-03-30 12:00:00 UTC\n99:99:99 today\n"),
    }
    make[kind]()
    for submission in submissions_in(course.root / "in", "mini"):
        set_aside_no_time(submission, "mini")
    assert not os.path.lexists(path)
    assert os.path.lexists(path.with_name("no-time-timestamp.txt"))
    assert os.path.lexists(path.with_name("no-time-1timestamp.txt")) == (kind == "taken")
    assert (path.parents[2] / "student-001" / "mini" / "timestamp.txt").is_file()


def test_a_receipt_leaves_no_doubt(course: Course) -> None:
    from course_lib.grading.run import grade

    with gradebook_of(course) as gradebook:
        received = datetime(2020, 3, 30, tzinfo=UTC)
        receipts = [Receipt(name, received, "a test", "0" * 64, "mini.ipynb") for name in CLASS]
        write_receipts(gradebook, "mini", receipts)
    report = grade(course, "mini", course.root / "in", course.root, jobs=1)
    assert {student.time_stamp for student in report.students} == {""}
