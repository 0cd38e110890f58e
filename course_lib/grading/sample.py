"""A small class whose marks are known beforehand: right answers, every named mistake, and what else happens."""

from __future__ import annotations

import ast
import copy
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Literal

from course_lib.grading.bank import Bank, code_of, source_of
from course_lib.grading.notebook import read_notebook, text_of

Kind = Literal["notebook", "broken", "nothing"]


@dataclass(frozen=True)
class SampleStudent:
    """What one student of the sample class hands in, and the score that the bank predicts for it."""

    id: str
    title: str
    predicted: float
    answers: dict[str, Callable[..., Any]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)  # answers in words, which then wait for a person
    kind: Kind = "notebook"


def sample_class(bank: Bank, language: str = "ko") -> list[SampleStudent]:
    """The sample class of a bank: the n-th right answer and the n-th mistake of every task, and four odd cases."""
    everything = sum(task.points for task in bank.tasks)
    rows: list[dict[str, Any]] = [
        {
            "title": "model solutions",
            "predicted": everything,
            "answers": {task.name: task.reference for task in bank.tasks},
            "words": {written.name: written.model_answer.in_language(language) for written in bank.written},
        }
    ]
    rows += [
        _right(bank, index, everything) for index in range(max(len(t.right_answers) for t in bank.tasks))
    ]
    rows += [_mistaken(bank, index) for index in range(max(len(task.mistakes) for task in bank.tasks))]
    rows += [
        {"title": "notebook as released", "predicted": 0.0},
        {"title": "half a file", "predicted": 0.0, "kind": "broken"},
        {"title": "empty folder", "predicted": 0.0, "kind": "nothing"},
    ]
    return [SampleStudent(id=f"student-{number:03}", **row) for number, row in enumerate(rows, start=1)]


def write_sample(students: Iterable[SampleStudent], exercise: Path, folder: Path) -> None:
    """Writes what they hand in as `folder`/STUDENT/PROBLEM_SET/, from the exercise's folder that students got."""
    problem_set = exercise.name
    released = read_notebook(exercise / f"{problem_set}.ipynb")
    shutil.rmtree(folder, ignore_errors=True)
    for student in students:
        target = folder / student.id / problem_set
        target.mkdir(parents=True)
        text = text_of(_fill_in(released, student))
        if student.kind == "broken":
            text = text[: len(text) // 2]
        if student.kind != "nothing":
            (target / f"{problem_set}.ipynb").write_text(text, encoding="utf-8")


def source_as(function: Callable[..., Any], name: str) -> str:
    """The source of a function or class under another name, after what it takes from its file."""
    return _rendered(ast.parse(source_of(function)), {function.__name__: name}, code_of(function))


def _rendered(tree: ast.Module, names: dict[str, str], code: FunctionType) -> str:
    """The source of `tree`, which holds `code`, with `names` changed and what it needs of its file before it."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - set(names)
    # What it calls by the name that it gets here (the reference, say) has to step aside.
    names = names | {taken: f"other_{taken}" for taken in used & {*names.values()} & {*code.__globals__}}
    needed = [
        _needed(names.get(name, name), code.__globals__[name], code.__module__)
        for name in sorted(used - {"np"})
        if name in code.__globals__
    ]
    return "\n\n".join([*filter(None, needed), ast.unparse(_Renamed(names).visit(tree))])


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None  # it may name what the notebook does not import
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node


def _needed(name: str, value: Any, module: str) -> str:
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    if isinstance(value, (FunctionType, type)) and value.__module__ == module:
        return source_as(value, name)
    if hasattr(value, "__module__") and hasattr(value, "__name__"):
        return f"from {value.__module__} import {value.__name__} as {name}"
    return f"{name} = {value!r}"


def _right(bank: Bank, index: int, everything: float) -> dict[str, Any]:
    answers = {
        task.name: task.right_answers[index] if index < len(task.right_answers) else task.reference
        for task in bank.tasks
    }
    return {"title": f"other solutions {index + 1}", "predicted": everything, "answers": answers}


def _mistaken(bank: Bank, index: int) -> dict[str, Any]:
    answers, predicted = {}, 0.0
    for task in bank.tasks:
        mistake = task.mistakes[index] if index < len(task.mistakes) else None
        answers[task.name] = mistake.function if mistake else task.reference
        predicted += task.points_without(mistake.loses if mistake else ())
    return {"title": f"mistake {index + 1} in each", "predicted": predicted, "answers": answers}


def _fill_in(released: Any, student: SampleStudent) -> Any:
    notebook = copy.deepcopy(released)
    for cell in notebook.cells:
        metadata = cell.metadata.get("nbgrader", {})
        name = str(metadata.get("grade_id", "")).removesuffix("-solution")
        if metadata.get("solution") and name in student.answers:
            cell.source = source_as(student.answers[name], name)
        elif metadata.get("solution") and name in student.words:
            cell.source = student.words[name]
    return notebook
