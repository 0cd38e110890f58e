"""The file beside a notebook, `cases.npz`: written when a problem set is released, read by its checks."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.checks.cases import PLAIN, Case, Outcome, PartInfo, TaskCases, Text, way_of
from course_lib.checks.judging import alike, beginning_of, near

# Of the package around the checks. In the room where submissions run, they stand alone.
LIBRARY: str = getattr(sys.modules["course_lib"], "__version__", "")


@dataclass(frozen=True)
class CaseFile:
    """What lies beside a notebook: its tasks, the modules that it imports besides NumPy, the library that wrote it."""

    tasks: tuple[TaskCases, ...]
    modules: tuple[str, ...] = ()
    problem_set: str = ""
    library: str = LIBRARY


def save_cases(
    path: str | Path, tasks: Iterable[TaskCases], modules: Sequence[str] = (), problem_set: str = ""
) -> None:
    """Writes a CaseFile: one JSON text and, without pickle, one array of each dtype; equal arrays are kept once.

    Hundreds of members would take a notebook longer to read than all its checks.
    """
    entries: dict[str, list[np.ndarray]] = {}
    ends: dict[str, int] = {}
    places: dict[tuple[Any, ...], list[Any]] = {}

    def pack(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return {"value": value}
        name, key = value.dtype.name, (value.dtype.name, value.shape, value.tobytes())
        if key not in places:
            places[key] = [name, ends.get(name, 0), list(value.shape)]
            entries.setdefault(name, []).append(value.ravel())
            ends[name] = ends.get(name, 0) + value.size
        return {"array": places[key]}

    described = [_describe(task, pack) for task in tasks]
    about = {"library": LIBRARY, "modules": list(modules), "problem_set": problem_set}
    whole = {**about, "tasks": described}
    text = json.dumps(whole, ensure_ascii=False, sort_keys=True)
    arrays = {name: np.concatenate(values) for name, values in entries.items()}
    arrays["tasks"] = np.frombuffer(text.encode(), dtype=np.uint8)
    with Path(path).open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def read_cases(path: str | Path) -> CaseFile:
    """All that `save_cases` wrote. ValueError where the file is missing or damaged."""
    try:
        with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as arrays:
            described = json.loads(arrays["tasks"].tobytes())
            whole = {name: arrays[name] for name in arrays.files}
            tasks = _tasks_of(described, whole)
            modules, name = tuple(described["modules"]), described["problem_set"]
            return CaseFile(tasks, modules, name, described["library"])
    except FileNotFoundError:
        raise ValueError(
            f"{path} is missing: it belongs beside the notebook. Copy it from the exercise's folder again."
        ) from None
    except Exception as error:  # zipfile, zlib, NumPy and json each have their own for what is damaged
        raise ValueError(
            f"{path} can't be read ({type(error).__name__}). Copy it from the exercise's folder again."
        ) from error


def _tasks_of(described: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[TaskCases, ...]:
    """The tasks of a file; none where another library wrote them in a way that this one can't read."""
    try:
        return tuple(_restore(task, arrays) for task in described["tasks"])
    except Exception:
        if described["library"] == LIBRARY:
            raise
        return ()


def _describe(task: TaskCases, pack: Callable[[Any], Any]) -> dict[str, Any]:
    return {
        "name": task.name,
        "signature": task.signature,
        "required": list(task.required),
        "parts": [[part.name, part.points, part.title.ko, part.title.en] for part in task.parts],
        "hints": [[name, hint.ko, hint.en] for name, hint in task.hints.items()],
        "see": task.see,
        "tolerance": [task.rtol, task.atol],
        **({"way": asdict(task.way)} if task.way != PLAIN else {}),
        **({"forbidden": list(task.forbidden)} if task.forbidden else {}),
        **({"memory": task.memory} if task.memory is not None else {}),
        **({"site": task.site} if task.site else {}),
        "cases": [_describe_case(task, case, pack) for case in task.cases],
    }


def _describe_case(task: TaskCases, case: Case, pack: Callable[[Any], Any]) -> dict[str, Any]:
    mistakes = {
        name: (given, [_short(value, case.right.values, task) for value in given.values])
        for name, given in case.mistakes.items()
    }
    return {
        "part": case.part,
        "inputs": [[name, pack(value)] for name, value in case.inputs.items()],
        "right": _describe_outcome(case.right, case.right.values, pack),
        "mistakes": [[name, _describe_outcome(*given, pack)] for name, given in mistakes.items()],
    }


def _describe_outcome(
    given: Outcome, values: Iterable[np.ndarray], pack: Callable[[Any], Any]
) -> dict[str, Any]:
    """The outcome, with these values in the place of its own."""
    first, *more = [*map(pack, values)] or [pack(None)]
    described = {"value": first, "error": given.error, "changed": given.changed}
    described |= {"message": beginning} if (beginning := beginning_of(given)) else {}
    return {**described, "more": more} if more else described


def _short(value: np.ndarray, right: Iterable[np.ndarray], task: TaskCases) -> np.ndarray:
    """A right value, which is kept once, or half of the bytes: what is the same to a hundredth of the tolerance."""
    if value.dtype != np.float64:
        return value
    with np.errstate(all="ignore"):
        same = (
            short
            for short in (*right, value.astype(np.float32))
            if alike(value, short) and near(value, short, task.rtol / 100, task.atol / 100)
        )
        return next(same, value)


def _restore(task: dict[str, Any], arrays: dict[str, np.ndarray]) -> TaskCases:
    rtol, atol = task["tolerance"]
    return TaskCases(
        name=task["name"],
        signature=task["signature"],
        required=tuple(task["required"]),
        parts=tuple(PartInfo(name, points, Text(ko, en)) for name, points, ko, en in task["parts"]),
        hints={name: Text(ko, en) for name, ko, en in task["hints"]},
        see=task["see"],
        rtol=rtol,
        atol=atol,
        way=way_of(task.get("way", {})),
        forbidden=tuple(task.get("forbidden", [])),
        memory=task.get("memory"),
        site=task.get("site", ""),
        cases=tuple(_restore_case(case, arrays) for case in task["cases"]),
    )


def _restore_case(case: dict[str, Any], arrays: dict[str, np.ndarray]) -> Case:
    return Case(
        part=case["part"],
        inputs={name: _unpack(value, arrays) for name, value in case["inputs"]},
        right=_restore_outcome(case["right"], arrays),
        mistakes={name: _restore_outcome(given, arrays) for name, given in case["mistakes"]},
    )


def _restore_outcome(given: dict[str, Any], arrays: dict[str, np.ndarray]) -> Outcome:
    return Outcome(
        value=_unpack(given["value"], arrays),
        error=given["error"],
        changed=given["changed"],
        message=given.get("message", ""),
        more=tuple(_unpack(value, arrays) for value in given.get("more", [])),
    )


def _unpack(packed: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    if "array" not in packed:
        return packed["value"]
    name, start, shape = packed["array"]
    return arrays[name][start : start + math.prod(shape)].reshape(shape)
