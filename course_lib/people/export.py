"""Marks out: files as Canvas and Moodle ask for them, and tables for everything else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from course_lib.course import Course, CourseError
from course_lib.grading.gradebook import gradebook_of
from course_lib.grading.private_file import write_private
from course_lib.people.forget import remember
from course_lib.people.marks import ClassMarks, Marks, marks_in
from course_lib.people.roster import Directory, Person, people_in
from course_lib.people.tables import Table, csv_text, read_table

To = Literal["canvas", "moodle", "csv", "xlsx"]
Row = list[str | float | None]

_CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_MOODLE_GRADE = ("Grade", "성적", "점수")


@dataclass(frozen=True)
class Exported:
    """What was written, and whose cells were left empty because a person has to mark, or nothing came."""

    students: int
    waiting: tuple[str, ...]
    nothing: tuple[str, ...]
    unknown: tuple[str, ...] = ()  # in the LMS's file, and not in the gradebook


def export_marks(
    course: Course,
    problem_sets: list[str],
    to: To,
    out: Path,
    *,
    into: Path | None = None,
    column: str | None = None,
    missing_as_zero: bool = False,
) -> Exported:
    """Writes the marks of a class to a file.

    `into` is the file that the LMS gave (Canvas's gradebook, Moodle's grading worksheet): its people, in its order.
    `column` is the set's name in the LMS. What waits for a person is empty, never 0; so is what nobody handed in,
    except with `missing_as_zero`.
    """
    with gradebook_of(course) as gradebook:
        people = people_in(gradebook)
        sets = [marks_in(gradebook, course, name) for name in problem_sets]
    if not people:
        raise CourseError(
            "There is nobody in the gradebook. Take the class in (course roster), or run: course grade PS"
        )
    if missing_as_zero:
        for one in sets:
            for person in people:
                one.students.setdefault(person.id, Marks(dict.fromkeys(one.points, 0.0)))
    rows, unknown = _rows(_Writing(people, sets, column), to, into)
    _write(rows, to, out)
    remember(course, out, into)
    return Exported(
        len(people),
        tuple(p.id for p in people if any(p.id in s.students and s.students[p.id].waits for s in sets)),
        tuple(p.id for p in people if all(p.id not in s.students for s in sets)),
        unknown,
    )


def _rows(writing: _Writing, to: To, into: Path | None) -> tuple[list[Row], tuple[str, ...]]:
    """The rows of a file; and the people in the LMS's own whom nobody knows here."""
    if into is not None:
        return writing.into(read_table(into), to)
    return {"canvas": writing.canvas, "moodle": writing.moodle}.get(to, writing.everything)(), ()


def _write(rows: list[Row], to: To, out: Path) -> None:
    if to == "xlsx":
        write_private(out, lambda draft: _write_workbook(rows, draft))
    else:
        # A spreadsheet takes a file without the mark for one in its own country's encoding; LMSs want none.
        encoding = "utf-8-sig" if to == "csv" else "utf-8"
        write_private(out, lambda draft: draft.write_bytes(csv_text(rows).encode(encoding)))


class _Writing:
    """The rows of one export."""

    def __init__(self, people: list[Person], sets: list[ClassMarks], column: str | None) -> None:
        self.people = people
        self.sets = sets
        if column and len(sets) > 1:
            raise CourseError("--column names one problem set. Export one, or leave it out.")
        self.titles = [column or one.problem_set for one in sets]

    def canvas(self) -> list[Row]:
        """Canvas's gradebook: names, its ids, the section, a column a set; the points possible in the second row."""
        rows: list[Row] = [[*_CANVAS, *self.titles]]
        rows.append(["    Points Possible", "", "", "", "", *[one.most for one in self.sets]])
        for person in self.people:
            given = {"SIS User ID": person.id, "Student": _sortable(person), **person.columns}
            rows.append([*[given.get(name, "") for name in _CANVAS], *self._totals(person.id, digits=2)])
        return rows

    def moodle(self) -> list[Row]:
        """What Moodle's import into the gradebook maps: who it is in four columns, then a column a set."""
        rows: list[Row] = [["First name", "Last name", "ID number", "Email address", *self.titles]]
        for person in self.people:
            number = person.columns.get("ID number", person.id)
            rows.append(
                [
                    person.first_name,
                    person.last_name,
                    number,
                    person.email,
                    *self._totals(person.id),
                ]
            )
        return rows

    def everything(self) -> list[Row]:
        """For people: of one set every item; of several the totals."""
        who = ["student_id", "last_name", "first_name", "email"]
        if len(self.sets) > 1:
            rows: list[Row] = [[*who, *[f"{one.problem_set} ({one.most:g})" for one in self.sets]]]
            return rows + [[*_who(person), *self._totals(person.id)] for person in self.people]
        [one] = self.sets
        items = [f"{name} ({points:g})" for name, points in one.points.items()]
        head = ["received (UTC)", *items, "late_penalty", f"{self.titles[0]} ({one.most:g})"]
        return [[*who, *head], *[[*_who(person), *_of_one_set(one, person.id)] for person in self.people]]

    def into(self, table: Table, to: To) -> tuple[list[Row], tuple[str, ...]]:
        """The LMS's own file with the marks in it; and the people in it whom nobody knows here."""
        fill = {"canvas": self._into_canvas, "moodle": self._into_moodle}.get(to)
        if fill is None:
            raise CourseError(f"--into goes with --to canvas or moodle, not {to}.")
        return fill(table)

    def _into_canvas(self, table: Table) -> tuple[list[Row], tuple[str, ...]]:
        ids = [
            name
            for name in table.header
            if name in (*_CANVAS, "LastName", "FirstName", "Integration ID", "Root Account")
        ]
        places = [_assignment(table, title) for title in self.titles]
        rows: list[Row] = [[*ids, *places]]
        unknown = []
        find = Directory(self.people)
        for _, row in table.rows:
            first, name = row.get(ids[0], ""), row.get("Student", "")
            if "Points Possible" in first or not row.get("ID", "").strip():
                rows.append([*[row.get(key, "") for key in ids], *[row.get(place, "") for place in places]])
                continue
            numbers = (
                find.by_number("ID", row["ID"]),
                find.by_id(row.get("SIS User ID", "")),
                find.by_id(row.get("SIS Login ID", "")),
            )
            person = next(filter(None, numbers), None)
            if person is None and name != "Student, Test":
                unknown.append(name or first)
            totals: Row = [*self._totals(person.id, digits=2)] if person else [""] * len(places)
            rows.append([*[row.get(key, "") for key in ids], *totals])
        return rows, tuple(unknown)

    def _into_moodle(self, table: Table) -> tuple[list[Row], tuple[str, ...]]:
        if len(self.sets) > 1:
            raise CourseError("A grading worksheet is for one problem set. Export one.")
        grade, locked = table.column(*_MOODLE_GRADE), table.column("Grade can be changed")
        if grade is None or table.column("Identifier") is None:
            raise CourseError(
                f"{table.path} is no grading worksheet: no Identifier, no Grade. Download one in Moodle."
            )
        find, unknown = Directory(self.people), []
        rows: list[Row] = [[*table.header]]
        for _, row in table.rows:
            person = _person_of_worksheet(table, row, find)
            if person is None:
                unknown.append(row.get(table.column("Full name") or "", "") or row[table.header[0]])
            elif row.get(locked or "", "") != "No" and (total := self._totals(person.id)[0]) is not None:
                row = {**row, grade: f"{round(total, 5):g}"}
            rows.append([row.get(name, "") for name in table.header])
        return rows, tuple(unknown)

    def _totals(self, student: str, digits: int = 4) -> list[float | None]:
        totals = [one.students[student].total if student in one.students else None for one in self.sets]
        return [None if total is None else round(total, digits) for total in totals]


def _who(person: Person) -> Row:
    return [person.id, person.last_name, person.first_name, person.email]


def _of_one_set(one: ClassMarks, student: str) -> Row:
    marks = one.students.get(student)
    if marks is None:
        return [""] + [None] * (len(one.points) + 2)
    received = f"{marks.received:%Y-%m-%d %H:%M:%S}" if marks.received else ""
    return [received, *marks.items.values(), marks.penalty, marks.total]


def _sortable(person: Person) -> str:
    return ", ".join(filter(None, [person.last_name, person.first_name])) or person.name or person.id


def _assignment(table: Table, title: str) -> str:
    """The column of an assignment in Canvas's gradebook: its title and number."""
    found = [name for name in table.header if re.fullmatch(rf"{re.escape(title)}(?: \(\d+\))?", name)]
    if len(found) != 1:
        raise CourseError(
            f"{table.path} has {len(found) or 'no'} columns for {title}. Name the right one with --column."
        )
    return found[0]


def _person_of_worksheet(table: Table, row: dict[str, str], find: Directory) -> Person | None:
    for names in (("ID number", "학번"), ("Email address", "이메일 주소")):
        column = table.column(*names)
        if column and row.get(column) and (person := find.by_id(row[column])):
            return person
    alike = find.by_name(row.get(table.column("Full name", "성명") or "", ""))
    return alike[0] if len(alike) == 1 else None


def _write_workbook(rows: list[Row], path: Path) -> None:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    from openpyxl.styles import Font

    book = Workbook(write_only=True)
    sheet = book.create_sheet("marks")
    sheet.freeze_panes = "B2"

    def words(text: str, *, bold: bool) -> WriteOnlyCell:
        made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", text))
        made.data_type = "s"  # words, whatever they begin with: nothing is computed
        if bold:
            made.font = Font(bold=True)
        return made

    for index, row in enumerate(rows):
        sheet.append([words(value, bold=not index) if isinstance(value, str) else value for value in row])
    book.save(path)
