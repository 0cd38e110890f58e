"""Taking in what students hand in: each is read, repaired and staged, or said to be missing or unreadable."""

from __future__ import annotations

import copy
import filecmp
import json
import os
import re
import shutil
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.course import SETTINGS_FILE, CourseError
from course_lib.grading.notebook import parse_notebook, write_notebook


class Missing(Exception):
    """The student handed in nothing for this problem set: one sentence that says what was looked at."""


class Unreadable(Exception):
    """Something was handed in that is not a notebook: one sentence that says what to do."""


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
        if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith("."):
            students.setdefault(_composed(folder.name), []).append(folder)
    if not any(_has(folder, problem_set) for folders in students.values() for folder in folders):
        raise CourseError(
            f"No student's folder in {submitted} holds a folder {problem_set}. "
            f"Arrange what was handed in as STUDENT/{problem_set}/*.ipynb."
        )
    return [Submission(student, tuple(folders)) for student, folders in sorted(students.items())]


def collect(submission: Submission, problem_set: str, into: Path) -> Submission:
    """Copies a submission's regular files to `into`/STUDENT/PROBLEM_SET; what is already there is left as it is."""
    if any(folder.parent.resolve() == into.resolve() for folder in submission.folders):
        return submission
    found = [folder for folder in (_named(folder, problem_set) for folder in submission.folders) if folder]
    if len(found) != 1 or len(submission.folders) != 1:
        return submission
    target = into / submission.student / problem_set
    if not _same_files(found[0], target):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for path in _regular_files(found[0]):
            shutil.copyfile(path, target / path.name)
    return Submission(submission.student, (into / submission.student,))


def stage(submission: Submission, problem_set: str, released: Any, target: Path) -> None:
    """Writes the one notebook of a submission to `target`, repaired so that every graded cell is there once.

    `released` is the notebook as students got it. Missing or Unreadable where there is none to write.
    """
    handed_in = choose(submission, problem_set, released)
    notebook = repair(parse_submission(handed_in.name, handed_in.content), released)
    shutil.rmtree(target.parent, ignore_errors=True)
    target.parent.mkdir(parents=True)
    write_notebook(notebook, target)
    if handed_in.timestamp:
        (target.parent / "timestamp.txt").write_text(handed_in.timestamp, encoding="utf-8")


@dataclass(frozen=True)
class HandedIn:
    """The one notebook of a submission as it came, and when: a line as nbgrader has it, empty where none is known."""

    name: str
    content: bytes
    timestamp: str


def choose(submission: Submission, problem_set: str, released: Any) -> HandedIn:
    """The file of a submission that holds the problem set; Missing or Unreadable where there is none to take."""
    path = _choose(submission, problem_set, _graded_ids(released))
    return HandedIn(path.name, path.read_bytes(), _timestamp(path.parent))


def parse_submission(name: str, content: bytes) -> Any:
    """The notebook in a file's bytes, in today's format; Unreadable, with the file's name, where they hold none."""
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
    except Exception as error:  # whatever is wrong in it: no submission may stop the class
        reason = str(error).strip().splitlines() or [""]
        raise Unreadable(f"{name} is not a valid notebook ({type(error).__name__}: {reason[0]})") from error


def repair(notebook: Any, released: Any) -> Any:
    """The submitted notebook with each graded cell of `released` in it once, at a place where it sees its answer.

    Answers keep their place; where one was copied, the last copy counts. Checks and graded cells are those of
    `released`, where they stood, but never before their answer. Tags are dropped: one of them skips a cell.
    """
    ours = {_id(cell): cell for cell in released.cells if _id(cell)}
    kept: list[Any] = []
    stood: dict[
        str, int
    ] = {}  # a cell's id: the index in `kept` of the answer, or of what a locked cell came after
    for cell in notebook.cells:
        name = _id(cell)
        is_answer = name in ours and ours[name].metadata.nbgrader.solution
        if not is_answer and name in ours:
            stood.setdefault(name, len(kept) - 1)
            continue
        cell.metadata.pop("nbgrader", None)
        cell.metadata.pop("tags", None)
        if is_answer and cell.cell_type == ours[name].cell_type:
            stood[name] = len(kept)
        kept.append(cell)
    notebook.cells = _merge(kept, stood, ours)
    return _with_unique_ids(notebook)


def _merge(kept: list[Any], stood: dict[str, int], ours: dict[str, Any]) -> list[Any]:
    """The student's cells with the answers among them marked, and our cells behind them."""
    behind: dict[int, list[Any]] = {}
    answer = -1
    for name, cell in ours.items():
        if cell.metadata.nbgrader.solution:
            answer = stood.get(name, len(kept) - 1)
            if name in stood:
                kept[answer].metadata["nbgrader"] = copy.deepcopy(cell.metadata.nbgrader)
            if name in stood or cell.cell_type == "code":
                continue  # an answer in code may stand in any cell; one in words needs its own to be marked
        behind.setdefault(max(answer, stood.get(name, -1)), []).append(copy.deepcopy(cell))
    merged = behind.get(-1, [])
    for index, cell in enumerate(kept):
        merged += [cell, *behind.get(index, [])]
    return merged


def _with_unique_ids(notebook: Any) -> Any:
    seen: set[str] = set()
    for index, cell in enumerate(notebook.cells):
        if cell.get("id", "") in seen or not cell.get("id"):
            cell["id"] = f"cell-{index}"
        seen.add(cell["id"])
    return notebook


def _choose(submission: Submission, problem_set: str, graded: set[str]) -> Path:
    """The one notebook of a submission that holds the problem set."""
    if len(submission.folders) > 1:
        names = " and ".join(repr(ascii(folder.name)) for folder in submission.folders)
        raise Unreadable(
            f"two folders have this student's id, written in two ways ({names}); leave one of them"
        )
    if set(submission.student) & set("[]*?"):
        raise Unreadable(
            "nbgrader takes the signs [ ] * ? in a student's id for a pattern; rename the folder"
        )
    folder = _named(submission.folders[0], problem_set)
    if folder is None:
        raise Missing(f"there is no folder {problem_set}")
    notebooks = [path for path in _regular_files(folder) if path.suffix.lower() == ".ipynb"]
    if not notebooks:
        others = ", ".join(path.name for path in _regular_files(folder))
        raise Missing(
            f"there is no notebook in {problem_set}, only {others}" if others else f"{problem_set} is empty"
        )
    if len(notebooks) == 1:
        return notebooks[0]
    return _among(notebooks, problem_set, graded)


def _among(notebooks: list[Path], problem_set: str, graded: set[str]) -> Path:
    ours = [path for path in notebooks if _holds(path, graded)]
    exact = [path for path in ours if _composed(path.name) == f"{problem_set}.ipynb"]
    if len(ours) == 1 or exact:
        return (exact or ours)[0]
    names = ", ".join(path.name for path in ours or notebooks)
    which = "hold this problem set" if ours else "are there, none of them from this problem set"
    raise Unreadable(
        f"{len(ours or notebooks)} notebooks {which} ({names}); leave one and name it {problem_set}.ipynb"
    )


def _holds(path: Path, graded: set[str]) -> bool:
    try:
        return bool(graded & {_id(cell) for cell in parse_submission(path.name, path.read_bytes()).cells})
    except Unreadable:
        return False


def _graded_ids(released: Any) -> set[str]:
    return {_id(cell) for cell in released.cells if _id(cell)}


def _id(cell: Any) -> str:
    """The cell's id in nbgrader's metadata; empty where there is none, or something else in its place."""
    metadata = cell.metadata.get("nbgrader", {})
    name = metadata.get("grade_id", "") if isinstance(metadata, dict) else ""
    return name if isinstance(name, str) else ""


def _named(folder: Path, name: str) -> Path | None:
    """The subfolder of that name, compared in composed form; no link."""
    for path in sorted(folder.iterdir()):
        if _composed(path.name) == name and path.is_dir() and not path.is_symlink():
            return path
    return None


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
    files, copies = _regular_files(folder), _regular_files(copied)
    return [path.name for path in files] == [path.name for path in copies] and all(
        filecmp.cmp(*pair, shallow=False) for pair in zip(files, copies, strict=True)
    )


def _timestamp(folder: Path) -> str:
    """When it was handed in, from timestamp.txt, as nbgrader reads it; what is no time is left out."""
    path = folder / "timestamp.txt"
    if path in _regular_files(folder):
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        if re.match(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d", text):
            return text + "\n"
    return ""


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)
