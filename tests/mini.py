"""A course as small as one can be, to release and grade in tests."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from course_lib.course import Course, find_course
from course_lib.grading.notebook import read_notebook, write_notebook
from course_lib.release.notebooks import release

SOURCE = Path(__file__).parent / "mini_course"
DOUBLE = "def double(x):\n    return 2 * x"  # the right answers, worth 3 and 2.5 points
MEAN = "def mean(x, axis=-1):\n    return x.mean(axis=axis)"


def make_course(folder: Path) -> Course:
    """A copy of the small course in `folder`."""
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    return find_course(folder)


def released_course(folder: Path) -> Course:
    """A copy of the small course in `folder`, released."""
    shutil.copytree(_released(), folder, dirs_exist_ok=True)
    return find_course(folder)


@cache
def _released() -> Path:
    """It is made once for all tests."""
    folder = Path(mkdtemp(prefix="mini-course-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    release(make_course(folder), "mini")
    return folder


def hand_in(course: Course, submitted: Path, student: str, *, language: str = "en", **sources: str) -> Path:
    """Writes a student's notebook, with the sources given (by the cell's id) in the place of the stubs."""
    notebook = read_notebook(course.exercises / language / "mini" / "mini.ipynb")
    for cell in notebook.cells:
        cell.source = sources.get(cell.id.replace("-", "_"), cell.source)
    path = submitted / student / "mini" / "mini.ipynb"
    path.parent.mkdir(parents=True)
    write_notebook(notebook, path)
    return path


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def cell_of(notebook: Any, name: str) -> Any:
    """The cell with that id of nbgrader."""
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
