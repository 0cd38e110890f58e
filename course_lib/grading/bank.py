"""The bank of a problem set: each task as one object, from which checks, kits, diagnosis and tests are derived."""

from __future__ import annotations

import ast
import hashlib
import hmac
import importlib.util
import inspect
import linecache
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from course_lib.checks import PLAIN, Case, Function, Inputs, Outcome, PartInfo, TaskCases, Text, Way, call


@dataclass(frozen=True)
class Part:
    """One aspect of a task, worth points: earned when every case that `draw` gives is answered rightly."""

    name: str
    points: float
    title: Text
    draw: Callable[[np.random.Generator], list[Inputs]]


@dataclass(frozen=True)
class Mistake:
    """A wrong implementation that people write, the hint for whoever wrote it, and the parts that it must lose."""

    function: Callable[..., Any]
    hint: Text
    loses: frozenset[str]

    @property
    def name(self) -> str:
        return self.function.__name__


@dataclass(frozen=True)
class Task:
    """A function or class to write. `name` is its name, its item's id in the gradebook, and the name in the check.

    `reference` is also the model solution: its signature and docstring are the stub that students get.
    """

    name: str
    reference: Callable[..., Any]
    parts: tuple[Part, ...]
    mistakes: tuple[Mistake, ...]
    right_answers: tuple[Callable[..., Any], ...]
    see: str  # label of the paragraph of the book that explains it
    rtol: float = 1e-5
    atol: float = 1e-6
    way: Way = PLAIN
    forbidden: tuple[str, ...] = ()  # dotted names of what an answer may not call
    seconds: float | None = None  # that a call may take; None: what the examiner gives to every call
    memory: int | None = None  # bytes by which a call may grow its process; None: as much as the room has

    @property
    def points(self) -> float:
        return sum(part.points for part in self.parts)

    def points_without(self, lost: Iterable[str]) -> float:
        """The points of an answer that loses the parts named."""
        lost = set(lost)
        return sum(part.points for part in self.parts if part.name not in lost)


@dataclass(frozen=True)
class Written:
    """An answer in words, marked by a person along the rubric."""

    name: str
    points: float
    model_answer: Text
    rubric: Text
    see: str


@dataclass(frozen=True)
class Bank:
    """The tasks of a problem set, in the order of its notebook.

    `modules` are what its notebooks import besides NumPy and Matplotlib, "torch" say: a room has them loaded before
    the first submission.
    """

    name: str
    tasks: tuple[Task, ...]
    written: tuple[Written, ...] = ()
    modules: tuple[str, ...] = ()

    def task(self, name: str) -> Task:
        """The task of that name; KeyError where there is none."""
        return {task.name: task for task in self.tasks}[name]

    @property
    def points(self) -> float:
        return sum(task.points for task in self.tasks) + sum(answer.points for answer in self.written)


def everywhere(parts: Iterable[Part]) -> frozenset[str]:
    """The names of all parts: what a mistake loses that shows in every case."""
    return frozenset(part.name for part in parts)


class BankError(Exception):
    """A bank that can't be used: what is wrong, and where."""


def variant(reference: Callable[..., Any], name: str, *edits: tuple[str, str]) -> Callable[..., Any]:
    """The reference with pieces of its source exchanged (old, new), under another name: a mistake shown by its lines.

    Errors: BankError where an old piece does not stand in the source exactly once.
    """
    keyword = "class" if isinstance(reference, type) else "def"
    source = re.sub(rf"^{keyword} {reference.__name__}\b", f"{keyword} {name}", source_of(reference), count=1)
    for old, new in edits:
        if source.count(old) != 1:
            raise BankError(
                f"{name}: {old!r} stands {source.count(old)} times in {reference.__name__}, not once."
            )
        source = source.replace(old, new)
    file = f"<{name}, a variant of {reference.__name__} in {reference.__module__}>"
    # inspect.getsource and tracebacks find the variant's lines as they find a file's.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    made: dict[str, Any] = {}
    exec(compile(source, file, "exec", dont_inherit=True), code_of(reference).__globals__, made)
    return cast("Callable[..., Any]", made[name])


def source_of(answer: Callable[..., Any]) -> str:
    """The source of a function or class; inspect finds no class of a file that was not imported by its name."""
    if not isinstance(answer, type):
        return textwrap.dedent(inspect.getsource(answer))
    lines = linecache.getlines(code_of(answer).__code__.co_filename)
    classes = [node for node in ast.parse("".join(lines)).body if isinstance(node, ast.ClassDef)]
    found = next(node for node in classes if node.name == answer.__name__)
    return "".join(lines[found.lineno - 1 : found.end_lineno])


def code_of(answer: Callable[..., Any]) -> FunctionType:
    """The function itself, or the first method of a class: what knows its file and its globals."""
    members = vars(answer).values() if isinstance(answer, type) else [answer]
    return next(member for member in members if isinstance(member, FunctionType))


def load_bank(folder: Path) -> Bank:
    """The BANK of `folder`/tasks.py."""
    path = folder / "tasks.py"
    spec = importlib.util.spec_from_file_location(f"tasks_of_{folder.name}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise BankError(f"{path} is missing: a problem set needs its bank of tasks there.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return _bank_of(module, str(path))


def load_bank_text(text: str, name: str) -> Bank:
    """The BANK of a problem set whose tasks.py is at hand as text alone: in a worker on another machine."""
    file = f"<tasks.py of {name}>"
    # inspect.getsource and tracebacks find its lines as they find a file's.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType(f"tasks_of_{name}")
    exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    return _bank_of(module, file)


def _bank_of(module: ModuleType, place: str) -> Bank:
    bank = getattr(module, "BANK", None)
    if not isinstance(bank, Bank):
        raise BankError(f"{place} must define BANK, a course_lib.grading.bank.Bank.")
    return bank


# Of a hidden check, each part is drawn so many times: what passes by luck once does not pass all.
ROUNDS = 3


def visible_cases(bank: Bank) -> list[TaskCases]:
    """The cases that students get: the same for everybody."""
    return [draw_cases(task, visible_seed(bank, task)) for task in bank.tasks]


def visible_seed(bank: Bank, task: Task) -> bytes:
    """What the cases that students get are drawn from."""
    return f"visible/{bank.name}/{task.name}".encode()


def hidden_cases(bank: Bank, task: Task, student: str, secret: bytes, *, site: str) -> TaskCases:
    """The cases that a student is graded on: unknown without the course's secret, the same in a regrade."""
    seed = hmac.digest(secret, f"{student}/{bank.name}/{task.name}".encode(), "sha256")
    return for_students(draw_cases(task, seed, rounds=ROUNDS), site)


def for_students(cases: TaskCases, site: str) -> TaskCases:
    """The cases as a student's answer is held against them: the book is at `site`, and the library may not be used.

    The room in which answers are graded has no library: what calls it would earn its points until then.
    """
    return replace(cases, site=site, forbidden=(*cases.forbidden, "course_lib"))


def draw_cases(task: Task, seed: bytes, *, rounds: int = 1) -> TaskCases:
    """Cases of every part, drawn anew from the seed, with what the reference and each mistake give for them.

    What a mistake gives for a case is computed when it is asked for: never, where an answer turns out to be right.
    """
    frame = TaskCases(
        name=task.name,
        signature=f"{task.name}{inspect.signature(task.reference)}",
        required=_required(task.reference),
        parts=tuple(PartInfo(part.name, part.points, part.title) for part in task.parts),
        hints={mistake.name: mistake.hint for mistake in task.mistakes},
        see=task.see,
        rtol=task.rtol,
        atol=task.atol,
        cases=(),
        way=task.way,
        forbidden=task.forbidden,
        memory=task.memory,
    )
    cases = [_case(frame, task, part, inputs) for part, inputs in draw_inputs(task, seed, rounds=rounds)]
    return replace(frame, cases=tuple(cases))


def draw_inputs(task: Task, seed: bytes, *, rounds: int = 1) -> Iterator[tuple[Part, Inputs]]:
    """The inputs of every case that `draw_cases` draws from the seed, each with its part."""
    numbers = np.frombuffer(hashlib.sha256(seed).digest(), dtype=np.uint32).tolist()
    for index, part in enumerate(task.parts):
        for round_ in range(rounds):
            for inputs in part.draw(np.random.default_rng([*numbers, index, round_])):
                yield part, inputs


def _case(frame: TaskCases, task: Task, part: Part, inputs: Inputs) -> Case:
    return Case(
        part=part.name,
        inputs=inputs,
        right=call(task.reference, frame.required, inputs, way=frame.way),
        mistakes=_Mistakes({mistake.name: mistake.function for mistake in task.mistakes}, frame, inputs),
    )


class _Mistakes(Mapping[str, Outcome]):
    """What each mistake gives for some inputs, computed once and when it is asked for."""

    def __init__(self, functions: dict[str, Function], frame: TaskCases, inputs: Inputs) -> None:
        self._functions, self._frame, self._inputs = functions, frame, inputs
        self._found: dict[str, Outcome] = {}

    def __getitem__(self, name: str) -> Outcome:
        if name not in self._found:
            frame = self._frame
            self._found[name] = call(
                self._functions[name], frame.required, self._inputs, way=frame.way, memory=frame.memory
            )
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


def _required(function: Callable[..., Any]) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty)
