"""A new task: scaffolded in a problem set's tasks.py and notebook; and what a task still lacks of the house's rules."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from course_lib.checks import Text
from course_lib.course import Course, CourseError
from course_lib.grading.bank import Bank, Task, draw_cases
from course_lib.release.cells import source_notebook
from course_lib.release.notebooks import require_bank

MISTAKES, RIGHT_ANSWERS = 8, 4  # the least that a task needs: tests/test_bank.py holds it against these, too
TODO = "TODO"


def scaffold(course: Course, problem_set: str, name: str) -> list[Path]:
    """Adds a task to tasks.py and to the notebook's text; returns both paths. CourseError where it can't be added."""
    folder = course.require_problem_set(problem_set)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise CourseError(
            f"{name!r} is no name for a task: write a function's, in small letters, such as row_sums."
        )
    bank = require_bank(folder)
    if name in [*(task.name for task in bank.tasks), *(written.name for written in bank.written)]:
        raise CourseError(
            f"{problem_set} has a task {name!r} already. To see what it lacks, leave --add out."
        )
    tasks, notebook = folder / "tasks.py", folder / f"{problem_set}.md"
    texts = {
        tasks: _with_task(tasks, name),
        notebook: notebook.read_text(encoding="utf-8-sig").rstrip("\n") + _PROSE.format(name=name),
    }
    for path, text in texts.items():
        draft = path.with_name(f".{path.name}.new")
        draft.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, path)
    return list(texts)


def missing(course: Course, problem_set: str, name: str) -> list[str]:
    """What a task lacks of the rules of the bank, one line each. CourseError where there is no such task."""
    folder = course.require_problem_set(problem_set)
    bank = require_bank(folder)
    if name not in [task.name for task in bank.tasks]:
        known = ", ".join(task.name for task in bank.tasks)
        raise CourseError(f"{problem_set} has no task {name!r} (there are: {known}). Add it with --add.")
    return [*_missing_in(bank.task(name), course), *_missing_prose(folder / f"{problem_set}.md", bank, name)]


def _missing_prose(path: Path, bank: Bank, name: str) -> Iterator[str]:
    text = path.read_text(encoding="utf-8-sig")
    section = text.partition(f":task: {name}\n")[0].rpartition(":task:")[2]
    if TODO in section:
        yield f"the notebook's text before :task: {name} still says {TODO}"
    try:
        source_notebook(path, bank)
    except CourseError as error:
        yield f"the notebook's text: {error}"


def _missing_in(task: Task, course: Course) -> Iterator[str]:
    for count, least, what in (
        (len(task.mistakes), MISTAKES, "named mistakes"),
        (len(task.right_answers), RIGHT_ANSWERS, "other right answers"),
    ):
        if count < least:
            yield f"{least - count} more {what}: there are {count}, at least {least} are asked for"
    if TODO in (task.reference.__doc__ or TODO):
        yield "the docstring of the reference: shapes, and what comes back"
    texts = {f"the hint for {mistake.name}": mistake.hint for mistake in task.mistakes}
    for what, text in (texts | {f"the title of part {part.name}": part.title for part in task.parts}).items():
        yield from (f"{what}, in {language}" for language in _unwritten(text))
    chapter, _, label = task.see.partition(".html#")
    page = course.root / "book" / "ko" / f"{chapter}.md"
    if not page.is_file() or f"({label})=" not in page.read_text(encoding="utf-8"):
        yield f"see: {task.see!r} is no place in the book; write CHAPTER.html#LABEL"
    yield from _missing_draws(task)


def _unwritten(text: Text) -> list[str]:
    return [language for language in ("ko", "en") if TODO in (getattr(text, language).strip() or TODO)]


def _missing_draws(task: Task) -> Iterator[str]:
    for part in task.parts:
        try:
            drawn = part.draw(np.random.default_rng(0))
        except Exception as error:  # it is code that is being written
            yield f"the draws of part {part.name}: {type(error).__name__}: {error}"
            return
        if not drawn:
            yield f"the draws of part {part.name}: they give no inputs"
            return
    for case in draw_cases(task, b"new task").cases:
        if case.right.error:
            yield f"the reference: on part {case.part} it ends in {case.right.error}"
            return


def _with_task(path: Path, name: str) -> str:
    """tasks.py with the scaffold before its BANK, and with the task in it."""
    text = path.read_text(encoding="utf-8-sig")
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.value.args) > 1:
            target, tasks = node.targets[0], node.value.args[1]
            if isinstance(target, ast.Name) and target.id == "BANK" and isinstance(tasks, ast.Tuple):
                last = tasks.elts[-1]
                row, byte = (last.end_lineno or 1) - 1, last.end_col_offset or 0
                line = lines[row].encode()
                lines[row] = (line[:byte] + f", {name.upper()}".encode() + line[byte:]).decode()
                start = node.lineno - 1
                return "".join([*lines[:start], _TASK.format(name=name, NAME=name.upper()), *lines[start:]])
    raise CourseError(f"{path} has no line BANK = Bank(name, (TASK, ...)). Write one, then add tasks to it.")


_TASK = '''\
# --- {name} ---


def {name}(x):
    """TODO: x (n,) -> (n,); what comes back"""
    return x * 1.0


def draw_{name}(rng):
    return [{{"x": rng.normal(size=5)}}, {{"x": rng.normal(size=7)}}]


{NAME}_PARTS = (Part("numbers", 1, Text("TODO", "TODO"), draw_{name}),)


def {name}_wrong(x):
    return x * 2.0


{NAME} = Task(
    name="{name}",
    reference={name},
    parts={NAME}_PARTS,
    see="TODO.html#TODO",
    mistakes=(Mistake({name}_wrong, Text("TODO", "TODO"), frozenset({{"numbers"}})),),
    right_answers=(),
)


'''

_PROSE = """

+++ {{"tags": ["ko"]}}

## TODO {name}

*1점 · 보통 · 10분*

<details><summary>힌트 1</summary>TODO</details>
<details><summary>힌트 2</summary>TODO</details>
<details><summary>힌트 3</summary>TODO</details>

+++ {{"tags": ["en"]}}

## TODO {name}

*1 point · medium · 10 minutes*

<details><summary>Hint 1</summary>TODO</details>
<details><summary>Hint 2</summary>TODO</details>
<details><summary>Hint 3</summary>TODO</details>

+++

```{{code-cell}} ipython3
:task: {name}
```
"""
