"""The one writer of a class run: marks into nbgrader's gradebook, executed notebooks into autograded/.

Written through nbgrader's own models, many students in one transaction. What a student's marks are for is kept in
the same transaction, so that each submission is either finished or untouched, whenever a run is killed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from course_lib.grading.files import write_whole
from course_lib.grading.gradebook import NO_RESPONSE, Mark, Writing, mark_of, open_gradebook
from course_lib.grading.intake import EXCHANGE_KEY, instant_of
from course_lib.grading.receipts import RECEIPT, read_receipts
from course_lib.grading.verdicts import Verdict
from course_lib.grading.workspace import Workspace

_READ_ONLY = 0o444  # as nbgrader leaves what it graded


@dataclass(frozen=True)
class Entry:
    """What is kept of one student's last grading: marks, and what they are for."""

    marks: Mapping[str, Mark]
    submission: str = ""  # a digest of what was handed in
    surroundings: str = ""  # a digest of all else that the marks depend on
    failure: str = ""
    note: str = ""
    messages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What there is to record of one student. `verdicts` is empty where examining failed."""

    student: str
    submission: str
    surroundings: str
    timestamp: str
    notebook: str
    verdicts: Mapping[str, Verdict]
    answers: Mapping[str, bool]  # the cells with an answer: whether it was left as released
    failure: str = ""
    note: str = ""
    exchange_key: str = ""


class Recorder:
    """The gradebook of a workspace, open for one problem set."""

    def __init__(self, workspace: Workspace, problem_set: str, released: Any) -> None:
        from course_lib.grading.lateness import penalty_of

        self.workspace = workspace
        self.problem_set = problem_set
        self._files = _Files(workspace, problem_set)
        self._items = {
            cell.metadata.nbgrader.grade_id: cell.cell_type
            for cell in released.cells
            if cell.metadata.get("nbgrader", {}).get("grade")
        }
        self._penalty = penalty_of(workspace)

    def __enter__(self) -> Recorder:
        from course_lib.grading.lateness import write_deadlines

        self._gradebook = open_gradebook(self.workspace)
        self._session = self._gradebook.db
        self._graded = _graded_table()
        self._graded.metadata.create_all(self._gradebook.engine)
        self._extensions = write_deadlines(self._session, self.workspace.course, self.problem_set)
        self.receipts = read_receipts(self._gradebook, self.problem_set)
        self._assignment = self._gradebook.find_assignment(self.problem_set)
        notebook = self._gradebook.find_notebook(self.problem_set, self.problem_set)
        self._duedate, self._assignment_id, self._notebook_id = (
            self._assignment.duedate,
            self._assignment.id,
            notebook.id,
        )
        self._cells = {cell.name: cell.id for cell in notebook.grade_cells}
        self._answers = {cell.name: cell.id for cell in notebook.solution_cells}
        self._session.commit()
        return self

    def __exit__(self, *_: object) -> None:
        self._gradebook.close()

    def known(self, students: Iterable[str]) -> dict[str, Entry]:
        """What was graded of these students before, by a run or by nbgrader's own commands, or was marked by hand."""
        students = list(students)
        rows = self._rows(students)
        kept = self._kept(students)
        self._session.rollback()  # nothing stays locked while students' code runs
        names = {cell: name for name, cell in self._cells.items()}
        entries = {}
        for student, row in rows.items():
            marks = {
                names[grade.cell_id]: mark_of(grade)
                for grade in row.grades.values()
                if grade.cell_id in names
            }
            record = kept.get(student)
            graded = record or self.has_notebook(student) or any(m.manual is not None for m in marks.values())
            if graded and marks.keys() == self._items.keys():
                entries[student] = _entry({name: marks[name] for name in self._items}, record)
        return entries

    def has_notebook(self, student: str) -> bool:
        """Whether the executed notebook is where nbgrader wants it."""
        return self.workspace.notebook("autograded", self.problem_set, student).is_file()

    def record(self, results: Iterable[Result]) -> dict[str, Entry]:
        """Writes notebooks and marks, in one transaction; returns what is kept of each student now."""
        results = list(results)
        rows = self._rows([result.student for result in results])
        same_words = {
            result.student: self._same_words(result, rows.get(result.student)) for result in results
        }
        for result in results:
            self._files.write(result)
        kept = self._kept([result.student for result in results])
        writing = Writing(self._session)
        entries = {}
        for result in results:
            before = kept.get(result.student)
            same = before is not None and before.submission == result.submission
            row = rows.get(result.student) or self._new_row(result.student, writing)
            standing = frozenset(self._items) if same else same_words[result.student]
            entries[result.student] = self._record_one(result, row, writing, standing)
            writing.replace(
                self._graded, _record_of(self.problem_set, result, entries[result.student]), before
            )
        writing.finish()
        return entries

    def record_nothing(self, students: Iterable[str], *, new: Iterable[str]) -> None:
        """Zero for students of whom nothing was graded before, where nbgrader's own commands began a row for them.

        Those of `new` become students of the gradebook: formgrader lists them with 0 of all points, not 0 of 0.
        """
        writing = Writing(self._session)
        for student in new:
            writing.student(student)
        zero = {"auto_score": 0.0, "manual_score": None, "extra_credit": None, "needs_manual_grade": False}
        for student, row in self._rows(list(students)).items():
            for cell in self._cells.values():
                writing.grade(row.notebook_id, cell, zero, row.grades.get(cell))
            self._record_time(student, None, row, [], writing)
        writing.finish()

    def refresh(self, timestamps: Mapping[str, str | None]) -> None:
        """Of students whose marks stand: when they handed in, and the penalty for it by today's rules.

        A time stamp of None leaves the time as it is.
        """
        writing = Writing(self._session)
        names = {cell: name for name, cell in self._cells.items()}
        for student, row in self._rows(list(timestamps)).items():
            marks = [mark_of(grade) for grade in row.grades.values() if grade.cell_id in names]
            line = timestamps[student]
            time = row.timestamp if line is None else instant_of(line)
            self._record_time(student, time, row, marks, writing)
        writing.finish()

    def penalties(self) -> dict[str, float]:
        """What lateness costs, by student, where it costs something."""
        from nbgrader import api
        from sqlalchemy import select

        submission, notebook = api.SubmittedAssignment.__table__.c, api.SubmittedNotebook.__table__.c
        query = select(submission.student_id, notebook.late_submission_penalty).where(
            notebook.assignment_id == submission.id,
            notebook.notebook_id == self._notebook_id,
            notebook.late_submission_penalty > 0,
        )
        found = {student: float(penalty) for student, penalty in self._session.execute(query)}
        self._session.rollback()
        return found

    def _same_words(self, result: Result, row: _Row | None) -> frozenset[str]:
        """The answers in words that are, letter for letter, those that a person has marked."""
        marked = {
            name
            for name, kind in self._items.items()
            if row is not None
            and kind != "code"
            and (old := row.grades.get(self._cells[name])) is not None
            and old.manual_score is not None
        }
        path = self.workspace.notebook("autograded", self.problem_set, result.student)
        if not marked or not result.notebook or not path.is_file():
            return frozenset()
        before, now = words_of(path.read_text(encoding="utf-8")), words_of(result.notebook)
        return frozenset(name for name in marked if name in now and now[name] == before.get(name))

    def _record_one(self, result: Result, row: _Row, writing: Writing, standing: frozenset[str]) -> Entry:
        marks = {}
        for name in self._items:
            old = row.grades.get(self._cells[name])
            marks[name] = self._mark(name, result, mark_of(old) if old else None, keep=name in standing)
            values = {"auto_score": marks[name].auto, "needs_manual_grade": marks[name].waits}
            writing.grade(row.notebook_id, self._cells[name], values, old)
        for name, cell in self._answers.items():
            comment = NO_RESPONSE if result.answers.get(name) else None
            writing.comment(row.notebook_id, cell, {"auto_comment": comment}, row.comments.get(cell))
        self._record_time(result.student, instant_of(result.timestamp), row, marks.values(), writing)
        messages = {name: verdict.message for name, verdict in result.verdicts.items()}
        return Entry(marks, result.submission, result.surroundings, result.failure, result.note, messages)

    def _mark(self, name: str, result: Result, old: Mark | None, *, keep: bool) -> Mark:
        """An item's mark by nbgrader's rules; what a person gave stays, to be looked at again unless `keep`."""
        manual, extra = (old.manual, old.extra) if old else (None, None)
        if self._items[name] == "code" or not result.verdicts:
            verdict = result.verdicts.get(name)
            auto: float | None = (verdict.points or 0.0) if verdict else 0.0
        else:
            auto = 0.0 if result.answers.get(name, True) else None
        waits = manual is not None or auto is None
        if keep and old is not None and manual is not None and not old.waits:
            waits = False
        return Mark(auto, manual, extra, waits)

    def _record_time(
        self, student: str, time: datetime | None, row: _Row, marks: Iterable[Mark], writing: Writing
    ) -> None:
        seconds = self._seconds_late(time, row.extension)
        score = sum(mark.score for mark in marks)
        penalty = self._penalty(student, score, seconds) if seconds > 0 else None
        if time != row.timestamp:
            writing.update("SubmittedAssignment", {"id": row.submission_id, "timestamp": time})
        if penalty != row.penalty:
            writing.update("SubmittedNotebook", {"id": row.notebook_id, "late_submission_penalty": penalty})

    def _seconds_late(self, time: datetime | None, extension: timedelta | None) -> float:
        if time is None or self._duedate is None:
            return 0.0
        due = self._duedate + extension if extension is not None else self._duedate
        return max(0.0, float((time - due).total_seconds()))

    def _new_row(self, student: str, writing: Writing) -> _Row:
        """The rows of a student who handed in for the first time, without marks yet."""
        from nbgrader.api import new_uuid

        row = _Row(new_uuid(), new_uuid(), extension=self._extensions.get(student))
        writing.student(student)
        writing.insert(
            "SubmittedAssignment",
            {
                "id": row.submission_id,
                "assignment_id": self._assignment_id,
                "student_id": student,
                "extension": row.extension,
            },
        )
        writing.insert(
            "SubmittedNotebook",
            {"id": row.notebook_id, "assignment_id": row.submission_id, "notebook_id": self._notebook_id},
        )
        return row

    def _rows(self, students: list[str]) -> dict[str, _Row]:
        """What the gradebook holds of these students, by id."""
        from nbgrader import api
        from sqlalchemy import select

        submission, notebook = api.SubmittedAssignment.__table__.c, api.SubmittedNotebook.__table__.c
        query = select(
            submission.student_id, submission.id, notebook.id, submission.timestamp, submission.extension,
            notebook.late_submission_penalty,
        ).where(
            notebook.assignment_id == submission.id,
            notebook.notebook_id == self._notebook_id,
            submission.assignment_id == self._assignment_id,
            submission.student_id.in_(students),
        )  # fmt: skip
        rows = {student: _Row(*of_student) for student, *of_student in self._session.execute(query)}
        of_notebook = {row.notebook_id: row for row in rows.values()}
        for table, kind in ((api.Grade.__table__, "grades"), (api.Comment.__table__, "comments")):
            for one in self._session.execute(select(table).where(table.c.notebook_id.in_(list(of_notebook)))):
                getattr(of_notebook[one.notebook_id], kind)[one.cell_id] = one
        return rows

    def _kept(self, students: list[str]) -> dict[str, Any]:
        from sqlalchemy import select

        table = self._graded.c
        query = select(self._graded).where(table.problem_set == self.problem_set, table.student.in_(students))
        return {row.student: row for row in self._session.execute(query)}


@dataclass(frozen=True)
class _Row:
    """What the gradebook holds of one submission: its keys there, its time, and the rows of its cells, by cell."""

    submission_id: str
    notebook_id: str
    timestamp: datetime | None = None
    extension: timedelta | None = None
    penalty: float | None = None
    grades: dict[str, Any] = field(default_factory=dict)
    comments: dict[str, Any] = field(default_factory=dict)


class _Files:
    """autograded/STUDENT/PROBLEM_SET/, as nbgrader leaves it: read-only files."""

    def __init__(self, workspace: Workspace, problem_set: str) -> None:
        self.workspace = workspace
        self.problem_set = problem_set
        source = workspace.source(problem_set)
        self._given = [path for path in sorted(source.iterdir()) if path.suffix != ".ipynb"]
        self._kept = workspace.root / ".course" / "given" / problem_set
        self._kept.mkdir(parents=True, exist_ok=True)
        for path in self._given:
            write_whole(self._kept / path.name, path.read_bytes(), mode=_READ_ONLY)

    def write(self, result: Result) -> None:
        if not result.notebook:
            self.remove(result.student)
            return
        path = self.workspace.notebook("autograded", self.problem_set, result.student)
        path.parent.mkdir(parents=True, exist_ok=True)
        for given in self._given:
            self._lay(given.name, path.parent)
        for name, text in ((RECEIPT, result.timestamp), (EXCHANGE_KEY, result.exchange_key)):
            if text:
                write_whole(path.parent / name, text.encode(), mode=_READ_ONLY)
            else:
                (path.parent / name).unlink(missing_ok=True)
        write_whole(path, result.notebook.encode(), mode=_READ_ONLY)

    def remove(self, student: str) -> None:
        path = self.workspace.notebook("autograded", self.problem_set, student)
        shutil.rmtree(path.parent, ignore_errors=True)

    def _lay(self, name: str, folder: Path) -> None:
        """The file that all got, as a link: a class of thousands keeps it once."""
        source, target = self._kept / name, folder / name
        if target.exists() and os.path.samefile(source, target):
            return
        target.unlink(missing_ok=True)
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)


def words_of(notebook: str) -> dict[str, tuple[Any, Any]]:
    """The cells in words of an executed notebook by their ids: text, and pictures in it."""
    cells = [cell for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "markdown"]
    named = [(cell["metadata"].get("nbgrader", {}).get("grade_id"), cell) for cell in cells]
    return {name: ("".join(cell["source"]), cell.get("attachments")) for name, cell in named if name}


def _entry(marks: Mapping[str, Mark], record: Any) -> Entry:
    """The marks with what a run has kept of them; nothing more where no run gave them."""
    if record is None:
        return Entry(marks)
    kept = record.submission, record.surroundings, record.failure, record.note
    return Entry(marks, *kept, json.loads(record.messages))


def _record_of(problem_set: str, result: Result, entry: Entry) -> dict[str, Any]:
    return {
        "problem_set": problem_set,
        "student": result.student,
        "submission": result.submission,
        "surroundings": result.surroundings,
        "failure": result.failure,
        "note": result.note,
        "messages": json.dumps(dict(entry.messages), ensure_ascii=False),
    }


def _graded_table() -> Any:
    """What marks are for: a table of ours, in the gradebook so that it changes together with them."""
    from sqlalchemy import Column, MetaData, String, Table, Text

    return Table(
        "course_graded",
        MetaData(),
        Column("problem_set", String(128), primary_key=True),
        Column("student", String(128), primary_key=True),
        Column("submission", String(64), nullable=False),
        Column("surroundings", String(64), nullable=False),
        Column("failure", Text, nullable=False),
        Column("note", Text, nullable=False),
        Column("messages", Text, nullable=False),
    )
