"""From solutions/PROBLEM_SET to what students get: derived, the same bytes in every run, never edited by hand.

solutions/PS/PS.md, tasks.py -> _build/nbgrader/source/PS -> _build/nbgrader/release/PS -> exercises/LANGUAGE/PS
"""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.checks import save_cases
from course_lib.course import LANGUAGES, Course, CourseError
from course_lib.grading.bank import Bank, BankError, for_students, load_bank, visible_cases
from course_lib.grading.notebook import read_notebook, text_of, write_notebook
from course_lib.grading.workspace import generate_release, open_workspace, register
from course_lib.release.cells import fetching_cell, source_notebook
from course_lib.release.stale import differences, keep_same
from course_lib.release.wheel import put_wheel, requirements

CASES = "cases.npz"


@dataclass(frozen=True)
class Released:
    """What a release wrote: the exercise's folder in each language, and how much there is to do."""

    problem_set: str
    folders: tuple[Path, ...]
    tasks: int
    points: float


def release(course: Course, problem_set: str) -> Released:
    """Writes a problem set's exercises and nbgrader's folders; on failure, everything stays as it was."""
    folder = course.require_problem_set(problem_set)
    bank = require_bank(folder)
    workspace = open_workspace(course, course.root)
    for language in LANGUAGES:
        _require_unworked(course.exercises / language / problem_set / f"{problem_set}.ipynb")
    with tempfile.TemporaryDirectory() as scratch:
        draft = Path(scratch)
        languages = _derive(course, problem_set, bank, draft)
        register(workspace, problem_set, source=draft / "source")
        for step in ("source", "release"):
            _replace(draft / step / problem_set, course.nbgrader / step / problem_set)
        for language in LANGUAGES:
            new, exercise = draft / language / problem_set, course.exercises / language / problem_set
            _tidy(exercise)
            keep_same(new, exercise)
            if any(differences(new, exercise)):
                _replace(new, exercise)
    folders = tuple(course.exercises / language / problem_set for language in languages)
    for folder in folders if course.repository is None else ():
        put_wheel(folder)
    return Released(problem_set, folders, len(bank.tasks) + len(bank.written), bank.points)


def stale(course: Course, problem_sets: list[str]) -> list[str]:
    """What differs between `exercises/` and what the solutions give now: one line each. Touches nothing."""
    found = []
    for problem_set in problem_sets:
        bank = require_bank(course.require_problem_set(problem_set))
        with tempfile.TemporaryDirectory() as scratch:
            _derive(course, problem_set, bank, Path(scratch))
            for language in LANGUAGES:
                fresh, ours = Path(scratch, language, problem_set), course.exercises / language / problem_set
                found += [f"{ours.relative_to(course.root)}{line}" for line in differences(fresh, ours)]
    for folder in sorted(course.exercises.glob("*/*/")):
        if folder.name not in course.problem_sets:
            found.append(f"{folder.relative_to(course.root)} has no solutions/{folder.name}")
    return found


def _require_unworked(exercise: Path) -> None:
    """CourseError where somebody has solved an exercise in its place: a release would overwrite that."""
    try:
        cells = read_notebook(exercise).cells
    except (OSError, ValueError):
        return
    if any(cell.get("outputs") or cell.get("execution_count") for cell in cells):
        raise CourseError(
            f"{exercise} has been worked in, and a release would overwrite it. "
            "Move it out of exercises/ and try again."
        )


def is_current(course: Course, problem_set: str) -> bool:
    """Whether the last release is what the solutions give now, so that grading asks what students were asked."""
    bank = require_bank(course.require_problem_set(problem_set))
    notebook = source_notebook(course.solutions / problem_set / f"{problem_set}.md", bank)
    path = course.nbgrader / "source" / problem_set / f"{problem_set}.ipynb"
    return path.is_file() and path.read_text(encoding="utf-8") == text_of(notebook)


def require_bank(folder: Path) -> Bank:
    """The bank of a problem set; CourseError, which names the place, where its tasks.py cannot be used."""
    try:
        return load_bank(folder)
    except BankError as error:
        raise CourseError(str(error)) from error
    except Exception as error:  # tasks.py is code: anything can come out of it
        place = f"{folder / 'tasks.py'}{_line_in(error, folder / 'tasks.py')}"
        raise CourseError(
            f"{place} cannot be loaded ({type(error).__name__}: {error}). Correct it there."
        ) from error


def _line_in(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    lines, trace = [], error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == str(path):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f", line {lines[-1]}" if lines else ""


def _derive(course: Course, problem_set: str, bank: Bank, draft: Path) -> list[str]:
    """Writes source/, release/ and a folder for each language into `draft`; returns the languages."""
    notebook = source_notebook(course.solutions / problem_set / f"{problem_set}.md", bank)
    source = draft / "source" / problem_set
    source.mkdir(parents=True)
    write_notebook(notebook, source / f"{problem_set}.ipynb")
    cases = [for_students(task, course.address("ko")) for task in visible_cases(bank)]
    save_cases(source / CASES, cases, bank.modules, problem_set)
    generate_release(problem_set, draft / "source", draft / "release")
    released = draft / "release" / problem_set
    notebook = read_notebook(released / f"{problem_set}.ipynb")
    write_notebook(notebook, released / f"{problem_set}.ipynb")
    languages = [language for language in LANGUAGES if any(_tag(cell) == language for cell in notebook.cells)]
    for language in languages:
        _write_exercise(course, bank, notebook, language, released / CASES, draft / language / problem_set)
    return languages


def _write_exercise(
    course: Course, bank: Bank, released: Any, language: str, cases: Path, folder: Path
) -> None:
    folder.mkdir(parents=True)
    notebook = copy.deepcopy(released)
    notebook.cells = [cell for cell in notebook.cells if _tag(cell) in (language, None)]
    for cell in notebook.cells:
        cell.metadata.pop("tags", None)
    if address := course.exercise_address(language, folder.name):
        first = next(index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code")
        notebook.cells.insert(first, fetching_cell(address, language))
    write_notebook(notebook, folder / f"{folder.name}.ipynb")
    shutil.copyfile(cases, folder / CASES)
    # Without a repository in course.toml, course_lib is the wheel beside the notebook.
    library = [f"course_lib @ git+{course.repository}"] if course.repository else []
    (folder / "requirements.txt").write_text(
        requirements(bank.modules, *library), encoding="utf-8", newline="\n"
    )


def _tag(cell: Any) -> str | None:
    """The language of a cell; None where it belongs to all."""
    tags = cell.metadata.get("tags", [])
    return next((language for language in LANGUAGES if language in tags), None)


def _replace(new: Path, target: Path) -> None:
    """Puts the folder `new` in the place of `target`, whole or not at all; where `new` is not, `target` goes."""
    _tidy(target)
    draft, old = _beside(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if new.is_dir():
            shutil.copytree(new, draft)
        if target.exists():
            os.rename(target, old)
        if draft.exists():
            os.rename(draft, target)
    except BaseException:
        if old.exists() and not target.exists():
            os.rename(old, target)
        raise
    finally:
        _tidy(target)


def _tidy(target: Path) -> None:
    """Removes what a release that was killed has left beside a folder."""
    for folder in _beside(target):
        shutil.rmtree(folder, ignore_errors=True)


def _beside(target: Path) -> tuple[Path, Path]:
    """The folder's successor while it is written, and the folder itself while it is moved out of the way."""
    return target.with_name(f".{target.name}.new"), target.with_name(f".{target.name}.old")
