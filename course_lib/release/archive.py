"""Zip files whose bytes depend on their content alone."""

from __future__ import annotations

import io
import os
import time
import zipfile
from collections.abc import Iterable

from course_lib.course import CourseError

LONG_AGO = 315_532_800  # 1980-01-01, the earliest date that a zip file can hold
_UNIX, _FILE = 3, 0o100644 << 16


def packed(members: Iterable[tuple[str, bytes]]) -> bytes:
    """A zip of these names and contents in their order, with one date (SOURCE_DATE_EPOCH, else 1980) and one mode."""
    date, buffer = (source_date() or time.gmtime(LONG_AGO))[:6], io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            entry = zipfile.ZipInfo(name, date)
            entry.create_system, entry.external_attr = _UNIX, _FILE
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def source_date() -> time.struct_time | None:
    """What SOURCE_DATE_EPOCH says, in UTC, as late as 1980 at least; None where it is not set."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if not given:
        return None
    if not given.isdecimal():
        raise CourseError(
            f"The environment sets SOURCE_DATE_EPOCH to {given!r}. Set it to seconds since 1970, or not at all."
        )
    return time.gmtime(max(LONG_AGO, int(given)))
