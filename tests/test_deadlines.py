from __future__ import annotations

import tomllib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from course_lib.course import without_people
from course_lib.deadlines import LatePolicy, instant, read_deadlines

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


def read(text: str, zone: str | None = "Asia/Seoul") -> Any:
    return read_deadlines(tomllib.loads(text), zone)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("zone", "value", "expected"),
    [
        ("Asia/Seoul", "2027-03-31T23:59:00", utc(2027, 3, 31, 14, 59)),
        ("Asia/Seoul", '"2027-03-31 23:59"', utc(2027, 3, 31, 14, 59)),
        ("Asia/Seoul", "2027-03-31T23:59:00Z", utc(2027, 3, 31, 23, 59)),
        (None, "2027-03-31T23:59:00+09:00", utc(2027, 3, 31, 14, 59)),
        # Clocks go forward on 14 March 2027 in New York and on 28 March in Berlin.
        ("America/New_York", "2027-03-13T23:59:00", utc(2027, 3, 14, 4, 59)),
        ("America/New_York", "2027-03-14T23:59:00", utc(2027, 3, 15, 3, 59)),
        ("Europe/Berlin", "2027-03-27T23:59:00", utc(2027, 3, 27, 22, 59)),
        ("Europe/Berlin", "2027-03-28T23:59:00", utc(2027, 3, 28, 21, 59)),
        # Written with an offset, the hour that comes twice is one instant.
        ("Europe/Berlin", "2027-10-31T02:30:00+02:00", utc(2027, 10, 31, 0, 30)),
        ("Europe/Berlin", "2027-10-31T02:30:00+01:00", utc(2027, 10, 31, 1, 30)),
    ],
)
def test_read_deadlines_makes_instants(zone: str | None, value: str, expected: datetime) -> None:
    assert read(f"[due]\nps1 = {value}", zone).due["ps1"] == expected


def test_read_deadlines_extends_for_one_student() -> None:
    found = read(
        "[due]\nps1 = 2027-03-31T23:59:00\nps2 = 2027-04-30T23:59:00\n"
        '[extensions]\n"student-007" = { ps1 = "3 days", ps2 = 2027-05-02T12:00:00 }\n'
    )
    assert found.due_for("ps1", "student-007") == utc(2027, 4, 3, 14, 59)
    assert found.due_for("ps2", "student-007") == utc(2027, 5, 2, 3, 0)
    assert found.due_for("ps1", "student-001") == utc(2027, 3, 31, 14, 59)
    assert found.due_for("ps3", "student-007") is None
    assert found.extensions("ps1") == {"student-007": 3 * DAY}


def test_read_deadlines_takes_an_extension_and_a_release_of_no_length() -> None:
    found = read(
        "[released]\nps1 = 2027-03-31T23:59:00\n[due]\nps1 = 2027-03-31T23:59:00\n"
        '[late]\npenalty = "100% per hour"\ngrace = "2 hours"\ncut_off = "2 hours"\n'
        '[extensions]\n"student-007" = { ps1 = 2027-03-31T23:59:00 }\n'
    )
    assert found.due_for("ps1", "student-007") == found.due["ps1"] == found.released["ps1"]
    assert found.policy is not None
    assert (found.policy.amount, found.policy.grace, found.policy.cut_off) == (1.0, 2 * HOUR, 2 * HOUR)


def test_read_deadlines_of_nothing_sets_nothing() -> None:
    assert read("", None).policy is None
    assert read("", None).due_for("ps1", "student-001") is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("due = 3", r"due must be a table \[due\], not 3"),
        ("[due]\nps1 = 2027-03-31", "due.ps1 must be a day and a time such as .* not '2027-03-31'"),
        ('[due]\nps1 = "31.3.2027"', "due.ps1 must be a day and a time"),
        ('[due]\nps1 = "20270331"', "due.ps1 must be a day and a time"),
        ("[due]\nps1 = 23:59:00", "due.ps1 must be a day and a time"),
        ("[due]\nps1 = true", "due.ps1 must be a day and a time"),
        ("[released]\nps1 = 2027-03-31", "released.ps1 must be a day and a time"),
        (
            "[due]\nps1 = 2027-03-01T00:00:00\n[released]\nps1 = 2027-03-02T00:00:00",
            "released.ps1 is later than due.ps1",
        ),
        ('[late]\npenalty = "10%"', "late.penalty must be 'none' or such as '10% per day'"),
        ('[late]\npenalty = "101% per day"', "late.penalty must be"),
        ('[late]\npenalty = "-1% per day"', "late.penalty must be"),
        ("[late]\npenalty = 10", "late.penalty must be .* not 10"),
        ("[late]\nper_day = 10", "late.per_day is unknown. Use one of: penalty, grace, cut_off"),
        ("[late]\ngrace = 15", "late.grace must be a time such as '15 minutes'.* not 15"),
        ('[late]\ncut_off = "1 month"', "late.cut_off must be a time"),
        ('[late]\ngrace = "2 days"\ncut_off = "1 day"', "late.cut_off is shorter than late.grace"),
        ('[extensions]\na = "3 days"', "must name problem sets"),
        ('[extensions]\na = { ps1 = "3 days" }', "extends ps1, which has no date. Set due.ps1 first"),
        (
            "[due]\nps1 = 2027-03-31T23:59:00\n[extensions]\na = { ps1 = 2027-03-01T00:00:00 }",
            "earlier than due.ps1",
        ),
    ],
)
def test_read_deadlines_names_what_is_wrong(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read(text)


def test_instant_refuses_hours_that_clocks_skip_or_repeat() -> None:
    with pytest.raises(ValueError, match=r"02:30:00 does not exist in Europe/Berlin"):
        instant("2027-03-28 02:30", "Europe/Berlin")
    with pytest.raises(ValueError, match=r"02:30:00 comes twice in Europe/Berlin"):
        instant("2027-10-31 02:30", "Europe/Berlin")
    with pytest.raises(ValueError, match=r"has no time zone\. Set time_zone"):
        instant("2027-03-31 23:59", None)


@pytest.mark.parametrize(
    ("late", "penalty"),
    [
        (timedelta(0), 0.0),
        (15 * MINUTE, 0.0),
        (15 * MINUTE + timedelta(seconds=1), 0.7),  # the first day has begun
        (DAY, 0.7),
        (DAY + timedelta(microseconds=1), 1.4),
        (7 * DAY, 4.9),
        (7 * DAY + timedelta(seconds=1), 7.0),
    ],
)
def test_penalty_counts_begun_days_between_grace_and_cut_off(late: timedelta, penalty: float) -> None:
    policy = read('[late]\npenalty = "10% per day"\ngrace = "15 minutes"\ncut_off = "1 week"').policy
    assert policy.penalty(7.0, late) == pytest.approx(penalty, rel=1e-12)


def test_penalty_takes_points_and_never_more_than_there_are() -> None:
    policy = read('[late]\npenalty = "2 points per hour"').policy
    assert [policy.penalty(5.0, hours * HOUR) for hours in (1, 2, 3, 100)] == [2.0, 4.0, 5.0, 5.0]
    assert read('[late]\npenalty = "none"').policy == LatePolicy()
    assert read('[late]\npenalty = "none"\ncut_off = "1 day"').policy.penalty(5.0, 2 * DAY) == 5.0


@pytest.mark.parametrize(
    "extensions",
    [
        '[extensions]\n"student-007" = { ps1 = "3 days" }\n# why: student-007\n',
        '[extensions."student-007"]\nps1 = "3 days"\n',
        '[ "extensions" . "student-007" ]\nps1 = "3 days"\n',
    ],
)
def test_without_people_takes_out_whom_extensions_name(extensions: str) -> None:
    text = f'term = "2027"\n{extensions}[due]\nps1 = 2027-03-31T23:59:00\n'
    assert "student" not in without_people(text)
    assert tomllib.loads(without_people(text)) == {
        "term": "2027",
        "due": {"ps1": datetime(2027, 3, 31, 23, 59)},
    }


def test_without_people_takes_out_dotted_keys() -> None:
    text = 'extensions."student-007".ps1 = "3 days"\nterm = "2027"\n'
    assert without_people(text) == 'term = "2027"\n'
