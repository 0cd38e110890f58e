"""Whether a folder of an exercise still is what the solutions give."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from course_lib.checks import Case, Outcome, TaskCases, read_cases

# Outputs are computed with whatever BLAS the machine has; inputs and texts are the same everywhere.
_RTOL = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-9}
_ATOL = 1e-12  # below it lies what is left of a saturated Softmax


def differences(fresh: Path, ours: Path) -> Iterator[str]:
    """What differs in `ours` from the newly derived folder `fresh`, as ends of sentences about `ours`."""
    paths = [path for folder in (fresh, ours) if folder.is_dir() for path in folder.iterdir()]
    # The wheel is made anew by each release, and is not in version control.
    names = {path.name for path in paths if path.suffix != ".whl"}
    for name in sorted(names - {".ipynb_checkpoints"}):
        if not (ours / name).is_file():
            yield f"/{name} is missing"
        elif not (fresh / name).is_file():
            yield f"/{name} does not belong there"
        elif not _same(fresh / name, ours / name):
            yield f"/{name} is stale"


def keep_same(fresh: Path, ours: Path) -> None:
    """Puts our file in the place of each fresh one that is the same: last digits are another machine's, no change."""
    for path in fresh.iterdir() if fresh.is_dir() else ():
        if (ours / path.name).is_file() and _same(path, ours / path.name):
            shutil.copyfile(ours / path.name, path)


def _same(fresh: Path, ours: Path) -> bool:
    if fresh.suffix != ".npz":
        return fresh.read_bytes() == ours.read_bytes()
    try:
        one, other = read_cases(fresh), read_cases(ours)
    except ValueError:
        return False
    return replace(one, tasks=()) == replace(other, tasks=()) and same_cases(one.tasks, other.tasks)


def same_cases(first: Sequence[TaskCases], second: Sequence[TaskCases]) -> bool:
    """Whether two files hold the same cases: inputs and texts exactly, outputs to the last digits of a BLAS."""
    if [replace(task, cases=()) for task in first] != [replace(task, cases=()) for task in second]:
        return False
    pairs = [(one.cases, other.cases) for one, other in zip(first, second, strict=True)]
    return all(len(a) == len(b) and all(map(_same_case, a, b)) for a, b in pairs)


def _same_case(one: Case, other: Case) -> bool:
    if (
        one.part != other.part
        or list(one.inputs) != list(other.inputs)
        or list(one.mistakes) != list(other.mistakes)
    ):
        return False
    return (
        all(_identical(one.inputs[name], other.inputs[name]) for name in one.inputs)
        and _close(one.right, other.right)
        and all(_close(one.mistakes[name], other.mistakes[name]) for name in one.mistakes)
    )


def _identical(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


def _close(one: Outcome, other: Outcome) -> bool:
    if (one.error, one.changed, len(one.values)) != (other.error, other.changed, len(other.values)):
        return False
    return all(map(_same_but_for_last_digits, one.values, other.values))


def _same_but_for_last_digits(one: np.ndarray, other: np.ndarray) -> bool:
    """Where large terms cancel, the digits of the terms differ: the largest entry is the measure."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if (rtol := _RTOL.get(one.dtype.name)) is None:
        return np.array_equal(one, other)
    largest = np.max(np.abs(one), where=np.isfinite(one), initial=0)
    return np.allclose(one, other, rtol=rtol, atol=max(rtol * float(largest), _ATOL), equal_nan=True)
