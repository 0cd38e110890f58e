"""The bank of a problem set: each task as one object, from which checks, kits, diagnosis and tests are derived."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.checks import Text

Inputs = dict[str, Any]


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
    """A function to write. `name` is its name, its item's id in the gradebook, and the name in the check.

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
    name: str
    tasks: tuple[Task, ...]
    written: tuple[Written, ...] = ()

    def task(self, name: str) -> Task:
        """The task of that name; KeyError where there is none."""
        return {task.name: task for task in self.tasks}[name]

    @property
    def points(self) -> float:
        return sum(item.points for item in (*self.tasks, *self.written))
