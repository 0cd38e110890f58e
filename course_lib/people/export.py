"""Marks out: files as Canvas and Moodle ask for them, and tables for everything else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from course_lib.course import Course, CourseError
from course_lib.grading.files import write_private
from course_lib.grading.gradebook import gradebook_of
from course_lib.people.forget import remember
from course_lib.people.marks import ClassMarks, Marks, marks_in
from course_lib.people.roster import Directory, Person, people_in
from course_lib.people.tables import Table, csv_text, read_table
from course_lib.people.times import FULL_NAME, IDENTIFIER

To = Literal["canvas", "moodle", "csv", "xlsx"]
Row = list[str | float | None]

_CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_CANVAS_IDS = (*_CANVAS, "LastName", "FirstName", "Integration ID", "Root Account")
# Moodle's words in English, and in Korean by its language pack.
_MOODLE_GRADE = ("Grade", "성적", "점수")
_MOODLE_MOST = ("Maximum grade", "최대 성적")


@dataclass(frozen=True)
class Exported:
    """What was written, and of whom nothing is said because a person has to mark, or nothing came."""

    students: int
    waiting: tuple[str, ...]
    nothing: tuple[str, ...]
    unknown: tuple[str, ...] = ()  # in the LMS's file, and not in the gradebook
    excused: tuple[str, ...] = ()  # in Canvas's file, which stays so
    other_points: tuple[str, ...] = ()  # sets that have other points in the LMS, as parts of a sentence


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
    except with `missing_as_zero`. An LMS takes a mark away where a cell is empty, so in its file no cell is that has
    nothing to say: such a row is left out, or the cell stays as the LMS gave it.
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
    writing = _Writing(people, sets, column)
    _write(_rows(writing, to, into), to, out)
    remember(course, out, into)
    return Exported(
        len(people),
        tuple(p.id for p in people if any(p.id in s.students and s.students[p.id].waits for s in sets)),
        tuple(p.id for p in people if all(p.id not in s.students for s in sets)),
        tuple(writing.unknown),
        tuple(writing.excused),
        tuple(writing.other_points),
    )


def _rows(writing: _Writing, to: To, into: Path | None) -> list[Row]:
    if into is not None:
        return writing.into(read_table(into), to)
    return {"canvas": writing.canvas, "moodle": writing.moodle}.get(to, writing.everything)()


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
        self.unknown: list[str] = []
        self.excused: list[str] = []
        self.other_points: list[str] = []

    def canvas(self) -> list[Row]:
        """Canvas's gradebook: names, its ids, the section, a column a set; the points possible in the second row."""
        rows: list[Row] = [[*_CANVAS, *self.titles]]
        rows.append(["    Points Possible", "", "", "", "", *[one.most for one in self.sets]])
        for person, totals in self._marked(digits=2):
            given = {"SIS User ID": person.id, "Student": _sortable(person), **person.columns}
            rows.append([*[given.get(name, "") for name in _CANVAS], *totals])
        return rows

    def moodle(self) -> list[Row]:
        """What Moodle's import into the gradebook maps: who it is in four columns, then a column a set."""
        rows: list[Row] = [["First name", "Last name", "ID number", "Email address", *self.titles]]
        for person, totals in self._marked():
            number = person.columns.get("ID number", person.id)
            rows.append([person.first_name, person.last_name, number, person.email, *totals])
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

    def into(self, table: Table, to: To) -> list[Row]:
        """The LMS's own file with the marks in it."""
        fill = {"canvas": self._into_canvas, "moodle": self._into_moodle}.get(to)
        if fill is None:
            raise CourseError(f"--into goes with --to canvas or moodle, not {to}.")
        return fill(table)

    def _into_canvas(self, table: Table) -> list[Row]:
        ids = [name for name in table.header if name in _CANVAS_IDS]
        places = [_assignment(table, title) for title in self.titles]
        rows: list[Row] = [[*ids, *places]]
        find = Directory(self.people)
        for _, row in table.rows:
            own = [row.get(place, "") for place in places]
            marks: Row = [*own]
            if points := "Points Possible" in row.get(ids[0], ""):
                self._compare_points(own)
            if not points and row.get("ID", "").strip():
                marks = self._for_canvas(row, own, _person_of_gradebook(row, find))
                if marks == own:
                    continue
            rows.append([*[row.get(key, "") for key in ids], *marks])
        return rows

    def _for_canvas(self, row: dict[str, str], own: list[str], person: Person | None) -> Row:
        """The cells of one person: as they are where nothing is to be said, or where somebody is excused."""
        name = row.get("Student", "") or row.get("LastName", "")
        if person is None:
            self.unknown += [] if name == "Student, Test" else [name]
            return [*own]
        if any(cell.strip().upper() == "EX" for cell in own):
            self.excused.append(person.id)
        return [
            cell if total is None or cell.strip().upper() == "EX" else total
            for cell, total in zip(own, self._totals(person.id, digits=2), strict=True)
        ]

    def _into_moodle(self, table: Table) -> list[Row]:
        if len(self.sets) > 1:
            raise CourseError("A grading worksheet is for one problem set. Export one.")
        grade, locked = table.column(*_MOODLE_GRADE), table.column("Grade can be changed")
        if grade is None or table.column(*IDENTIFIER) is None:
            raise CourseError(
                f"{table.path} is no grading worksheet in English or Korean: no Identifier, no Grade. Download one "
                "in Moodle."
            )
        find, most = Directory(self.people), table.column(*_MOODLE_MOST)
        rows: list[Row] = [[*table.header]]
        if most and table.rows:
            self._compare_points([table.rows[0][1].get(most, "")])
        for _, row in table.rows:
            person = _person_of_worksheet(table, row, find)
            if person is None:
                self.unknown.append(row.get(table.column(*FULL_NAME) or "", "") or row[table.header[0]])
            elif (
                row.get(locked or "", "") not in ("No", "아니오")
                and (total := self._totals(person.id)[0]) is not None
            ):
                row = {**row, grade: f"{round(total, 5):g}"}
            rows.append([row.get(name, "") for name in table.header])
        return rows

    def _compare_points(self, theirs: list[str]) -> None:
        for one, text in zip(self.sets, theirs, strict=True):
            if (points := _number(text)) is not None and points != one.most:
                self.other_points.append(f"{one.problem_set} ({points:g}, and {one.most:g} here)")

    def _marked(self, digits: int = 4) -> list[tuple[Person, list[float | None]]]:
        """Those of whom something is to be said; an LMS takes a mark away where a cell is empty."""
        all_of_them = [(person, self._totals(person.id, digits)) for person in self.people]
        marked = [(person, totals) for person, totals in all_of_them if totals != [None] * len(totals)]
        for person, totals in marked:
            if None in totals:
                raise CourseError(
                    f"{person.id} has no mark yet for {self.titles[totals.index(None)]}, and an LMS takes away what it "
                    "has where a cell is empty. Export one problem set at a time, or fill in Canvas's gradebook: --into"
                )
        return marked

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


def _number(text: str) -> float | None:
    """A number as LMSs write it, with a point or a comma for the decimals."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


def _person_of_gradebook(row: dict[str, str], find: Directory) -> Person | None:
    return (
        find.by_number("ID", row["ID"])
        or find.by_id(row.get("SIS User ID", ""))
        or find.by_id(row.get("SIS Login ID", ""))
    )


def _person_of_worksheet(table: Table, row: dict[str, str], find: Directory) -> Person | None:
    for names in (("ID number", "id 번호", "학번"), ("Email address", "이메일 주소")):
        column = table.column(*names)
        if column and row.get(column) and (person := find.by_id(row[column])):
            return person
    alike = find.by_name(row.get(table.column(*FULL_NAME) or "", ""))
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
