"""Taking in what students hand in: each is read, repaired and staged, or said to be missing or unreadable."""

from __future__ import annotations

import errno
import filecmp
import json
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

from course_lib.course import SETTINGS_FILE, CourseError
from course_lib.grading.foreign_notebook import parse_notebook
from course_lib.grading.notebook import write_notebook
from course_lib.grading.plain import printable
from course_lib.grading.receipts import RECEIPT, stamp
from course_lib.grading.repair import grade_id, repair

# A notebook without its outputs has some hundred KB; with figures, a few MB.
MAX_BYTES = 32 * 2**20
MAX_COLLECTED = 4 * MAX_BYTES  # of all files of a submission: holes take no room where they come from
MAX_FILES = 1000
MAX_NOTEBOOKS = 20  # that are looked into, for the one that holds the problem set
MAX_ID = 128  # characters of a student's id in the gradebook
EXCHANGE_KEY = "submission_secret.txt"
# What a full or broken disk says, or a machine without memory: no submission is to blame.
_OF_THE_MACHINE = {
    errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM
}  # fmt: skip


class Missing(Exception):
    """The student handed in nothing for this problem set: one sentence that says what was looked at."""


class Unreadable(Exception):
    """Something was handed in that is not a notebook: one sentence that says what to do."""


def refusal(error: Exception) -> str:
    """Why something can't be taken in, in one sentence, whatever came of it: no submission stops the class.

    What is not a submission's own doing is raised again.
    """
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _OF_THE_MACHINE):
        raise error
    if isinstance(error, PermissionError):
        return f"{error.filename} may not be read or written"
    if isinstance(error, (Missing, Unreadable)):
        return str(error)
    return f"it can't be taken in ({type(error).__name__}: {printable(str(error))}); hand it in again"


@dataclass(frozen=True)
class Submission:
    """What a student handed in. `folders` holds the student's folder; two, where two names mean the same id."""

    student: str
    folders: tuple[Path, ...]


def submissions_in(submitted: Path, problem_set: str) -> list[Submission]:
    """The submissions in DIR/STUDENT/PROBLEM_SET, in order of ids; ids are compared in Unicode's composed form."""
    if not submitted.exists():
        raise CourseError(
            f"There is no folder {submitted}. Put what students hand in there as STUDENT/{problem_set}/*.ipynb, "
            "or name another folder with --submitted."
        )
    if not submitted.is_dir():
        raise CourseError(f"{submitted} is a file. Give the folder that holds STUDENT/{problem_set}/*.ipynb.")
    if (submitted / SETTINGS_FILE).is_file():
        raise CourseError(
            f"{submitted} is the course's own folder, not one of submissions. "
            f"Give the folder that holds STUDENT/{problem_set}/*.ipynb."
        )
    students: dict[str, list[Path]] = {}
    for folder in sorted(submitted.iterdir()):
        if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith((".", "__MACOSX")):
            students.setdefault(printable(_composed(folder.name)), []).append(folder)
    if not any(_has(folder, problem_set) for folders in students.values() for folder in folders):
        raise CourseError(
            f"No student's folder in {submitted} holds a folder {problem_set}. "
            f"Arrange what was handed in as STUDENT/{problem_set}/*.ipynb."
        )
    return [Submission(student, tuple(folders)) for student, folders in sorted(students.items())]


def collect(submission: Submission, problem_set: str, into: Path) -> Submission:
    """Copies a submission's regular files to `into`/STUDENT/PROBLEM_SET, and returns the submission that lies there.

    Where nothing new was handed in, what was collected before still counts. Files too large to be a notebook, and what
    is more than a submission needs, are collected by name and size alone.
    """
    if any(folder.parent.resolve() == into.resolve() for folder in submission.folders):
        set_aside_no_time(submission, problem_set)
        return submission
    named = [_named(folder, problem_set) for folder in submission.folders]
    found = [folder for folder in named if folder and _notebooks_in(folder)]
    target = into / submission.student / problem_set
    if _complaint(submission) or not (found or target.is_dir()):
        return submission
    if found and not _same_files(found[0], target):
        _copy_all(found[0], target)
    if found:
        stamp(target, _timestamp(found[0]))
    return Submission(submission.student, (into / submission.student,))


def is_of_a_student(submission: Submission, problem_set: str) -> bool:
    """Whether a folder is one of a student who handed in for this set, be it nothing that can be graded."""
    return not _complaint(submission) and any(_has(folder, problem_set) for folder in submission.folders)


def set_aside_no_time(submission: Submission, problem_set: str) -> None:
    """Renames a timestamp.txt that says no time: formgrader would show nobody's marks because of it."""
    for folder in submission.folders:
        path = folder / problem_set / RECEIPT
        if os.path.lexists(path) and instant_of(_text_of(path)) is None:
            names = (path.with_name(f"no-time-{number or ''}{RECEIPT}") for number in count())
            path.rename(next(name for name in names if not os.path.lexists(name)))


def stage(submission: Submission, problem_set: str, released: Any, target: Path) -> HandedIn:
    """Writes the one notebook of a submission to `target`, repaired so that every graded cell is there once.

    Returns what was handed in. `released` is the notebook as students got it. Missing or Unreadable where there is
    none to write.
    """
    handed_in, notebook = opened(choose(submission, problem_set, released), released)
    shutil.rmtree(target.parent, ignore_errors=True)
    target.parent.mkdir(parents=True)
    write_notebook(notebook, target)
    for name, text in ((RECEIPT, handed_in.timestamp), (EXCHANGE_KEY, handed_in.exchange_key)):
        if text:
            (target.parent / name).write_text(text, encoding="utf-8")
    return handed_in


@dataclass(frozen=True)
class HandedIn:
    """The one notebook of a submission as it came, and when: a line as nbgrader has it, empty where none is known."""

    name: str
    content: bytes
    timestamp: str
    note: str = ""  # what a person should know of how it was handed in
    exchange_key: str = ""  # under which nbgrader's exchange gives the feedback back
    changed: datetime | None = None  # the file's own time, an instant; None where its system knows none


def choose(submission: Submission, problem_set: str, released: Any) -> HandedIn:
    """The file of a submission that holds the problem set; Missing or Unreadable where there is none to take."""
    path = _choose(submission, problem_set, _graded_ids(released))
    note = "" if _composed(path.name) == f"{problem_set}.ipynb" else f"handed in as {printable(path.name)}"
    key = _line_of(path.with_name(EXCHANGE_KEY))
    return HandedIn(
        path.name,
        _read(path),
        _timestamp(path.parent),
        note,
        key if re.fullmatch(r"[\w-]{1,200}", key) else "",
        _changed(path),
    )


def opened(handed_in: HandedIn, released: Any) -> tuple[HandedIn, Any]:
    """What was handed in, noted where it may be another set's, and its notebook, repaired."""
    notebook = parse_submission(handed_in.name, handed_in.content)
    if not _is_of(notebook, _graded_ids(released)):
        notes = filter(
            None, [handed_in.note, "none of its cells is this problem set's: look whether it is another"]
        )
        handed_in = replace(handed_in, note="; ".join(notes))
    return handed_in, repair(notebook, released)


def parse_submission(name: str, content: bytes) -> Any:
    """The notebook in a file's bytes, in today's format; Unreadable, with the file's name, where they hold none."""
    name = printable(name)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"{name} is not UTF-8 text (byte {error.start}); open it in Jupyter, save it and hand it in again"
        ) from error
    if not text.strip():
        raise Unreadable(f"{name} is empty; hand it in again")
    try:
        return parse_notebook(text)
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"{name} is damaged: its JSON breaks off or is wrong at line {error.lineno}; hand it in again"
        ) from error
    except RecursionError as error:
        raise Unreadable(
            f"{name} is not a valid notebook: it is nested too deeply; hand it in again"
        ) from error
    except Exception as error:  # whatever is wrong in it: no submission may stop the class
        reason = printable(str(error).strip() or type(error).__name__)
        raise Unreadable(f"{name} is not a valid notebook: {reason}; hand it in again") from error


def _choose(submission: Submission, problem_set: str, graded: set[str]) -> Path:
    """The one notebook of a submission that holds the problem set."""
    complaint = _complaint(submission)
    if complaint:
        raise Unreadable(complaint)
    folder = _named(submission.folders[0], problem_set)
    if folder is None:
        alike = [path.name for path in submission.folders[0].iterdir() if _alike(path.name, problem_set)]
        raise Missing(
            f"there is no folder {problem_set}" + "".join(f", only {printable(name)}" for name in alike)
        )
    notebooks = _notebooks_in(folder)
    if not notebooks:
        others = printable(", ".join(path.name for path in sorted(folder.iterdir()) if path.name[:1] != "."))
        raise Missing(
            f"there is no notebook in {problem_set}, only {others}" if others else f"{problem_set} is empty"
        )
    if len(notebooks) == 1:
        return notebooks[0]
    return _among(notebooks, problem_set, graded)


def _complaint(submission: Submission) -> str:
    """What is wrong with the folder's name, or names; empty where nothing is."""
    names = [folder.name for folder in submission.folders]
    if len(names) > 1:
        both = " and ".join(repr(ascii(name)) for name in names)
        return f"two folders have this student's id, written in two ways ({both}); leave one of them"
    if set(submission.student) & set("[]*?"):
        return "nbgrader takes the signs [ ] * ? in a student's id for a pattern; rename the folder"
    if set(submission.student) & set('<>"'):
        return "nbgrader takes the signs < > \" in a student's id for HTML; rename the folder"
    if _composed(names[0]) != submission.student or len(submission.student) > MAX_ID:
        return f"the folder's name {ascii(names[0])[:200]} can't be a student's id; rename the folder"
    return ""


def _among(notebooks: list[Path], problem_set: str, graded: set[str]) -> Path:
    exact = [path for path in notebooks if _composed(path.name) == f"{problem_set}.ipynb"]
    if exact and _holds(exact[0], graded):
        return exact[0]
    few = len(notebooks) <= MAX_NOTEBOOKS
    ours = [path for path in notebooks if _holds(path, graded)] if few else notebooks
    if len(ours) == 1:
        return ours[0]
    names = printable(", ".join(path.name for path in ours or notebooks))
    which = "hold this problem set" if few else "are there"
    which = which if ours else "are there, none of them from this problem set"
    raise Unreadable(
        f"{len(ours or notebooks)} notebooks {which} ({names}); leave one and name it {problem_set}.ipynb"
    )


def _holds(path: Path, graded: set[str]) -> bool:
    try:
        return _is_of(parse_submission(path.name, _read(path)), graded)
    except Unreadable:
        return False


def _is_of(notebook: Any, graded: set[str]) -> bool:
    return bool(graded & {name for cell in notebook.cells for name in (grade_id(cell), cell.id)})


def _graded_ids(released: Any) -> set[str]:
    return {grade_id(cell) for cell in released.cells if grade_id(cell)}


def _named(folder: Path, name: str) -> Path | None:
    """The subfolder of that name, compared in composed form; no link."""
    for path in sorted(folder.iterdir()):
        if _composed(path.name) == name and path.is_dir() and not path.is_symlink():
            return path
    return None


def _alike(name: str, wanted: str) -> bool:
    return _composed(name).strip().casefold() == wanted.casefold()


def _notebooks_in(folder: Path) -> list[Path]:
    return [path for path in _regular_files(folder) if path.suffix.lower() == ".ipynb"]


def _has(folder: Path, name: str) -> bool:
    try:
        return _named(folder, name) is not None
    except PermissionError:
        return False  # said of that student later


def _regular_files(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        files = [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
    return sorted(path for path in files if not path.name.startswith("."))


def _same_files(folder: Path, copied: Path) -> bool:
    """Whether a folder's regular files are all in its copy, and nothing else is."""
    if not copied.is_dir():
        return False
    files, copies = (
        [(path, whole) for path, whole in _to_collect(place) if path.name != RECEIPT]
        for place in (folder, copied)
    )
    return [path.name for path, _ in files] == [path.name for path, _ in copies] and all(
        _same(path, other, whole=whole) for (path, whole), (other, _) in zip(files, copies, strict=True)
    )


def _to_collect(folder: Path) -> Iterator[tuple[Path, bool]]:
    """The files of a submission, notebooks first; and of each whether its bytes are collected, or its size alone."""
    left = MAX_COLLECTED
    files = sorted(_regular_files(folder), key=lambda path: path.suffix.lower() != ".ipynb")
    for path in files[:MAX_FILES]:
        size = path.stat().st_size
        whole = size <= min(MAX_BYTES, left)
        left -= size if whole else 0
        yield path, whole


def _timestamp(folder: Path) -> str:
    """When it was handed in, from timestamp.txt, as nbgrader reads it; what is no time is left out."""
    line = _line_of(folder / RECEIPT)
    if not re.match(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d", line) or instant_of(line) is None:
        return ""
    return line + "\n"


@lru_cache(maxsize=256)  # a submission's is asked for again and again
def instant_of(text: str) -> datetime | None:
    """The instant that a timestamp.txt says, in UTC as nbgrader reads it; None where it says none."""
    from nbgrader.utils import parse_utc

    try:
        instant: datetime | None = parse_utc(text.strip()) if text.strip() else None
    except Exception:  # it is somebody's text, and the parser has more ways to fail than it names
        return None
    return instant


def _line_of(path: Path) -> str:
    """The first line of a small text file; empty where there is none."""
    return "".join(_text_of(path).splitlines()[:1]).strip()


def _text_of(path: Path) -> str:
    """The beginning of a text file; empty where there is none."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(1000).decode("utf-8-sig", errors="replace").strip()


def _changed(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OverflowError, ValueError):  # a file system takes years that no calendar has
        return None


def _read(path: Path) -> bytes:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise Unreadable(
            f"{printable(path.name)} has {size >> 20} MB, more than the {MAX_BYTES >> 20} MB that are read; "
            "clear its outputs, save it and hand it in again"
        )
    return path.read_bytes()


def _copy_all(folder: Path, target: Path) -> None:
    """Puts what is collected of a folder in the place of what was before, all of it or nothing."""
    draft = target.with_name(f".{target.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        for path, whole in _to_collect(folder):
            _copy(path, draft / path.name, whole=whole)
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _copy(path: Path, target: Path, *, whole: bool) -> None:
    found = path.stat()
    if whole:
        shutil.copyfile(path, target)
    else:
        with target.open("wb") as file:
            file.truncate(found.st_size)  # a hole: it takes no room
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _same(file: Path, copy: Path, *, whole: bool) -> bool:
    same_size = file.stat().st_size == copy.stat().st_size
    return same_size and (not whole or filecmp.cmp(file, copy, shallow=False))


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)
