"""nbgrader's gradebook of a workspace: how it is opened, a mark in it, and rows that are written together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from course_lib.course import Course, CourseError
from course_lib.grading.workspace import COURSE_ID, Workspace, nbgrader_at_work, open_workspace, remedy_of

NO_RESPONSE = "No response."  # nbgrader's own comment on an answer that was left as released
# By module.
_DRIVERS = {"psycopg": "psycopg[binary]", "psycopg2": "psycopg2-binary", "MySQLdb": "mysqlclient"}


def gradebook_of(course: Course) -> Any:
    """The gradebook in the course's own folder."""
    return open_gradebook(open_workspace(course, course.root))


def open_gradebook(workspace: Workspace) -> Any:
    """nbgrader's gradebook of a workspace, made where it is missing."""
    from nbgrader.api import Gradebook

    with nbgrader_at_work():
        try:
            return Gradebook(workspace.gradebook, COURSE_ID)
        except Exception as error:
            raise CourseError(_no_gradebook(workspace.gradebook, error)) from error


def is_registered(workspace: Workspace, problem_set: str, released: Any) -> bool:
    """Whether the gradebook knows the very cells of the release, so that nbgrader need not be asked to record them."""
    from nbgrader.api import Notebook, SourceCell
    from sqlalchemy import select

    with open_gradebook(workspace) as gradebook:
        query = select(SourceCell.name, SourceCell.checksum).where(
            SourceCell.notebook_id == Notebook.id, Notebook.name == problem_set
        )
        known = {(name, checksum) for name, checksum in gradebook.db.execute(query)}
    cells = [cell.metadata.nbgrader for cell in released.cells if "nbgrader" in cell.metadata]
    return known == {(cell.grade_id, cell.checksum) for cell in cells}


@dataclass(frozen=True)
class Mark:
    """What the gradebook holds for one item."""

    auto: float | None
    manual: float | None
    extra: float | None
    waits: bool  # for a person, to give it or to look at it again

    @property
    def score(self) -> float:
        """The score as nbgrader counts it."""
        given = self.manual if self.manual is not None else self.auto
        return 0.0 if given is None else given + (self.extra or 0.0)

    @property
    def final(self) -> float | None:
        """The score; None while it waits for a person."""
        return None if self.waits or (self.auto is None and self.manual is None) else self.score


def mark_of(grade: Any) -> Mark:
    """The mark in a row of nbgrader's table of grades."""
    return Mark(grade.auto_score, grade.manual_score, grade.extra_credit, bool(grade.needs_manual_grade))


class Writing:
    """Rows that are written together at the end: all of them, or none."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._inserts: dict[str, list[dict[str, Any]]] = {}
        self._updates: dict[str, list[dict[str, Any]]] = {}
        self._students: list[str] = []
        self._replaced: list[tuple[Any, dict[str, Any], bool]] = []

    def student(self, name: str) -> None:
        """Somebody who is a student of the gradebook from now on, if not before."""
        self._students.append(name)

    def insert(self, model: str, values: dict[str, Any]) -> None:
        """A new row of one of nbgrader's models, by its name."""
        self._inserts.setdefault(model, []).append(values)

    def update(self, model: str, values: dict[str, Any]) -> None:
        """Other values for the row with the id among them."""
        self._updates.setdefault(model, []).append(values)

    def grade(self, notebook: str, cell: str, values: dict[str, Any], old: Any) -> None:
        """A submission's mark for a cell, in the place of the row `old` or None."""
        self._put("Grade", notebook, cell, values, old)

    def comment(self, notebook: str, cell: str, values: dict[str, Any], old: Any) -> None:
        """The comment on an answer, in the same way."""
        self._put("Comment", notebook, cell, values, old)

    def replace(self, table: Any, values: dict[str, Any], old: Any) -> None:
        """A row of a table of ours, in the place of `old` or None."""
        self._replaced.append((table, values, old is not None))

    def finish(self) -> None:
        """Writes it all in one transaction."""
        self._write_students()
        self._write_rows_of_nbgrader()
        self._write_rows_of_ours()
        self._session.commit()

    def _write_students(self) -> None:
        from nbgrader import api
        from sqlalchemy import insert, select

        id_of_student = api.Student.__table__.c.id
        known = self._session.scalars(select(id_of_student).where(id_of_student.in_(self._students)))
        new = sorted(set(self._students) - set(known))
        if new:
            self._session.execute(insert(api.Student), [{"id": name} for name in new])

    def _write_rows_of_nbgrader(self) -> None:
        from nbgrader import api
        from sqlalchemy import insert, update

        for model in ("SubmittedAssignment", "SubmittedNotebook", "Grade", "Comment"):
            if model in self._inserts:
                # With the NULLs named all rows are alike: one statement, not one for each run of equals.
                rows_alike = insert(getattr(api, model)).execution_options(render_nulls=True)
                self._session.execute(rows_alike, self._inserts[model])
        # One kind of row after another: SubmittedNotebook's penalty of a new student was inserted just now.
        for model, rows in self._updates.items():
            self._session.execute(update(getattr(api, model)), rows)

    def _write_rows_of_ours(self) -> None:
        for table, values, existed in self._replaced:
            if existed:
                keys = [column == values[column.name] for column in table.primary_key]
                self._session.execute(table.update().where(*keys), values)
        fresh = [values for _, values, existed in self._replaced if not existed]
        if fresh:
            self._session.execute(self._replaced[0][0].insert(), fresh)

    def _put(self, model: str, notebook: str, cell: str, values: dict[str, Any], old: Any) -> None:
        if old is None:
            from nbgrader.api import new_uuid

            self.insert(model, {"id": new_uuid(), "notebook_id": notebook, "cell_id": cell, **values})
        elif any(getattr(old, name) != value for name, value in values.items()):
            self.update(model, {"id": old.id, **values})


def _no_gradebook(address: str, error: Exception) -> str:
    kind = address.split(":", 1)[0]
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    remedy = remedy_of(reason).strip() or "Check the address and that the server runs."
    if isinstance(error, ModuleNotFoundError):
        driver = _DRIVERS.get(error.name or "", error.name)
        remedy = f"Install the driver that it needs: pip install '{driver}'"
    return f"The gradebook that db_url names ({kind}) can't be opened: {reason}. {remedy}"
