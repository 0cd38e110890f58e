"""What a check knows of a task, as data and never code: its parts, its cases, and what each call of them gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
Inputs = dict[str, Any]

# Errors of outcomes that are no exceptions of the author's code.
NOT_CALLABLE = "NotCallable"
NOT_DEFINED = "NotDefined"
WRONG_SIGNATURE = "WrongSignature"
STOPPED = "stopped "
RETURNED = "returned "  # what came back follows


@dataclass(frozen=True)
class Text:
    """A text in the languages of the course."""

    ko: str
    en: str

    def in_language(self, language: str) -> str:
        return self.en if language == "en" else self.ko


@dataclass(frozen=True)
class Outcome:
    """What a call gave: a value, or the name of an exception; and whether it changed its inputs.

    `more` are the further values where there are several: results, then gradients.
    """

    value: np.ndarray | None = None
    error: str | None = None
    changed: bool = False
    message: str = ""  # the error's own words, which may quote the inputs
    line: str = ""  # the line of the author's own code at which it came
    more: tuple[np.ndarray, ...] = ()

    @property
    def values(self) -> tuple[np.ndarray, ...]:
        return () if self.value is None else (self.value, *self.more)


@dataclass(frozen=True)
class Way:
    """How a case reaches what its author wrote, as data: a call of a function unless more is said.

    A class (`kind`) is built with the inputs in `build`, takes those in `state` as its parameters (by name, "out.bias"
    say), and is then called, or its `method` is, with the others in their order. With `torch` arrays arrive as tensors.
    `results` is how many come back. The gradients of sum(cos(i) * results_i) with respect to the inputs in `gradients`
    are further results.
    """

    kind: str = "function"
    build: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    method: str = ""
    torch: bool = False
    results: int = 1
    gradients: tuple[str, ...] = ()


PLAIN = Way()


def way_of(described: dict[str, Any]) -> Way:
    """The way that `dataclasses.asdict` and JSON made these values of."""
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in described.items()
    }
    return Way(**values)


@dataclass(frozen=True)
class Case:
    """Inputs of one call, and the outcome of the right answer and of each named mistake."""

    part: str
    inputs: Inputs
    right: Outcome
    mistakes: Mapping[str, Outcome]


@dataclass(frozen=True)
class PartInfo:
    """A part of a task as its check sees it: a name, its points, and what its author reads."""

    name: str
    points: float
    title: Text


@dataclass(frozen=True)
class TaskCases:
    """All that a check of one task needs to know."""

    name: str
    signature: str
    required: tuple[str, ...]  # passed by position, so that their names are the student's own
    parts: tuple[PartInfo, ...]
    hints: dict[str, Text]
    see: str
    rtol: float
    atol: float
    cases: tuple[Case, ...]
    way: Way = PLAIN
    forbidden: tuple[str, ...] = ()  # functions, classes and packages that it may not use, by dotted name
    memory: int | None = None  # bytes that a call may hold at once beyond its inputs
    site: str = ""  # the address of the book, with a slash at its end, where it is published

    @property
    def points(self) -> float:
        return sum(part.points for part in self.parts)
