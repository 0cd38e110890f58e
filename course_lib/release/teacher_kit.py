"""The instructor's kit of a problem set: the solved notebook, the bank, and a page to mark and to answer by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course_lib.course import LANGUAGES, Course
from course_lib.grading.bank import Bank, Task, Written
from course_lib.grading.notebook import text_of
from course_lib.release.archive import packed
from course_lib.release.cells import source_notebook
from course_lib.release.kit import install_steps, torch_note
from course_lib.release.notebooks import CASES, require_bank
from course_lib.release.wheel import WHEEL, requirements, wheel

HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS\n", re.DOTALL)


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
    members = {
        f"{name}-solved.ipynb": text_of(_solved(source / f"{name}.md", bank, language)).encode(),
        f"{name}.md": (source / f"{name}.md").read_bytes(),
        "tasks.py": (source / "tasks.py").read_bytes(),
        CASES: (course.exercises / language / name / CASES).read_bytes(),
        WHEEL: wheel(),
        "requirements.txt": requirements(bank.modules).encode(),
        "marking.md": "\n".join(_marking(bank, language)).encode(),
        "README.txt": _readme(name, bank, language).encode(),
    }
    return packed(sorted(members.items()))


def _readme(name: str, bank: Bank, language: str) -> str:
    note = torch_note(language, bank.modules)
    steps = install_steps(language, f"{name}-solved.ipynb")
    return _README[language].format(ps=name, wheel=WHEEL, steps=steps) + (f"\n{note}" if note else "")


def _solved(path: Path, bank: Bank, language: str) -> Any:
    """The notebook of one language with all answers in it; its checks are those that students have."""
    notebook = source_notebook(path, bank)
    other = {each for each in LANGUAGES if each != language}
    notebook.cells = [cell for cell in notebook.cells if not other & set(cell.metadata.get("tags", []))]
    written = {answer.name: answer for answer in bank.written}
    for cell in notebook.cells:
        cell.source = HIDDEN.sub("", cell.source)
        if answer := written.get(cell.metadata.get("nbgrader", {}).get("grade_id")):
            cell.source = "\n\n".join(
                text.in_language(language) for text in (answer.model_answer, answer.rubric)
            )
    return notebook


def _marking(bank: Bank, language: str) -> Iterator[str]:
    """First what a person marks, then what is marked by itself."""
    say = _WORDS[language]
    yield f"# {bank.name}: {say['points'].format(bank.points)}\n"
    for written in bank.written:
        yield from _written(written, language)
    for task in bank.tasks:
        yield from _task(task, language)


def _written(written: Written, language: str) -> Iterator[str]:
    say = _WORDS[language]
    yield f"## {written.name}: {say['points'].format(written.points)}, {say['by_hand']}\n"
    for title, text in (("model_answer", written.model_answer), ("rubric", written.rubric)):
        yield f"**{say[title]}.** {text.in_language(language)}\n"


def _task(task: Task, language: str) -> Iterator[str]:
    say = _WORDS[language]
    yield f"## {task.name}: {say['points'].format(task.points)}\n"
    yield from (f"- {part.title.in_language(language)}: {part.points:g}" for part in task.parts)
    yield f"\n{say['mistakes']}\n"
    for mistake in task.mistakes:
        yield f"- `{mistake.name}`: {mistake.hint.in_language(language)}"
    yield ""


_WORDS = {
    "ko": {
        "points": "{:g}점",
        "by_hand": "사람이 채점",
        "model_answer": "모범 답안",
        "rubric": "채점 기준",
        "mistakes": "check와 채점이 알아보는 실수와 학생이 읽는 힌트:",
    },
    "en": {
        "points": "{:g} points",
        "by_hand": "marked by a person",
        "model_answer": "Model answer",
        "rubric": "Rubric",
        "mistakes": "Mistakes that checks and grading know, with the hint that students read:",
    },
}
_README = {
    "ko": """\
문제집 {ps}, 강의자용. 풀이가 들어 있으니 공개하지 마세요.

{ps}-solved.ipynb    답을 모두 채운 노트북. check는 학생이 받는 것과 같습니다
marking.md          서술형의 모범 답안과 채점 기준, 코드의 배점과 실수마다의 힌트
tasks.py, {ps}.md    문제 은행과 노트북의 글: 교재 저장소의 solutions/{ps}와 같습니다
cases.npz           check가 읽는 입력
{wheel}, requirements.txt   노트북을 실행하는 데 설치할 것


노트북을 실행하려면 (Windows, macOS, Linux)

{steps}
채점하거나 과제를 고치려면 교재의 저장소가 필요합니다: 책의 "가르치는 분께"를 보세요.
""",
    "en": """\
Problem set {ps}, for instructors. It holds solutions: never publish it.

{ps}-solved.ipynb    the notebook with all answers; its checks are those that students have
marking.md          model answers and rubrics; points of the code, and a hint for each mistake
tasks.py, {ps}.md    the bank and the notebook's text, as in solutions/{ps} of the repository
cases.npz           what the checks read
{wheel}, requirements.txt   what to install to run the notebook


To run the notebook (Windows, macOS, Linux)

{steps}
To grade, or to change tasks, you need the repository itself: see "For instructors" in the book.
""",
}
