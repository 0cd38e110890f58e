"""Removing a term's people and marks from the course's folder, and making sure that nothing is left."""

from __future__ import annotations

import contextlib
import json
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.course import SETTINGS_FILE, Course, CourseError, without_people
from course_lib.grading.files import write_whole
from course_lib.grading.gradebook import open_gradebook
from course_lib.grading.secret import secret_path
from course_lib.grading.workspace import Workspace, open_workspace

FOLDERS = ("submitted", "autograded", "feedback", "exports")
_WRITTEN = "written.json"  # in .course: what was taken in and what was written, wherever
# What is built, and the module itself, whose tests have students of their own.
_NOT_OURS = {
    ".git",
    ".venv",
    "_build",
    "tests",
    "course_lib",
    "book",
    "benchmarks",
    "solutions",
    "exercises",
} | {f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG", "PLAN")}
_LARGEST = 64 * 2**20  # of a file that is searched for ids


@dataclass(frozen=True)
class Forgotten:
    """What was removed; what lies elsewhere, and was not; and where ids of students still stand."""

    removed: tuple[str, ...]
    elsewhere: tuple[Path, ...]
    left: tuple[str, ...]


def remember(course: Course, *paths: Path | None) -> None:
    """Notes files with people in them, lists that were taken in and marks that were written, for when to forget.

    Not those of the made-up class, which is there to be taken in again.
    """
    course.private.mkdir(parents=True, exist_ok=True)
    given = [path.absolute() for path in paths if path]
    people = [str(path) for path in given if not path.is_relative_to(course.build / "demo")]
    places = sorted({*_written(course), *people})
    write_whole(course.private / _WRITTEN, json.dumps(places, ensure_ascii=False).encode())


def found_of(course: Course, term: str) -> dict[str, int]:
    """What there is of a term's people, counted, and files with them. CourseError in another term, or in none."""
    if course.term is None:
        raise CourseError(f'{course.root / SETTINGS_FILE} names no term. Write term = "{term}" there first.')
    if course.term != term:
        raise CourseError(
            f"This course is in the term {course.term!r}, not {term!r}. Nothing was removed; give its own term."
        )
    found = {"students in the gradebook": len(_students(course))}
    for name in FOLDERS:
        found[f"files in {name}/"] = sum(1 for path in _files(course.root / name))
    found["files of grading in .course/"] = len(list(_state(course)))
    for place in _written(course):
        if Path(place).is_file() and not any(
            Path(place).is_relative_to(course.root / name) for name in FOLDERS
        ):
            found[place] = 1
    found["students with an extension"] = len(_extended(course))
    return {what: count for what, count in found.items() if count}


def forget_term(course: Course, term: str) -> Forgotten:
    """Removes a term's people and marks: gradebook, folders, state, exports, extensions. The secret stays."""
    found = found_of(course, term)
    ids = {*_students(course), *_extended(course)}
    written = [Path(place) for place in _written(course)]
    inside = [path for path in written if path.resolve().is_relative_to(course.root.resolve())]
    for path in [*inside, *(course.root / name for name in FOLDERS), *_state(course)]:
        _remove(path)
    _empty_gradebook(course)
    settings = course.root / SETTINGS_FILE
    if _extended(course):
        settings.write_text(without_people(settings.read_text(encoding="utf-8")), encoding="utf-8")
    elsewhere = tuple(path for path in written if path not in inside and path.exists())
    removed = tuple(what for what in found if Path(what) not in elsewhere)
    return Forgotten(removed, elsewhere, tuple(_still_there(course, ids)))


def _students(course: Course) -> list[str]:
    from nbgrader.api import Student

    place = open_workspace(course, course.root)
    if _is_in_folder(place) and not (course.root / "gradebook.db").is_file():
        return []
    with open_gradebook(place) as gradebook:
        return [str(row[0]) for row in gradebook.db.query(Student.id)]


def _extended(course: Course) -> set[str]:
    return {student for students in course.deadlines.extended.values() for student in students}


def _empty_gradebook(course: Course) -> None:
    """A gradebook in the folder goes with its file; any other is emptied, and what was deleted is overwritten."""
    place = open_workspace(course, course.root)
    if _is_in_folder(place):
        for path in course.root.glob("gradebook.db*"):
            path.unlink()
        return
    from sqlalchemy import MetaData

    with open_gradebook(place) as gradebook:
        known = MetaData()
        known.reflect(gradebook.engine)
        for table in _of_people(known):
            gradebook.db.execute(table.delete())
        gradebook.db.commit()
        if gradebook.engine.dialect.name in ("sqlite", "postgresql"):
            with gradebook.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
                connection.exec_driver_sql("VACUUM")


def _is_in_folder(place: Workspace) -> bool:
    return place.gradebook == f"sqlite:///{place.root / 'gradebook.db'}"


def _of_people(known: Any) -> list[Any]:
    names = ("student", "submitted_assignment", "submitted_notebook", "grade", "comment")
    return [
        table
        for table in reversed(known.sorted_tables)
        if table.name in names or table.name.startswith("course_")
    ]


def _state(course: Course) -> Iterator[Path]:
    """All of .course but the secret: a regrade next term asks the same."""
    if course.private.is_dir():
        yield from (path for path in course.private.iterdir() if path != secret_path(course))


def _written(course: Course) -> list[str]:
    path = course.private / _WRITTEN
    try:
        return [str(place) for place in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError):
        return []


def _remove(path: Path) -> None:
    for file in _files(path):
        if not file.lstat().st_mode & stat.S_IWUSR:  # as what was graded: Windows would not remove it
            with contextlib.suppress(OSError):
                file.chmod(0o600)
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else iter(())


def _still_there(course: Course, ids: set[str]) -> Iterator[str]:
    """Files of the course, outside of what is built, that name a student."""
    wanted = [student.encode() for student in ids if len(student) > 3]  # "kim" is in many words
    if not wanted:
        return
    for folder in course.root.iterdir():
        if folder.name in _NOT_OURS:
            continue
        for path in [folder] if folder.is_file() else _files(folder):
            if path.stat().st_size <= _LARGEST and any(student in path.read_bytes() for student in wanted):
                yield str(path.relative_to(course.root))
