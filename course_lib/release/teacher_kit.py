"""The instructor's kit of a problem set: the solved notebook, the bank, and a page to mark and to answer by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from course_lib.course import LANGUAGES, Course
from course_lib.grading.bank import Bank, Task, Written
from course_lib.grading.notebook import text_of
from course_lib.release.archive import packed
from course_lib.release.cells import source_notebook
from course_lib.release.notebooks import CASES, require_bank


def write_teacher_kits(course: Course, folder: Path) -> None:
    """Writes PS-LANGUAGE.zip for each problem set and language. They hold solutions: never publish them."""
    folder.mkdir(parents=True)
    for name in course.problem_sets:
        for language in LANGUAGES:
            if (course.exercises / language / name / CASES).is_file():
                (folder / f"{name}-{language}.zip").write_bytes(_kit(course, name, language))


def _kit(course: Course, name: str, language: str) -> bytes:
    source = course.solutions / name
    bank = require_bank(source)
    notebook = source_notebook(source / f"{name}.md", bank)
    other = {each for each in LANGUAGES if each != language}
    notebook.cells = [cell for cell in notebook.cells if not other & set(cell.metadata.get("tags", []))]
    members = {
        f"{name}-solved.ipynb": text_of(notebook).encode(),
        f"{name}.md": (source / f"{name}.md").read_bytes(),
        "tasks.py": (source / "tasks.py").read_bytes(),
        CASES: (course.exercises / language / name / CASES).read_bytes(),
        "marking.md": "\n".join(_marking(bank, language)).encode(),
    }
    return packed(sorted(members.items()))


def _marking(bank: Bank, language: str) -> Iterator[str]:
    yield f"# {bank.name}: {bank.points:g}\n"
    for task in bank.tasks:
        yield from _task(task, language)
    for written in bank.written:
        yield from _written(written, language)


def _task(task: Task, language: str) -> Iterator[str]:
    yield f"## {task.name}: {task.points:g}\n"
    yield from (f"- {part.title.in_language(language)}: {part.points:g}" for part in task.parts)
    yield ""
    for mistake in task.mistakes:
        yield f"- `{mistake.name}`: {mistake.hint.in_language(language)}"
    yield ""


def _written(written: Written, language: str) -> Iterator[str]:
    yield f"## {written.name}: {written.points:g}\n"
    yield written.model_answer.in_language(language) + "\n"
    yield written.rubric.in_language(language) + "\n"
