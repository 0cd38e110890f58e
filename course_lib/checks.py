"""Holds a student's function against cases, and names the mistake that it makes.

A case is data, never code: inputs, and what the right answer and each named mistake give for them. The same
comparison serves the check in the notebook (`load`) and the hidden one at grading.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import json
import linecache
import math
import re
import sys
import textwrap
import traceback
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

# Of the package around this module. In the room where submissions run, this module stands alone.
LIBRARY: str = getattr(sys.modules["course_lib"], "__version__", "")

Function = Callable[..., Any]
Inputs = dict[str, Any]


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


class ForbiddenCall(Exception):
    """A task asks for what this call would do."""


class TooMuchMemory(Exception):
    """A call held more memory at once than its task allows."""


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
    forbidden: tuple[
        str, ...
    ] = ()  # dotted names of functions and classes, and packages, that it may not use
    memory: int | None = None  # bytes that a call may hold at once beyond its inputs
    site: str = ""  # the address of the book, with a slash at its end, where it is published

    @property
    def points(self) -> float:
        return sum(part.points for part in self.parts)


@dataclass(frozen=True)
class CaseFile:
    """What lies beside a notebook: its tasks, the modules that it imports besides NumPy, the library that wrote it."""

    tasks: tuple[TaskCases, ...]
    modules: tuple[str, ...] = ()
    problem_set: str = ""
    library: str = LIBRARY


class NotInPlace(ValueError):
    """What a notebook needs is missing. IPython shows the sentence, and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


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


def load(path: str | Path = "cases.npz", language: str = "ko", problem_set: str = "") -> Checker:
    """The checks of a problem set, from the file beside its notebook; says in one line whether all is in place.

    Errors: NotInPlace where the file is missing, damaged, or that of another problem set than the one named.
    """
    if language not in _SAY:
        raise ValueError(f"language must be one of {', '.join(_SAY)}: it is {language!r}")
    say = _SAY[language]
    try:
        file = read_cases(path)
    except ValueError as error:
        lacking = "damaged" if Path(path).is_file() else "missing"
        raise NotInPlace(say[lacking].format(path=path, folder=Path(path).absolute().parent)) from error
    if problem_set and file.problem_set != problem_set:
        raise NotInPlace(say["other_set"].format(path=path, found=file.problem_set, needed=problem_set))
    print(_in_place(file, say))
    return Checker({task.name: task for task in file.tasks}, language)


@dataclass(frozen=True)
class Checker:
    """`check("scores", scores)` prints what holds and what does not, and returns the points of what holds.

    In a notebook's graded cell that number is what `nbgrader validate` reads. `failing` keeps, by task, the inputs on
    which the function failed first.
    """

    tasks: dict[str, TaskCases]
    language: str = "ko"
    failing: dict[str, Inputs] = field(default_factory=dict)

    def __call__(self, task: str, function: Function) -> float:
        if task not in self.tasks:
            raise NotInPlace(_SAY[self.language]["no_task"].format(task=task, tasks=", ".join(self.tasks)))
        verdict = judge(self.tasks[task], function)
        print(report(verdict, self.language))
        self.failing.pop(task, None)
        failed = next((part.failed for part in verdict.parts if part.failed), None)
        if failed and _was_written(verdict) and verdict.task.way.kind == "function":
            given = {name: _copy(value) for name, value in failed.inputs.items()}
            self.failing[task] = _Call(function, (), given, verdict.task.way).given
            print(f'  {_SAY[self.language]["try"]}: {task}(**check.failing["{task}"])')
        return float(verdict.points)


def judge(task: TaskCases, function: Function) -> Verdict:
    """Calls the function on every case, and decides each part."""
    with _one_thread():
        outcomes = [
            call(
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


def call(
    function: Function,
    required: Sequence[str],
    inputs: Inputs,
    *,
    way: Way = PLAIN,
    forbidden: Sequence[str] = (),
    memory: int | None = None,
) -> Outcome:
    """The outcome of one call on copies of the inputs, of which `required` are passed by position.

    Warnings and output on stderr cost nothing. A call of what is `forbidden` raises ForbiddenCall, and one that holds
    more than `memory` bytes at once TooMuchMemory: an estimate, from what Python and NumPy ask for in this process.
    """
    if not callable(function):
        return Outcome(error=NOT_CALLABLE, message=type(function).__name__)
    given = {name: _copy(value) for name, value in inputs.items()}
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), _forbidding(forbidden):
            warnings.simplefilter("ignore")
            with _within(memory):
                results = _Call(function, required, given, way).results()
            values = [_as_array(result) for result in results]
    except Exception as error:
        return Outcome(
            error=WRONG_SIGNATURE if _never_began(error) else type(error).__name__,
            changed=_differ(given, inputs),
            message=str(error),
            line=_line_of(error, function),
        )
    odd = [result for result, value in zip(results, values, strict=True) if value is None]
    if odd:
        return Outcome(error=_not_an_array(odd[0]), changed=_differ(given, inputs))
    first, *more = [value for value in values if value is not None]
    return Outcome(value=first, changed=_differ(given, inputs), more=tuple(more))


class _Call:
    """One call along its way."""

    def __init__(self, function: Function, required: Sequence[str], given: Inputs, way: Way) -> None:
        self.function, self.required, self.way = function, required, way
        self.given = {name: self._prepared(name, value) for name, value in given.items()}

    def results(self) -> list[Any]:
        """The results, then the gradients."""
        result = self._ask_class() if self.way.kind == "class" else self._ask_function()
        if self.way.results == 1:
            results = [result]
        elif isinstance(result, (tuple, list)) and len(result) == self.way.results:
            results = list(result)
        else:
            return [_Odd("None" if result is None else type(result).__name__)]
        return results + self._gradients(results) if self.way.gradients else results

    def _prepared(self, name: str, value: Any) -> Any:
        if not self.way.torch or not isinstance(value, np.ndarray):
            return value
        tensor = importlib.import_module("torch").from_numpy(value)
        return tensor.requires_grad_() if name in self.way.gradients else tensor

    def _ask_function(self) -> Any:
        named = {name: value for name, value in self.given.items() if name not in self.required}
        return self.function(*(self.given[name] for name in self.required), **named)

    def _ask_class(self) -> Any:
        built = self.function(**{name: self.given[name] for name in self.way.build})
        state = {name: self.given[name] for name in self.way.state}
        if hasattr(built, "load_state_dict"):
            built.load_state_dict(state)
            self.given.update((name, built.get_parameter(name)) for name in state)
        else:
            for name, value in state.items():
                setattr(built, name, value)
        others = [self.given[n] for n in self.given if n not in (*self.way.build, *self.way.state)]
        return (getattr(built, self.way.method) if self.way.method else built)(*others)

    def _gradients(self, results: list[Any]) -> list[Any]:
        torch = importlib.import_module("torch")
        total = sum(
            (result * torch.cos(torch.arange(result.numel(), dtype=result.dtype)).reshape(result.shape)).sum()
            for result in results
        )
        wanted = [self.given[name] for name in self.way.gradients]
        return list(torch.autograd.grad(total, wanted, allow_unused=True))


class _Odd:
    """Stands for a result that is not so many as were asked for."""

    def __init__(self, name: str) -> None:
        self.name = name


@contextlib.contextmanager
def _forbidding(names: Sequence[str]) -> Iterator[None]:
    """Calls of these functions, and of any of a package, raise. A deterrent: who looks for another way finds it."""
    codes: dict[Any, str] = {}
    packages = [name for name in names if "." not in name]
    for name in names:
        module, _, attribute = name.rpartition(".")
        if module in sys.modules:  # what is not loaded is not called
            found = getattr(sys.modules[module], attribute)
            found = getattr(found, "forward", found)  # a module of torch is used by calling it
            found = getattr(found, "__wrapped__", found)
            codes[getattr(found, "__code__", found)] = name
    if not codes and not packages:
        yield
        return

    def watch(frame: Any, event: str, called: Any) -> None:
        """Is called at every step of whatever runs, an import as well, so it does no more than it must."""
        if event == "call":
            module = str(frame.f_globals.get("__name__"))
            if module.partition(".")[0] in packages and module != __name__:
                raise ForbiddenCall(module.partition(".")[0])
            called = frame.f_code
        elif event != "c_call":
            return
        try:
            name = codes.get(called)
        except TypeError:  # what can't be hashed
            return
        if name:
            raise ForbiddenCall(name)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """With several, Torch's threads wait for one another ten times as long as calls so small take."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _within(memory: int | None) -> Iterator[None]:
    if memory is None:
        yield
        return
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        yield
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        if not traced:
            tracemalloc.stop()
    if peak > memory:
        raise TooMuchMemory(f"{peak / 2**20:.1f} MiB > {memory / 2**20:.1f} MiB")


def agree(first: Outcome, second: Outcome, *, rtol: float, atol: float) -> bool:
    """Whether two outcomes are the same: the same exception, or arrays of one shape and kind, close in value."""
    if first.changed != second.changed or not _same_error(first, second):
        return False
    pairs = list(zip(first.values, second.values, strict=False))
    with np.errstate(all="ignore"):  # the largest numbers differ by more than there is
        return len(first.values) == len(second.values) and all(
            _alike(one, other) and _near(one, other, rtol, atol) for one, other in pairs
        )


def _same_error(first: Outcome, second: Outcome) -> bool:
    """By name; and by how the errors begin, where that is known of both."""
    beginnings = {beginning_of(outcome) for outcome in (first, second)} - {""}
    return first.error == second.error and len(beginnings) <= 1


def beginning_of(outcome: Outcome) -> str:
    """How the error's words begin, up to what depends on the inputs; empty for an error whose name says enough."""
    return re.split(r"\d", outcome.message)[0][:20] if outcome.error in _OF_MANY_CAUSES else ""


def _near(one: np.ndarray, other: np.ndarray, rtol: float, atol: float) -> bool:
    """What np.allclose says, NaN being equal to itself."""
    if one.dtype.kind == other.dtype.kind == "f":
        # Most values are finite and close, or not: that is seen in a quarter of the time.
        distance = np.abs(one - other)
        if (distance <= atol + rtol * np.abs(other)).all() and np.isfinite(distance).all():
            return True
        if np.isfinite(distance).all() and np.isfinite(other).all():
            return False
    return np.allclose(one, other, rtol=rtol, atol=atol, equal_nan=True)


def report(verdict: Verdict, language: str, *, hidden: bool = False) -> str:
    """The verdict for its author to read. With `hidden`, nothing of the inputs or values shows."""
    say, task = _SAY[language], verdict.task
    lines = [f"{task.name}: {verdict.points:g} / {_points(task.points, say)}"]
    uncalled = next((p.outcome for p in verdict.parts if p.outcome and p.outcome.error == NOT_CALLABLE), None)
    if uncalled:
        return "\n".join(
            [*lines, f"  {say[_WRITTEN[task.way.kind]].format(name=task.name, got=uncalled.message)}"]
        )
    if any(part.outcome and part.outcome.error == NOT_DEFINED for part in verdict.parts):
        return "\n".join([*lines, f"  {say['undefined'].format(name=task.name)}"])
    if all(part.outcome and part.outcome.error == "NotImplementedError" for part in verdict.parts):
        return "\n".join([*lines, f"  {say['unwritten'].format(signature=task.signature)}"])
    for part in verdict.parts:
        title = part.part.title.in_language(language)
        lines.append(f"  {'✓' if part.earned else '✗'} {title} ({_points(part.part.points, say)})")
        if not part.earned:
            new = [f"      {line}" for line in _differences(part, say, hidden, task)]
            unsaid = _unsaid(new, lines, say)
            lines += unsaid or [f"      {say['again']}"] * bool(new)
    for mistake in verdict.mistakes:
        lines.append(f"  → {say['mistake']}: {task.hints[mistake].in_language(language)}")
    if verdict.points < task.points:
        lines.append(f"  {say['see']}: {_address(task, language)}")
    return "\n".join(lines)


def _was_written(verdict: Verdict) -> bool:
    """Whether there is a function, and no stub of one."""
    errors = {part.outcome.error for part in verdict.parts if part.outcome}
    return NOT_CALLABLE not in errors and errors != {"NotImplementedError"}


def _points(points: float, say: dict[str, str]) -> str:
    return say["point" if points == 1 else "points"].format(points=points)


def _address(task: TaskCases, language: str) -> str:
    return f"{task.site}{_PAGES[language]}{task.see}" if task.site else task.see


def _in_place(file: CaseFile, say: dict[str, str]) -> str:
    """The line about the versions that are there, or about the first thing that is not as it should be."""
    if LIBRARY and file.library != LIBRARY:
        return say["other_library"].format(needed=file.library, found=LIBRARY)
    found = {module: _version(module) for module in file.modules}
    if not all(found.values()):
        return say["no_module"].format(name=next(name for name, there in found.items() if not there))
    count = len(file.tasks)
    versions = {"course_lib": LIBRARY, "NumPy": np.__version__, **found}
    listed = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    tasks = say["task" if count == 1 else "tasks"].format(count=count)
    return say["ready"].format(tasks=tasks, versions=listed)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def way_of(described: dict[str, Any]) -> Way:
    """The way that `dataclasses.asdict` and JSON made these values of."""
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in described.items()
    }
    return Way(**values)


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


def load_cases(path: str | Path) -> list[TaskCases]:
    """The tasks that `save_cases` wrote. ValueError where the file is missing or damaged."""
    return list(read_cases(path).tasks)


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
    except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} can't be read ({type(error).__name__}). Copy it from the exercise's folder again."
        ) from error


def _tasks_of(described: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[TaskCases, ...]:
    """The tasks of a file; none where another library wrote them in a way that this one can't read."""
    try:
        return tuple(_restore(task, arrays) for task in described["tasks"])
    except (KeyError, TypeError, ValueError):
        if described["library"] == LIBRARY:
            raise
        return ()


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
    weights = {mistake: _weight(task, mistake, pairs) for mistake in _explaining(task, here)}
    likely = [mistake for mistake, weight in weights.items() if weight > 0]
    return PartVerdict(part, *here[0], mistake=max(likely, key=weights.__getitem__, default=None))


def _weight(task: TaskCases, mistake: str, pairs: list[tuple[Case, Outcome]]) -> float:
    """How much the cases speak for a mistake that explains a part: parts lost by it, less those lost otherwise.

    Where several mistakes explain them alike, the one wins that would show in the fewest cases that are right.
    """
    fit: dict[str, bool] = {}
    spared = 0
    for case, outcome in pairs:
        expected = case.mistakes[mistake]
        if _agree(task, case.right, expected):
            continue
        if _agree(task, case.right, outcome):
            spared += 1
        else:
            fit[case.part] = fit.get(case.part, False) or _agree(task, expected, outcome)
    return sum(1 if fits else -1 for fits in fit.values()) - spared / (len(pairs) + 1)


def _explaining(task: TaskCases, pairs: list[tuple[Case, Outcome]]) -> list[str]:
    """The mistakes that give just these outcomes in all of these cases, and are wrong in one of them."""
    if all(_agree(task, case.right, outcome) for case, outcome in pairs):
        return []
    return [
        name
        for name in task.hints
        if all(_agree(task, case.mistakes[name], outcome) for case, outcome in pairs)
    ]


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and (one.dtype == bool) == (other.dtype == bool)


def _agree(task: TaskCases, first: Outcome, second: Outcome) -> bool:
    return agree(first, second, rtol=task.rtol, atol=task.atol)


def _as_array(result: Any) -> np.ndarray | None:
    """The result as numbers or booleans, from whatever array library; None where it is something else."""
    if result is None:
        return None
    if hasattr(result, "detach"):  # a Torch tensor, which may carry a gradient or lie on a GPU
        result = result.detach().cpu()
    try:
        value = np.asarray(result)
    except (TypeError, ValueError):
        return None
    return np.array(value) if value.dtype.kind in "biuf" else None


def _copy(value: Any) -> Any:
    return value.copy(order="K") if isinstance(value, np.ndarray) else copy.deepcopy(value)


def _not_an_array(result: Any) -> str:
    if isinstance(result, _Odd):
        return RETURNED + result.name
    return RETURNED + ("None" if result is None else type(result).__name__)


def _differ(given: Inputs, inputs: Inputs) -> bool:
    arrays = [name for name, value in inputs.items() if isinstance(value, np.ndarray)]
    return any(
        given[name].shape != inputs[name].shape or given[name].tobytes() != inputs[name].tobytes()
        for name in arrays
    )


def _line_of(error: BaseException, function: Function) -> str:
    """The last line of the author's own code that the error passed through."""
    members = vars(function).values() if isinstance(function, type) else [function]
    files = {getattr(getattr(member, "__code__", None), "co_filename", None) for member in members} - {None}
    places = [(frame.f_code.co_filename, number) for frame, number in traceback.walk_tb(error.__traceback__)]
    own = [linecache.getline(name, number).strip() for name, number in places if name in files]
    return own[-1] if own else ""


def _never_began(error: Exception) -> bool:
    """Whether the arguments of a call did not fit, so that no line of the function has run."""
    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    return (
        isinstance(error, TypeError)
        and "argument" in str(error)
        and set(frames) == {_never_began.__code__.co_filename}
    )


def _differences(part: PartVerdict, say: dict[str, str], hidden: bool, task: TaskCases) -> list[str]:
    assert part.failed is not None
    assert part.outcome is not None
    outcome, right = part.outcome, part.failed.right
    if outcome.value is None:
        return _no_value(outcome, say, hidden, task)
    if outcome.changed and not right.changed:
        return [say["changed"]]
    if hidden or right.value is None:
        return []
    given = ", ".join(f"{name} {_brief(value)}" for name, value in part.failed.inputs.items())
    return [f"{say['inputs']} {given}", *_values_differ(outcome, right, say, task)]


def _values_differ(outcome: Outcome, right: Outcome, say: dict[str, str], task: TaskCases) -> list[str]:
    """What the first value that differs has otherwise; of several values, which one that is."""
    for index, (got, expected) in enumerate(zip(outcome.values, right.values, strict=False)):
        which = _which(index, say, task.way)
        if got.shape != expected.shape:
            return [which + say["shape"].format(expected=expected.shape, got=got.shape)]
        if not _alike(got, expected):
            return [which + say["dtype"].format(expected=expected.dtype, got=got.dtype)]
        with np.errstate(all="ignore"):
            close = np.isclose(expected, got, rtol=task.rtol, atol=task.atol, equal_nan=True)
        if not close.all():
            return [which + _first_difference(got, expected, close, say)]
    return []


def _which(index: int, say: dict[str, str], way: Way) -> str:
    """Begins the sentence about a value: nothing where there is only one."""
    if index >= way.results:
        return say["gradient"].format(name=way.gradients[index - way.results]) + " "
    return say["result"].format(number=index + 1) + " " if way.results > 1 else ""


def _unsaid(new: list[str], lines: list[str], say: dict[str, str]) -> list[str]:
    """What fails alike in several parts is said once, and inputs not without what came of them."""
    unsaid = [line for line in new if line not in lines]
    inputs_alone = len(unsaid) == 1 < len(new) and unsaid[0].lstrip().startswith(say["inputs"])
    return [] if inputs_alone else unsaid


def _no_value(outcome: Outcome, say: dict[str, str], hidden: bool, task: TaskCases) -> list[str]:
    error = str(outcome.error)
    if error == WRONG_SIGNATURE:
        message = "" if hidden or not outcome.message else f" ({_words(outcome)})"
        return [say["signature"].format(signature=task.signature) + message]
    if error.startswith(RETURNED):
        wanted = "returned" if task.way.results == 1 else "returned_several"
        return [say[wanted].format(got=error.removeprefix(RETURNED), count=task.way.results)]
    if error == ForbiddenCall.__name__:
        return [say["forbidden"].format(name=outcome.message)]
    if error == TooMuchMemory.__name__:
        sizes = say["estimate"].format(sizes=outcome.message) if outcome.message and not hidden else ""
        return [say["memory"].format(sizes=sizes)]
    message = "" if hidden or not outcome.message else f": {_words(outcome)}"
    return [f"{say['raised']} {error}{message}", *([f"    {outcome.line}"] if outcome.line else [])]


def _words(outcome: Outcome) -> str:
    """The error's own words in one line."""
    return textwrap.shorten(outcome.message, 300, placeholder=" …")


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return str(value.shape)
    return f"= {value:.6g}" if isinstance(value, float) else f"= {value}"


def _first_difference(got: np.ndarray, expected: np.ndarray, close: np.ndarray, say: dict[str, str]) -> str:
    index = tuple(int(i) for i in np.argwhere(~close)[0])
    numbers = _numbers(expected[index], got[index])
    where = say["entry"].format(index=list(index)) if index else ""
    return where + say["numbers"].format(expected=numbers[0], got=numbers[1])


def _numbers(*values: Any) -> list[str]:
    """The values with six digits, or as many as it takes to tell them apart."""
    shown = [[_number(value, digits) for value in values] for digits in (6, 9, 17)]
    return next((texts for texts in shown if len(set(texts)) == len(values)), shown[-1])


def _number(value: Any, digits: int) -> str:
    if isinstance(value, (np.bool_, np.integer)):
        return str(value)
    number = float(value)  # half precision can't be compared with what it can't hold
    # Whole numbers with all their digits, and a zero without a sign.
    return str(int(number)) if abs(number) < 2**53 and number.is_integer() else f"{number:.{digits}g}"


# Raised by so many causes that the name alone tells no mistake from another.
_OF_MANY_CAUSES = ("AttributeError", "IndexError", "LinAlgError", "RuntimeError", "ValueError")
# Errors of outcomes that are no exceptions of the author's code.
NOT_CALLABLE = "NotCallable"
NOT_DEFINED = "NotDefined"
WRONG_SIGNATURE = "WrongSignature"
RETURNED = "returned "  # begins the error of an outcome that is no exception


def _describe(task: TaskCases, pack: Callable[[Any], Any]) -> dict[str, Any]:
    def outcome(given: Outcome, values: Sequence[np.ndarray]) -> dict[str, Any]:
        first, *more = [*map(pack, values)] or [pack(None)]
        described = {"value": first, "error": given.error, "changed": given.changed}
        described |= {"message": beginning} if (beginning := beginning_of(given)) else {}
        return {**described, "more": more} if more else described

    def mistake(given: Outcome, right: Outcome) -> dict[str, Any]:
        return outcome(given, [_short(value, right.values, task) for value in given.values])

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
        "cases": [
            {
                "part": case.part,
                "inputs": [[name, pack(value)] for name, value in case.inputs.items()],
                "right": outcome(case.right, case.right.values),
                "mistakes": [[name, mistake(given, case.right)] for name, given in case.mistakes.items()],
            }
            for case in task.cases
        ],
    }


def _short(value: np.ndarray, right: Iterable[np.ndarray], task: TaskCases) -> np.ndarray:
    """A right value, which is kept once, or half of the bytes: what is the same to a hundredth of the tolerance."""
    if value.dtype != np.float64:
        return value
    with np.errstate(all="ignore"):
        same = (
            short
            for short in (*right, value.astype(np.float32))
            if _alike(value, short) and _near(value, short, task.rtol / 100, task.atol / 100)
        )
        return next(same, value)


def _restore(task: dict[str, Any], arrays: dict[str, np.ndarray]) -> TaskCases:
    def unpack(packed: dict[str, Any]) -> Any:
        if "array" not in packed:
            return packed["value"]
        name, start, shape = packed["array"]
        return arrays[name][start : start + math.prod(shape)].reshape(shape)

    def outcome(given: dict[str, Any]) -> Outcome:
        return Outcome(
            value=unpack(given["value"]),
            error=given["error"],
            changed=given["changed"],
            message=given.get("message", ""),
            more=tuple(unpack(value) for value in given.get("more", [])),
        )

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
        cases=tuple(
            Case(
                part=case["part"],
                inputs={name: unpack(value) for name, value in case["inputs"]},
                right=outcome(case["right"]),
                mistakes={name: outcome(given) for name, given in case["mistakes"]},
            )
            for case in task["cases"]
        ),
    )


_PAGES = {"ko": "book/ko/", "en": "en/"}  # where the pages of a language lie in the site
_WRITTEN = {"function": "no_function", "class": "no_class"}

_SAY = {
    "ko": {
        "ready": "준비됐습니다: {tasks}, {versions}.",
        "task": "과제 1개",
        "tasks": "과제 {count}개",
        "missing": "{path} 이(가) 없습니다. {folder} 폴더에 노트북과 함께 두세요. "
        "Colab이라면 왼쪽의 폴더 아이콘을 눌러 올리세요.",
        "other_set": "이 폴더의 {path} 은(는) {found} 의 것입니다. "
        "{needed} 의 것을 복사하고, 문제집마다 폴더를 따로 두세요.",
        "damaged": "{path} 을(를) 읽을 수 없습니다. 받은 폴더에서 다시 복사하세요.",
        "other_library": "cases.npz는 course_lib {needed} 의 것인데 설치된 것은 {found} 입니다. "
        "이 폴더에서 pip install -r requirements.txt 를 실행하고 kernel을 다시 시작하세요.",
        "no_module": "{name} 이(가) 설치되지 않았습니다. "
        "이 폴더에서 pip install -r requirements.txt 를 실행하고 kernel을 다시 시작하세요.",
        "no_task": "이 문제집에는 과제 {task!r} 이(가) 없습니다. 있는 것: {tasks}.",
        "no_function": "{name} 은(는) 함수여야 하는데 {got} 입니다. 함수를 정의한 셀을 다시 실행하세요.",
        "undefined": "{name} 이(가) 없습니다. 그것을 정의하는 셀이 어떤 오류로 끝났는지 보세요.",
        "no_class": "{name} 은(는) class여야 하는데 {got} 입니다. class를 정의한 셀을 다시 실행하세요.",
        "point": "{points:g}점",
        "points": "{points:g}점",
        "unwritten": "아직 작성하지 않았습니다. {signature} 를 완성하세요.",
        "mistake": "흔한 실수와 결과가 같습니다",
        "see": "책에서 볼 곳",
        "try": "그 입력으로 직접 해 보기",
        "raised": "함수가 오류로 끝났습니다:",
        "signature": "함수를 부를 수 없습니다. {signature} 로 정의하세요.",
        "returned": "배열 하나를 돌려주어야 하는데, 돌려준 것은 {got} 입니다. return 문을 확인하세요.",
        "returned_several": "결과 {count}개를 돌려주어야 하는데, 돌려준 것은 {got} 입니다. return 문을 확인하세요.",
        "again": "위와 같습니다.",
        "changed": "입력 배열의 내용이 바뀌었습니다. 입력은 그대로 두고 새 배열을 돌려주세요.",
        "forbidden": "이 과제에서는 {name} 을(를) 쓸 수 없습니다. 직접 구현하세요.",
        "memory": "한꺼번에 쓴 메모리가 너무 많습니다{sizes}. 큰 배열을 통째로 만들지 마세요.",
        "estimate": " (추정: {sizes})",
        "result": "{number}번째 결과:",
        "gradient": "{name} 의 gradient:",
        "inputs": "입력:",
        "shape": "shape가 {expected} 이어야 하는데 {got} 입니다.",
        "dtype": "dtype이 {expected} 이어야 하는데 {got} 입니다.",
        "entry": "처음 다른 곳은 {index} 입니다: ",
        "numbers": "기대한 값 {expected}, 나온 값 {got}.",
    },
    "en": {
        "ready": "All is in place: {tasks}, {versions}.",
        "task": "1 task",
        "tasks": "{count} tasks",
        "missing": "{path} is missing. Put it beside the notebook, in {folder}. "
        "In Colab, upload it with the folder icon on the left.",
        "other_set": "The {path} in this folder belongs to {found}. Copy that of {needed} here, "
        "and keep each problem set in a folder of its own.",
        "damaged": "{path} can't be read. Copy it again from the folder that you got.",
        "other_library": "cases.npz belongs to course_lib {needed}, and {found} is installed. "
        "In this folder, run pip install -r requirements.txt, and restart the kernel.",
        "no_module": "{name} is not installed. "
        "In this folder, run pip install -r requirements.txt, and restart the kernel.",
        "no_task": "There is no task {task!r} in this problem set. There are: {tasks}.",
        "no_function": "{name} should be a function; it is of type {got}. Run the cell that defines it again.",
        "undefined": "There is no {name}. Look at the error in which the cell that defines it ended.",
        "no_class": "{name} should be a class; it is of type {got}. Run the cell that defines it again.",
        "point": "{points:g} point",
        "points": "{points:g} points",
        "unwritten": "Not written yet. Complete {signature}.",
        "mistake": "A common mistake gives the same",
        "see": "In the book",
        "try": "To try it on the inputs that fail first",
        "raised": "The function ended in an error:",
        "signature": "It can't be called as it is defined. Define it as {signature}.",
        "returned": "An array should come back, and {got} did. Look at the return statement.",
        "returned_several": "{count} results should come back, and {got} did. Look at the return statement.",
        "again": "The same as above.",
        "changed": "The input arrays were changed. Leave them as they are and return a new array.",
        "forbidden": "This task may not use {name}. Write it yourself.",
        "memory": "Too much memory is held at once{sizes}. Don't make the large array as a whole.",
        "estimate": " (an estimate: {sizes})",
        "result": "Result {number}:",
        "gradient": "The gradient of {name}:",
        "inputs": "Inputs:",
        "shape": "The shape should be {expected}; it is {got}.",
        "dtype": "The dtype should be {expected}; it is {got}.",
        "entry": "The first entry that differs is {index}: ",
        "numbers": "expected {expected}, got {got}.",
    },
}
