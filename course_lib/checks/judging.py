"""Decides what the outcomes of a task's cases earn, and which named mistake explains what they lose."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.checks.calling import call, one_thread
from course_lib.checks.cases import Case, Function, Outcome, PartInfo, TaskCases

# Raised by so many causes that the name alone tells no mistake from another.
_OF_MANY_CAUSES = (
    "AttributeError",
    "IndexError",
    "LinAlgError",
    "NoGradient",
    "RuntimeError",
    "TypeError",
    "ValueError",
)


@dataclass(frozen=True)
class PartVerdict:
    """Whether a part is earned; if not, the case and outcome that fail first, and the mistake that explains them."""

    part: PartInfo
    failed: Case | None = None
    outcome: Outcome | None = None
    mistake: str | None = None

    @property
    def earned(self) -> bool:
        return self.failed is None


@dataclass(frozen=True)
class Verdict:
    """What a check decided of each part of a task."""

    task: TaskCases
    parts: tuple[PartVerdict, ...]

    @property
    def points(self) -> float:
        return sum(verdict.part.points for verdict in self.parts if verdict.earned)

    @property
    def mistakes(self) -> list[str]:
        """The named mistakes that explain the lost parts, each once."""
        return list(dict.fromkeys(verdict.mistake for verdict in self.parts if verdict.mistake))


def judge(task: TaskCases, function: Function, ask: Callable[..., Outcome] = call) -> Verdict:
    """Calls the function on every case, or asks what `call` would give in this other way, and decides each part."""
    with one_thread():
        outcomes = [
            ask(
                function,
                task.required,
                case.inputs,
                way=task.way,
                forbidden=task.forbidden,
                memory=task.memory if number else None,  # the first call may load a library
            )
            for number, case in enumerate(task.cases)
        ]
        return decide(task, outcomes)


def decide(task: TaskCases, outcomes: Sequence[Outcome]) -> Verdict:
    """What the outcomes of all cases, in their order, earn."""
    pairs = list(zip(task.cases, outcomes, strict=True))
    everywhere = _explaining(task, pairs)
    failing: dict[str, list[tuple[Case, Outcome]]] = {part.name: [] for part in task.parts}
    for case, outcome in pairs:
        if not _agree(task, case.right, outcome):
            failing[case.part].append((case, outcome))
    return Verdict(task, tuple(_judge_part(task, part, failing, everywhere, pairs) for part in task.parts))


def agree(first: Outcome, second: Outcome, *, rtol: float, atol: float) -> bool:
    """Whether two outcomes are the same: the same exception, or arrays of one shape and kind, close in value."""
    if first.changed != second.changed or not _same_error(first, second):
        return False
    pairs = list(zip(first.values, second.values, strict=False))
    with np.errstate(all="ignore"):  # the largest numbers differ by more than there is
        return len(first.values) == len(second.values) and all(
            alike(one, other) and near(one, other, rtol, atol) for one, other in pairs
        )


def beginning_of(outcome: Outcome) -> str:
    """How the error's words begin, up to what depends on the inputs; empty for an error whose name says enough."""
    return re.split(r"\d", outcome.message)[0][:20] if outcome.error in _OF_MANY_CAUSES else ""


def alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Of one shape, and both booleans or both numbers."""
    return one.shape == other.shape and (one.dtype == bool) == (other.dtype == bool)


def near(one: np.ndarray, other: np.ndarray, rtol: float, atol: float) -> bool:
    """What np.allclose says, NaN being equal to itself."""
    if one.dtype.kind == other.dtype.kind == "f":
        # Most values are finite and close, or not: that is seen in a quarter of the time.
        distance = np.abs(one - other)
        if (distance <= atol + rtol * np.abs(other)).all() and np.isfinite(distance).all():
            return True
        if np.isfinite(distance).all() and np.isfinite(other).all():
            return False
    return np.allclose(one, other, rtol=rtol, atol=atol, equal_nan=True)


def _judge_part(
    task: TaskCases,
    part: PartInfo,
    failing: dict[str, list[tuple[Case, Outcome]]],
    everywhere: list[str],
    pairs: list[tuple[Case, Outcome]],
) -> PartVerdict:
    here = failing[part.name]
    if not here:
        return PartVerdict(part)
    if everywhere:
        return PartVerdict(part, *here[0], mistake=everywhere[0])
    foreign = {name for name, lost in failing.items() if _is_something_else(task, lost)}
    weights = {mistake: _weight(task, mistake, pairs, foreign) for mistake in _explaining(task, here)}
    likely = [mistake for mistake, weight in weights.items() if weight > 0]
    return PartVerdict(part, *here[0], mistake=max(likely, key=weights.__getitem__, default=None))


def _is_something_else(task: TaskCases, lost: list[tuple[Case, Outcome]]) -> bool:
    """Whether a part's lost cases hold wrong numbers that no named mistake explains."""
    wrong = any(_has_wrong_numbers(task, case.right, outcome) for case, outcome in lost)
    return wrong and not _explaining(task, lost)


def _weight(task: TaskCases, mistake: str, pairs: list[tuple[Case, Outcome]], foreign: set[str]) -> float:
    """How much the cases speak for a mistake that explains a part: parts lost by it, less those lost otherwise.

    Errors, NaN and 0 come of many causes: where nothing else agrees, each part that it would lose and that is right
    speaks against it, and so does each that it would earn and that ends in an error; against NaN and 0 alone, also
    each `foreign` part, whose wrong numbers nothing explains. Of several that explain them alike, the one that would
    show in the fewest right cases wins.
    """
    fit: dict[str, bool] = {}
    spared: list[str] = []
    broken: list[str] = []
    telling = by_errors = False
    for case, outcome in pairs:
        expected = case.mistakes[mistake]
        if _agree(task, case.right, expected):
            broken += [case.part] * bool(outcome.error)
        elif _agree(task, case.right, outcome):
            spared.append(case.part)
        else:
            fits = _agree(task, expected, outcome)
            fit[case.part] = fit.get(case.part, False) or fits
            telling = telling or (fits and _has_wrong_numbers(task, case.right, outcome))
            by_errors = by_errors or (fits and bool(outcome.error))
    others = {*spared, *broken, *([] if by_errors else foreign)} - fit.keys()
    against = 0 if telling else len(others)
    return sum(1 if fits else -1 for fits in fit.values()) - against - len(spared) / (len(pairs) + 1) / 4


def _has_wrong_numbers(task: TaskCases, right: Outcome, outcome: Outcome) -> bool:
    """Whether something else than errors, NaN, infinities and zeros tells the outcome from the right one."""
    return any(
        got.shape != expected.shape
        or not near(np.where(np.isfinite(got) & (got != 0), got, expected), expected, task.rtol, task.atol)
        for got, expected in zip(outcome.values, right.values, strict=False)
    )


def _explaining(task: TaskCases, pairs: list[tuple[Case, Outcome]]) -> list[str]:
    """The mistakes that give just these outcomes in all of these cases, and are wrong in one of them."""
    if all(_agree(task, case.right, outcome) for case, outcome in pairs):
        return []
    return [
        name
        for name in task.hints
        if all(_agree(task, case.mistakes[name], outcome) for case, outcome in pairs)
    ]


def _agree(task: TaskCases, first: Outcome, second: Outcome) -> bool:
    return agree(first, second, rtol=task.rtol, atol=task.atol)


def _same_error(first: Outcome, second: Outcome) -> bool:
    """By name; and by how the errors begin, where that is known of both."""
    beginnings = {beginning_of(outcome) for outcome in (first, second)} - {""}
    return first.error == second.error and len(beginnings) <= 1
