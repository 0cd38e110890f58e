"""When each submission was received, as the course has it: no file inside a submission has a say in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_lib.grading.files import write_whole

RECEIPT = "timestamp.txt"


@dataclass(frozen=True)
class Receipt:
    """What `course collect` took in of one student for one problem set."""

    student: str
    received: datetime  # an instant
    known_by: str  # where the time is from
    digest: str  # of the notebook
    name: str  # of the file as it came
    place: str = ""  # the LMS's own name for this submission, without which no feedback finds its way back

    @property
    def line(self) -> str:
        """The time as nbgrader writes it into timestamp.txt."""
        return f"{self.received.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f} UTC\n"


def read_receipts(gradebook: Any, problem_set: str) -> dict[str, Receipt]:
    """The receipts of a problem set, by student, from an open gradebook."""
    from sqlalchemy import select

    table = _table(gradebook)
    rows = gradebook.db.execute(select(table).where(table.c.problem_set == problem_set))
    receipts = {
        row.student: Receipt(
            row.student, row.received.replace(tzinfo=UTC), row.known_by, row.digest, row.name, row.place
        )
        for row in rows
    }
    gradebook.db.rollback()  # nothing stays locked
    return receipts


def write_receipts(gradebook: Any, problem_set: str, receipts: Iterable[Receipt]) -> None:
    """Keeps receipts, in the place of earlier ones of the same students."""
    table = _table(gradebook)
    rows = [
        {
            "problem_set": problem_set,
            **vars(receipt),
            "received": receipt.received.astimezone(UTC).replace(tzinfo=None),
        }
        for receipt in receipts
    ]
    if rows:
        students = [row["student"] for row in rows]
        for start in range(0, len(students), 500):  # a statement takes only so many values
            some = students[start : start + 500]
            gradebook.db.execute(
                table.delete().where(table.c.problem_set == problem_set, table.c.student.in_(some))
            )
        gradebook.db.execute(table.insert(), rows)
    gradebook.db.commit()


def stamp(folder: Path, line: str) -> None:
    """Makes timestamp.txt in a submission's folder say this and nothing else; with nothing to say, there is none.

    Formgrader compares it with the gradebook, and shows nobody's marks where one of them is no time.
    """
    path = folder / RECEIPT
    if folder.is_dir() and _beginning(path).strip() != line.strip():
        if line:
            write_whole(path, line.encode())
        else:
            path.unlink(missing_ok=True)


def _beginning(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(1000).decode("utf-8", errors="replace")


def _table(gradebook: Any) -> Any:
    from sqlalchemy import Column, DateTime, MetaData, String, Table, Text

    table = Table(
        "course_receipts",
        MetaData(),
        Column("problem_set", String(128), primary_key=True),
        Column("student", String(128), primary_key=True),
        Column("received", DateTime, nullable=False),
        Column("known_by", Text, nullable=False),
        Column("digest", String(64), nullable=False),
        Column("name", Text, nullable=False),
        Column("place", Text, nullable=False),
    )
    table.metadata.create_all(gradebook.engine)
    return table
