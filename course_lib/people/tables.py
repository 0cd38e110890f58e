"""Tables as LMSs and spreadsheets give them and want them: CSV in whatever encoding, and cells that run nothing."""

from __future__ import annotations

import csv
import io
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from course_lib.course import CourseError

MAX_BYTES = 64 * 2**20
# What a spreadsheet takes for a formula; the wide ones as East Asian keyboards type them.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


@dataclass(frozen=True)
class Table:
    """A table that was read: the header, and each row with its line in the file."""

    path: Path
    header: list[str]
    rows: list[tuple[int, dict[str, str]]]

    def column(self, *names: str) -> str | None:
        """The first of these names that is a column, compared without case and spaces around; None where none is."""
        known = {_plain(name): name for name in reversed(self.header)}
        return next((known[_plain(name)] for name in names if _plain(name) in known), None)


def read_table(path: Path) -> Table:
    """The table in a CSV file (UTF-8 with or without a mark, UTF-16, or CP949; comma, semicolon or tab)."""
    text = _decode(path)
    first = text.splitlines()[0] if text.strip() else ""
    separator = max(",;\t", key=first.count)
    try:
        lines = list(_numbered(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)))
    except csv.Error as error:
        raise CourseError(
            f"{path} is not a proper CSV file ({error}). Export it again and try again."
        ) from error
    if not lines:
        raise CourseError(f"{path} is empty. Export it again and try again.")
    header = [name.strip() for name in lines[0][1]]
    rows = [(number, dict(zip(header, cells, strict=False))) for number, cells in lines[1:] if any(cells)]
    return Table(path, header, rows)


def csv_text(rows: list[list[str | float | None]]) -> str:
    """Rows as CSV by RFC 4180: None is an empty cell, and words that a spreadsheet would compute are defused."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([[cell(value) for value in row] for row in rows])
    return buffer.getvalue()


def cell(value: str | float | None) -> str:
    """A value as the text of a cell; words that a spreadsheet would compute get an apostrophe before them."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) and len(value) > 1 else value
    return number(value)


def number(value: float) -> str:
    """A score with at most four decimals and no more than it needs."""
    return f"{round(value, 4) + 0.0:.4f}".rstrip("0").rstrip(".")


def composed(text: str) -> str:
    """The text in Unicode's composed form, without spaces around it."""
    return unicodedata.normalize("NFC", text).strip()


def _decode(path: Path) -> str:
    if path.stat().st_size > MAX_BYTES:
        raise CourseError(f"{path} has more than {MAX_BYTES >> 20} MB, too much for a list of people.")
    content = path.read_bytes()
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ["utf-16"] if marked else ["utf-8-sig", "cp949"]:
        try:
            text = unicodedata.normalize("NFC", content.decode(encoding))
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise CourseError(
        f"{path} is no text in UTF-8, UTF-16 or CP949. If it is a workbook, save it as CSV UTF-8 and try again."
    )


def _numbered(reader: object) -> list[tuple[int, list[str]]]:
    return [(reader.line_num, row) for row in reader]  # type: ignore[attr-defined]


def _plain(name: str) -> str:
    return " ".join(composed(name).casefold().replace("_", " ").split())
