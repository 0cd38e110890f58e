"""The instructor's notebook: prose and code as written in solutions/PS/PS.md, and two cells for each task."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from course_lib.course import LANGUAGES, CourseError
from course_lib.grading.bank import Bank, Task, Written, code_of, source_of
from course_lib.grading.fetching import fetching_source
from course_lib.grading.notebook import load_nbformat, new_cell, new_notebook
from course_lib.release.wheel import WHEEL

NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def source_notebook(path: Path, bank: Bank) -> Any:
    """The notebook with solutions and hidden cells that `path` (MyST Markdown) and the bank give.

    Every cell of prose has one tag, `ko` or `en`; a code cell may have one. A code cell `:task: NAME` stands for the
    task or written answer of that name, and one `:setup: true`, which holds the imports, for the first cell of each
    language. CourseError where the two files do not fit together.
    """
    placeholders = _read_myst(path)
    _require_fit(path, placeholders, bank)
    _require_points(path, placeholders, bank)
    cells: list[Any] = []
    counts: Counter[str] = Counter()
    for number, cell in enumerate(placeholders, start=1):
        task = cell.metadata.get("task")
        if task is not None:
            cells += _cells_of(task, bank)
        elif cell.metadata.get("setup"):
            cells += _setup_cells(cell, bank.name, _languages(placeholders), counts)
        elif cell.source.strip():
            language = _language(cell, path, number)
            kind = "-".join(filter(None, ["code" if cell.cell_type == "code" else "text", language]))
            counts[kind] += 1
            cells.append(_plain_cell(cell, f"{kind}-{counts[kind]}", language))
    return new_notebook(cells, NOTEBOOK_METADATA)


def fetching_cell(address: str, language: str) -> Any:
    """The cell that gets the exercise's other files from its address (with a slash at its end) where Colab has none."""
    return _cell(
        "code", "fetching", fetching_source(language, f"{address}cases.npz", f"{address}{WHEEL}"), {}
    )


def solution_source(task: Task) -> str:
    """The reference as a model solution: what follows its docstring stands between nbgrader's markers.

    Of a class, that is what follows the docstring, or the line with the name, of each method.
    """
    lines = source_of(task.reference).splitlines()
    written = ast.parse("\n".join(lines)).body[0]
    place = f"{code_of(task.reference).__code__.co_filename}: the reference of {task.name!r}"
    if not isinstance(written, (ast.FunctionDef, ast.ClassDef)) or written.decorator_list:
        raise CourseError(
            f"{place} must be one plain function or class, without decorators: it becomes the model solution."
        )
    if written.name != task.name:
        raise CourseError(
            f"{place} is called {written.name!r}. Give it the task's name: it becomes the stub."
        )
    if ast.get_docstring(written) is None or len(written.body) < 2:
        raise CourseError(
            f"{place} needs a docstring, which students get, and a body after it, which they write."
        )
    functions = [written] if isinstance(written, ast.FunctionDef) else written.body
    for function in reversed(functions):
        if isinstance(function, ast.FunctionDef):
            _mark(function, lines)
    return "\n".join(lines)


def graded_source(problem_set: str, task: str) -> str:
    """The cell below a task: to students its last line, the check of the visible cases; at grading, hidden ones.

    The hidden lines give `check` another meaning, so that no line of it needs what a submission calls so.
    """
    lines = [
        "### BEGIN HIDDEN TESTS",
        "from course_lib.grading.hidden import mark",
        "",
        "",
        "def check(task, function):",
        f'    return mark("{problem_set}", task, function)',
        "",
        "",
        "### END HIDDEN TESTS",
        f'check("{task}", {task})',
    ]
    return "\n".join(lines)


def _mark(function: ast.FunctionDef, lines: list[str]) -> None:
    """Puts nbgrader's markers around what follows the docstring of the function, or else its signature."""
    first = function.body[0]
    start = next(n for n in range(function.lineno, first.lineno) if lines[n - 1].rstrip().endswith(":"))
    if ast.get_docstring(function) is not None:
        start = first.end_lineno or start
    indent = " " * first.col_offset
    body = "\n".join(lines[start : function.end_lineno]).strip("\n").splitlines()
    lines[start : function.end_lineno] = [f"{indent}### BEGIN SOLUTION", *body, f"{indent}### END SOLUTION"]


def _read_myst(path: Path) -> list[Any]:
    load_nbformat()  # first: jupytext would load it the slow way
    import jupytext

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise CourseError(
            f"{path} is missing: a problem set needs its notebook there, as MyST Markdown."
        ) from None
    except UnicodeDecodeError as error:
        raise CourseError(f"{path} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error
    try:
        return list(jupytext.reads(text, fmt="md:myst").cells)
    except Exception as error:  # jupytext passes on what its parsers of Markdown and YAML raise
        raise CourseError(f"{path} is not a MyST notebook ({type(error).__name__}: {error}).") from error


def _require_fit(path: Path, cells: Iterable[Any], bank: Bank) -> None:
    """Every task of the bank has one cell in the notebook, and the other way round."""
    tasks = path.with_name("tasks.py")
    known = [*(task.name for task in bank.tasks), *(written.name for written in bank.written)]
    for name, count in Counter(known).items():
        if count > 1:
            raise CourseError(
                f"{tasks} defines {name!r} {count} times; {path} can't tell them apart. Rename one."
            )
    placed: dict[str, int] = {}
    for number, cell in enumerate(cells, start=1):
        name = cell.metadata.get("task")
        if name is None:
            continue
        if name not in known:
            raise CourseError(
                f"{path}, cell {number}: no task {name!r} in {tasks} (there are: {', '.join(known)})."
            )
        if name in placed:
            raise CourseError(f"{path} places {name!r} of {tasks} twice: cells {placed[name]} and {number}.")
        placed[name] = number
    for name in known:
        if name not in placed:
            raise CourseError(f"{tasks} has a task {name!r}, but {path} has no cell ':task: {name}'. Add it.")


# How prose states points: before each task, and in the table at the top.
_STATED = {"ko": re.compile(r"\*([\d.]+)점 · "), "en": re.compile(r"\*([\d.]+) points? · ")}
_TOTAL = {"ko": re.compile(r"\| 배점 \| ([\d.]+)점"), "en": re.compile(r"\| Points \| ([\d.]+)")}


def _require_points(path: Path, cells: Iterable[Any], bank: Bank) -> None:
    """Where the prose says how many points there are, it says what the bank gives."""
    points = {task.name: task.points for task in bank.tasks}
    points |= {written.name: written.points for written in bank.written}
    wrong, said = [], []
    for cell in cells:
        for language in {*cell.metadata.get("tags", [])} & {*LANGUAGES}:
            if (total := _TOTAL[language].search(cell.source)) and float(total[1]) != bank.points:
                wrong.append(f"{total[1]} in all ({language}), and not {bank.points:g}")
            said += [(language, float(number)) for number in _STATED[language].findall(cell.source)[:1]]
        if name := cell.metadata.get("task"):
            right = points[name]
            wrong += [f"{n:g} for {name} ({one}), and not {right:g}" for one, n in said if n != right]
            said = []
    if wrong:
        raise CourseError(
            f"{path} states other points than {path.with_name('tasks.py')}: {'; '.join(wrong)}. "
            "Correct the one or the other."
        )


def _language(cell: Any, path: Path, number: int) -> str:
    """The language of a cell: "ko", "en", or "" for code that all share."""
    tags = [tag for tag in cell.metadata.get("tags", []) if tag in LANGUAGES]
    if len(tags) > 1 or (not tags and cell.cell_type != "code"):
        start = cell.source.strip().splitlines()[0][:40]
        raise CourseError(
            f"{path}, cell {number} ({start!r}) must have one of the tags {' and '.join(LANGUAGES)}: "
            '+++ {"tags": ["ko"]} before the cell.'
        )
    return tags[0] if tags else ""


def _plain_cell(cell: Any, name: str, language: str) -> Any:
    return _cell(cell.cell_type, name, cell.source, {"tags": [language]} if language else {})


def _languages(cells: Iterable[Any]) -> list[str]:
    tags = {tag for cell in cells for tag in cell.metadata.get("tags", [])}
    return [language for language in LANGUAGES if language in tags]


def _setup_cells(
    cell: Any, problem_set: str, languages: Iterable[str], counts: Counter[str]
) -> Iterator[Any]:
    """The first code cell of each language: it says in one line whether all is in place, and if not, what to do."""
    imports = "".join(f"    {line}\n" if line else "\n" for line in cell.source.strip().splitlines())
    for language in languages:
        kind = f"code-{language}"
        counts[kind] += 1
        source = _SETUP.format(
            imports=imports, language=language, problem_set=problem_set, **_LACKING[language]
        )
        yield _cell("code", f"{kind}-{counts[kind]}", source, {"tags": [language]})


_SETUP = """\
try:
{imports}
    from course_lib.checks import load
except ModuleNotFoundError as missing:
    print(
        missing.name + "{here}",
        "{colab}",
    )
else:
    check = load("cases.npz", language="{language}", problem_set="{problem_set}")"""
_LACKING = {
    "ko": {
        "here": "이(가) 없습니다. 새 셀에서 다음을 실행한 뒤 kernel을 다시 시작하세요: "
        "%pip install -r requirements.txt",
        "colab": f"Colab이라면 받은 파일을 올리고 실행하세요: %pip install {WHEEL}",
    },
    "en": {
        "here": " is missing. In a new cell, run %pip install -r requirements.txt, and restart the kernel.",
        "colab": f"In Colab, upload the files and run %pip install {WHEEL}",
    },
}


def _cells_of(name: str, bank: Bank) -> list[Any]:
    for written in bank.written:
        if written.name == name:
            return [_answer_cell(written)]
    task = bank.task(name)
    return [_solution_cell(task), _graded_cell(task, bank)]


def _solution_cell(task: Task) -> Any:
    return _nbgrader_cell("code", f"{task.name}-solution", solution_source(task), solution=True)


def _graded_cell(task: Task, bank: Bank) -> Any:
    """The check, which students run, too. Its value is the points, which nbgrader takes as partial credit."""
    return _nbgrader_cell("code", task.name, graded_source(bank.name, task.name), points=task.points)


def _answer_cell(written: Written) -> Any:
    texts = [written.model_answer.ko, written.model_answer.en, written.rubric.ko, written.rubric.en]
    return _nbgrader_cell("markdown", written.name, "\n\n".join(texts), solution=True, points=written.points)


def _nbgrader_cell(
    kind: str,
    name: str,
    source: str,
    *,
    solution: bool = False,
    points: float | None = None,
) -> Any:
    metadata: dict[str, Any] = {
        "grade": points is not None,
        "grade_id": name,
        "locked": points is not None and not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    if points is not None:
        metadata["points"] = points
    return _cell(kind, name, source, {"nbgrader": metadata})


def _cell(kind: str, name: str, source: str, metadata: dict[str, Any]) -> Any:
    return new_cell(kind, re.sub(r"[^a-zA-Z0-9_-]", "-", name)[:64], source, metadata)
