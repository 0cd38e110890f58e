"""The class: people from Canvas, Moodle or a plain list, in nbgrader's gradebook, and who is who in an LMS."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from course_lib.course import Course, CourseError
from course_lib.grading.gradebook import gradebook_of
from course_lib.grading.intake import MAX_ID
from course_lib.people.forget import remember
from course_lib.people.tables import Table, composed, read_table

Source = Literal["canvas", "moodle", "csv"]

# Columns that can be a student's id, best first: what a university gives lasts longer than an LMS's own number.
_IDS = {
    "canvas": ("SIS User ID", "SIS Login ID", "ID"),
    "moodle": ("ID number", "학번", "ID 번호", "Username", "아이디", "Email address", "이메일 주소"),
    "csv": ("id", "student id", "student number", "학번", "username", "아이디", "email", "이메일"),
}  # fmt: skip
_LAST = ("last name", "LastName", "surname", "family name", "성")
_FIRST = ("first name", "FirstName", "given name", "이름")
_NAME = ("Student", "full name", "name", "성명", "전체 이름", "사용자 성명", "학생", "이름")
_EMAIL = ("email", "email address", "e-mail", "이메일 주소", "이메일", "전자 메일")


@dataclass(frozen=True)
class Person:
    """One student. `columns` is what an LMS's own list says, by its headings."""

    id: str
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    name: str = ""
    columns: dict[str, str] = field(default_factory=dict)

    def names(self) -> set[str]:
        """The ways in which an LMS may write the name, without signs and case."""
        last, first = self.last_name, self.first_name
        ways = {letters(last + first), letters(first + last), letters(self.name)}
        return ways - {""}


@dataclass(frozen=True)
class Imported:
    """What an import did, by ids; `duplicates` are sentences."""

    id_column: str
    new: list[str]
    updated: list[str]
    unchanged: list[str]
    absent: list[str]  # in the gradebook, and not in this list
    duplicates: list[str]


def import_roster(course: Course, path: Path, source: Source, *, id_column: str | None = None) -> Imported:
    """Takes the people in a list into the course's gradebook; who is there already is brought up to date."""
    table = read_table(path)
    remember(course, path)
    column, listed = _people_in(table, source, id_column)
    people, duplicates = _each_once(path, listed)
    if not people:
        raise CourseError(f"{path} lists nobody. Export it again and try again.")
    with gradebook_of(course) as gradebook:
        before = {person.id: person for person in people_in(gradebook)}
        # One student, in whatever form the id was first written.
        known = {composed(student): student for student in before}
        ours = [replace(person, id=known.get(person.id, person.id)) for person in people]
        new = [person for person in ours if person.id not in before]
        updated = [
            person for person in ours if person.id in before and _differs(person, before[person.id], source)
        ]
        _write(gradebook, new, updated, ours, source)
    changed = {person.id for person in [*new, *updated]}
    return Imported(
        column,
        [person.id for person in new],
        [person.id for person in updated],
        [person.id for person in ours if person.id not in changed],
        sorted(set(before) - {person.id for person in ours}),
        duplicates,
    )


def people_in(gradebook: Any) -> list[Person]:
    """Everybody in an open gradebook, with all that lists said of them."""
    from nbgrader import api
    from sqlalchemy import select

    lists = _lists(gradebook)
    said: dict[str, dict[str, str]] = {}
    names: dict[str, str] = {}
    for row in gradebook.db.execute(select(lists)):
        said.setdefault(row.student, {}).update(json.loads(row.columns))
        names[row.student] = row.name
    student = api.Student.__table__.c
    rows = gradebook.db.execute(
        select(student.id, student.last_name, student.first_name, student.email).order_by(student.id)
    )
    people = [
        Person(
            row.id,
            row.last_name or "",
            row.first_name or "",
            row.email or "",
            names.get(row.id, ""),
            said.get(row.id, {}),
        )
        for row in rows
    ]
    gradebook.db.rollback()
    return people


def letters(name: str) -> str:
    """A name's letters and digits alone, in composed form and lower case, as Canvas writes it into file names."""
    return re.sub(r"[\W_]", "", composed(name)).casefold()


def _people_in(table: Table, source: Source, id_column: str | None) -> tuple[str, list[tuple[int, Person]]]:
    """The column of the ids, and the people, each with the line."""
    rows = [row for row in table.rows if source != "canvas" or _is_student(table, row[1])]
    column = _id_column(table, rows, source, id_column)
    return column, [(line, _person(table, row, column, line)) for line, row in rows]


def _is_student(table: Table, row: dict[str, str]) -> bool:
    """Canvas writes rows between header and people: points, posting policies; and its test student."""
    first = composed(row.get(table.column("Student", "LastName") or "", ""))
    return not ("Points Possible" in first or first in ("", "Student, Test", "Test Student"))


def _id_column(
    table: Table, rows: list[tuple[int, dict[str, str]]], source: Source, wanted: str | None
) -> str:
    candidates = [table.column(name) for name in ((wanted,) if wanted else _IDS[source])]
    there = [name for name in candidates if name]
    for name in there:
        if all(composed(row.get(name, "")) for _, row in rows):
            return name
    if not there:
        raise CourseError(
            f"{table.path} has no column for the students' ids (looked for: {wanted or ', '.join(_IDS[source])}; "
            f"there is: {', '.join(table.header)[:300]}). Name one with --id."
        )
    line = next(line for line, row in rows if not composed(row.get(there[0], "")))
    raise CourseError(
        f"{table.path}, line {line}: nothing in the column {there[0]!r}. Fill it in, or name another with --id."
    )


def _person(table: Table, row: dict[str, str], id_column: str, line: int) -> Person:
    def value(names: Iterable[str]) -> str:
        column = table.column(*names)
        return composed(row.get(column, "") or "") if column else ""

    student = composed(row[id_column])
    if complaint := complaint_of_id(student):
        raise CourseError(
            f"{table.path}, line {line}: {student[:80]!r} {complaint}. Correct it, or name another column with --id."
        )
    name, last, first = value(_NAME), value(_LAST), value(_FIRST)
    if not last and not first and "," in name:
        last, first = (part.strip() for part in name.split(",", 1))
    elif not last:
        first, last = (
            ("", first or name) if " " not in name else (name.rsplit(" ", 1)[0], name.rsplit(" ", 1)[1])
        )
    kept = {key: composed(text) for key, text in row.items() if key and text and _is_identity(key)}
    return Person(student, last[:MAX_ID], first[:MAX_ID], value(_EMAIL)[:MAX_ID], name, kept)


def _is_identity(heading: str) -> bool:
    """Whether a column says who somebody is: marks that a list holds as well are nobody's business here."""
    known = {name.casefold() for names in _IDS.values() for name in names} | {
        "section",
        "identifier",
        "식별자",
        "name",
    }
    known |= {name.casefold() for name in (*_LAST, *_FIRST, *_NAME, *_EMAIL)}
    return heading.strip().casefold() in known


def complaint_of_id(student: str) -> str:
    """Why this can't be a student's id, as the end of a sentence; empty where it can."""
    if not student:
        return "is empty"
    if len(student) > MAX_ID:
        return f"is longer than {MAX_ID} characters"
    if not student.isprintable() or set(student) & set('[]*?/\\:|<>"') or student.startswith("."):
        return "can't be the name of a folder, as an id has to"
    return ""


def _each_once(path: Path, listed: list[tuple[int, Person]]) -> tuple[list[Person], list[str]]:
    """Each person once; CourseError where two people have one id."""
    seen: dict[str, tuple[int, Person]] = {}
    duplicates = []
    for line, person in listed:
        key = person.id.casefold()  # two folders that differ in case are one on Windows and macOS
        if key in seen:
            first, other = seen[key]
            if other.names() != person.names() or other.email.casefold() != person.email.casefold():
                raise CourseError(
                    f"{path}: lines {first} and {line} are two people with one id, {person.id}. "
                    "Correct it there, or name another column with --id."
                )
            duplicates.append(f"{person.id} stands in lines {first} and {line}")
        else:
            seen[key] = line, person
    return [person for _, person in seen.values()], duplicates


def _differs(person: Person, before: Person, source: Source) -> bool:
    same = ("last_name", "first_name", "email")
    return any(getattr(person, key) != getattr(before, key) for key in same) or any(
        before.columns.get(key) != text for key, text in person.columns.items() if source != "csv"
    )


def _write(
    gradebook: Any, new: list[Person], updated: list[Person], everybody: list[Person], source: Source
) -> None:
    from nbgrader import api
    from sqlalchemy import insert, update

    if new:
        gradebook.db.execute(insert(api.Student), [_row(person, source) for person in new])
    if updated:
        gradebook.db.execute(update(api.Student), [_row(person, source) for person in updated])
    lists = _lists(gradebook)
    of_source = lists.c.source == source
    listed = {person.id for person in everybody}
    # Who is in this list no longer may have handed in: an LMS's zip names them by what an earlier list said.
    before = [dict(row._mapping) for row in gradebook.db.execute(lists.select().where(of_source))]
    gradebook.db.execute(lists.delete().where(of_source))
    rows = [row for row in before if row["student"] not in listed]
    rows += [
        {
            "student": person.id,
            "source": source,
            "name": person.name,
            "columns": json.dumps(person.columns, ensure_ascii=False),
        }
        for person in everybody
    ]
    gradebook.db.execute(lists.insert(), rows)
    gradebook.db.commit()


def _row(person: Person, source: Source) -> dict[str, str]:
    row = {
        "id": person.id,
        "last_name": person.last_name,
        "first_name": person.first_name,
        "email": person.email,
    }
    return (
        {**row, "lms_user_id": person.columns["ID"]} if source == "canvas" and "ID" in person.columns else row
    )


def _lists(gradebook: Any) -> Any:
    """What lists said of people: a table of ours, in the gradebook, so that it goes where the people go."""
    from sqlalchemy import Column, MetaData, String, Table, Text

    table = Table(
        "course_people",
        MetaData(),
        Column("student", String(MAX_ID), primary_key=True),
        Column("source", String(16), primary_key=True),
        Column("name", Text, nullable=False),
        Column("columns", Text, nullable=False),
    )
    table.metadata.create_all(gradebook.engine)
    return table


class Directory:
    """Finds who is meant by an LMS's number, by an id or by a name."""

    def __init__(self, people: Iterable[Person]) -> None:
        self.people = list(people)
        self._by_id: dict[str, list[Person]] = {}
        self._by_name: dict[str, list[Person]] = {}
        self._by_number: dict[tuple[str, str], list[Person]] = {}
        for person in self.people:
            for key in {person.id.casefold(), person.email.casefold()} - {""}:
                self._by_id.setdefault(composed(key), []).append(person)
            for name in person.names():
                self._by_name.setdefault(name, []).append(person)
            for pair in person.columns.items():
                self._by_number.setdefault(pair, []).append(person)

    def by_number(self, heading: str, number: str) -> Person | None:
        """The one person of whom a list says this under a heading; None where none is, or several."""
        return _only(self._by_number.get((heading, number), []))

    def by_id(self, text: str) -> Person | None:
        """The one person with this id or address."""
        return _only(self._by_id.get(composed(text).casefold(), []))

    def by_name(self, name: str) -> list[Person]:
        """All whose name this can be."""
        return self._by_name.get(letters(name), [])


def _only(found: list[Person]) -> Person | None:
    return found[0] if len(found) == 1 else None
