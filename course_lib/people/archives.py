"""Reading a zip that anybody may have made: nothing is unpacked to a path that it names, and all is bounded."""

from __future__ import annotations

import io
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from pathlib import Path, PurePosixPath
from typing import IO

from course_lib.course import CourseError
from course_lib.grading.intake import MAX_BYTES, MAX_COLLECTED, MAX_FILES

MAX_MEMBERS = 100_000
MAX_DIRECTORY = 64 * 2**20  # bytes of the zip's own table of contents
MAX_TOTAL = 2 * 2**30  # bytes of a whole zip, unpacked; or so many times what it has packed:
MAX_RATIO = 20
MAX_NAME = 500  # letters: a zip holds names that no system has, and patterns would go back and forth in them
# What zipfile raises on what is no zip, or a damaged one.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError,
    ValueError, LookupError,
)  # fmt: skip
MAX_DEPTH = 2  # a zip that a student hands in lies in the LMS's zip


@dataclass(frozen=True)
class Member:
    """A file of a zip: where it says it lies, and a file with what is in it; None for what is no notebook."""

    parts: tuple[str, ...]
    content: Path | None
    time: datetime | None  # of no time zone; None where the zip says none


@dataclass(frozen=True)
class Refused:
    """A member that was not taken, and why."""

    name: str
    reason: str


def read_archive(path: Path, scratch: Path) -> Iterator[Member | Refused]:
    """The files of a zip, one after another, unpacked under numbers into `scratch`.

    CourseError where it is no zip, or unpacks to too much.
    """
    if not path.is_file():
        raise CourseError(f"There is no file {path}. Give the zip that the LMS gave.")
    paths = (scratch / str(number) for number in count())
    budget = _Budget(max(MAX_TOTAL, MAX_RATIO * path.stat().st_size), MAX_MEMBERS, paths)
    try:
        with path.open("rb") as file:
            yield from _read(file, (), 1, budget)
    except _TooMuch as error:
        raise CourseError(f"The zip {error}. Look into it before you go on.") from error
    except _DAMAGE as error:
        raise CourseError(
            f"{path} is not a zip that can be read ({error}). Download it again and try again."
        ) from error


class _TooMuch(Exception):
    """A zip holds more than is read: what it does, as the end of a sentence."""


@dataclass
class _Budget:
    """How much may still be unpacked, and where to: a class's notebooks are more than a memory holds."""

    left: int
    members: int
    paths: Iterator[Path]
    within: int = MAX_TOTAL  # by all zips in it: they unpack to far more than their students had to send

    def keep(self, content: bytes) -> Path:
        path = next(self.paths)
        path.write_bytes(content)
        return path

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise _TooMuch("unpacks to far more than a class hands in")


def _read(file: IO[bytes], above: tuple[str, ...], depth: int, budget: _Budget) -> Iterator[Member | Refused]:
    _require_small_directory(file, budget.members)
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            name = _name(member)
            shown = "/".join([*above, name])
            if reason := _complaint(member, name):
                yield Refused(shown, reason)
            if reason or name.endswith("/") or _is_litter(name):
                continue
            parts = (*above, *PurePosixPath(name).parts)
            suffix = PurePosixPath(name).suffix.lower()
            if suffix not in (".ipynb", ".zip"):
                yield Member(parts, None, _time(member))
                continue
            try:
                content = _unpack(archive, member, budget)
            except (*_DAMAGE, OSError) as error:
                yield Refused(shown, f"it is damaged ({error})")
                continue
            if len(content) > MAX_BYTES:
                yield Refused(shown, f"it has more than {MAX_BYTES >> 20} MB")
            elif suffix == ".zip" and depth < MAX_DEPTH:
                yield from _within(content, parts, depth, budget, member)
            else:
                yield Member(parts, budget.keep(content) if suffix == ".ipynb" else None, _time(member))


def _within(
    content: bytes, parts: tuple[str, ...], depth: int, budget: _Budget, member: zipfile.ZipInfo
) -> Iterator[Member | Refused]:
    """What is in a zip within the zip, whose faults are its own; a damaged one stands for itself."""
    own = _Budget(min(MAX_COLLECTED, budget.within), MAX_FILES, budget.paths)
    budget.within -= own.left
    try:
        for found in _read(io.BytesIO(content), parts, depth + 1, own):
            # The times in it are those of whoever packed it, and say nothing of when it came.
            yield replace(found, time=_time(member)) if isinstance(found, Member) else found
    except _TooMuch as error:
        yield Refused("/".join(parts), f"it {error}")
    except _DAMAGE:
        yield Member(parts, None, _time(member))
    finally:
        budget.within += max(own.left, 0)


def _require_small_directory(file: IO[bytes], most: int) -> None:
    """A table of contents is read as a whole: one of gigabytes would fill the memory."""
    end = getattr(zipfile, "_EndRecData")(file)  # noqa: B009  # untyped
    if not end:
        raise zipfile.BadZipFile("it has no table of contents")
    listed, size = end[4], end[5]
    if listed > most or size > MAX_DIRECTORY:
        raise _TooMuch(f"lists {listed} files, more than the {most} that are read")
    file.seek(0)


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: _Budget) -> bytes:
    """A member's bytes, a byte more than may be at most: what the header says of the size is not believed.

    Only what is stored or deflated comes in pieces: a few bytes of bzip2 or LZMA would be gigabytes at once.
    """
    with archive.open(member) as packed:
        content = packed.read(MAX_BYTES + 1)
    budget.take(len(content))
    return content


def _complaint(member: zipfile.ZipInfo, name: str) -> str:
    if not 0 < len(name) <= MAX_NAME:
        return f"its name has {len(name)} letters"
    if (
        name.startswith(("/", "\\"))
        or ".." in PurePosixPath(name.replace("\\", "/")).parts
        or name[1:2] == ":"
    ):
        return "its name points outside"
    mode = member.external_attr >> 16
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "it is a link, or no file"
    if member.flag_bits & 1:
        return "it is encrypted"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "it is not packed as in other zips; pack it with what the system has for that"
    return ""


def _name(member: zipfile.ZipInfo) -> str:
    """The member's name in composed form. Where the zip doesn't say that it is UTF-8, it is that or CP949."""
    name = member.filename
    if not member.flag_bits & 0x800:
        raw = name.encode("cp437", errors="replace")
        for encoding in ("utf-8", "cp949"):
            try:
                name = raw.decode(encoding)
                break
            except UnicodeDecodeError:
                continue
    return unicodedata.normalize("NFC", name).replace("\\", "/")  # as Windows writes some


def _is_litter(name: str) -> bool:
    """What systems leave in zips."""
    parts = PurePosixPath(name).parts
    return "__MACOSX" in parts or ".ipynb_checkpoints" in parts or (bool(parts) and parts[-1].startswith("."))


def _time(member: zipfile.ZipInfo) -> datetime | None:
    try:
        return datetime(*member.date_time) if member.date_time[0] > 1980 else None
    except ValueError:
        return None
