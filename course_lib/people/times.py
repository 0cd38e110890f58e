"""When submissions came, as a list of the LMS says: Moodle's grading worksheet, or any CSV with an id and a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from course_lib.course import CourseError
from course_lib.deadlines import instant
from course_lib.people.roster import Directory, Person
from course_lib.people.tables import composed, read_table

# Headings of Moodle's grading worksheet, in English, and in Korean by its language pack.
IDENTIFIER = ("Identifier", "식별자")
FULL_NAME = ("Full name", "전체 이름", "사용자 성명", "성명")
_TIME = (
    *("Last modified (submission)", "마지막 수정됨(제출)", "마지막 수정됨 (제출)"),
    *("submitted", "submitted at", "time", "timestamp", "제출 시각", "제출 일시"),
)
_WHO = (
    "id number",
    "id 번호",
    "id",
    "student id",
    "학번",
    "username",
    "아이디",
    "email address",
    "email",
    "이메일 주소",
)
_FORMATS = (
    "%A, %d %B %Y, %I:%M %p",  # Moodle in English
    "%A, %d %B %Y, %I:%M:%S %p",
    "%A, %B %d, %Y, %I:%M %p",  # in US English
    "%A, %d %B %Y, %H:%M",
    "%d %B %Y, %I:%M %p",
    "%Y-%m-%d %H:%M:%S UTC",
)
_KOREAN = re.compile(r"(\d{4})년 (\d+)월 (\d+)일.*?(오전|오후) (\d+):(\d\d)")


@dataclass(frozen=True)
class Times:
    """The instants by student, and the students by the LMS's number for this assignment."""

    by_student: dict[str, datetime]
    numbers: dict[str, Person]


def read_times(path: Path, class_list: Directory, zone: str | None) -> Times:
    """What a list says of when each submission came; CourseError where it says it in no way that is known."""
    table = read_table(path)
    column = table.column(*_TIME)
    identifier, name = table.column(*IDENTIFIER), table.column(*FULL_NAME, "name")
    who = [there for heading in _WHO if (there := table.column(heading))]
    if column is None or not (who or name):
        raise CourseError(
            f"{path} has no column for {'the time' if column is None else 'the student'} "
            f"(there is: {', '.join(table.header)[:300]}). Give Moodle's grading worksheet, or a CSV with id and time."
        )
    times: dict[str, datetime] = {}
    numbers: dict[str, Person] = {}
    for line, row in table.rows:
        found = (class_list.by_id(row[heading]) for heading in who if row.get(heading))
        person = next(filter(None, found), None)
        if person is None and name and len(alike := class_list.by_name(row.get(name, ""))) == 1:
            person = alike[0]
        if person is None:
            continue
        if identifier and (digits := re.search(r"\d+$", composed(row.get(identifier, "")))):
            numbers[digits[0]] = person
        text = composed(row.get(column, ""))
        if text not in ("", "-"):
            times[person.id] = _time(text, zone, f"{path}, line {line}")
    return Times(times, numbers)


def _time(text: str, zone: str | None, where: str) -> datetime:
    if match := _KOREAN.search(text):
        year, month, day, half, hour, minute = match.groups()
        clock = int(hour) % 12 + (12 if half == "오후" else 0)
        text = f"{year}-{int(month):02}-{int(day):02} {clock:02}:{minute}"
    for form in _FORMATS:
        try:
            when = datetime.strptime(text, form)
        except ValueError:
            continue
        text = f"{when:%Y-%m-%d %H:%M:%S}" + ("+00:00" if form.endswith("UTC") else "")
        break
    try:
        return instant(text, zone, where)
    except ValueError as error:
        raise CourseError(str(error)) from error


def in_zone(when: datetime, zone: str | None) -> datetime:
    """A zip's time, which has no zone, as an instant: in the course's zone, else in UTC."""
    try:
        return instant(f"{when:%Y-%m-%d %H:%M:%S}", zone or "UTC")
    except ValueError:  # the hour that clocks skip or repeat
        return when.replace(tzinfo=UTC)
