"""Calls what a student wrote, on copies of the inputs, and says what came of it."""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import linecache
import sys
import traceback
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any

import numpy as np

from course_lib.checks.cases import (
    NOT_CALLABLE,
    PLAIN,
    RETURNED,
    WRONG_SIGNATURE,
    Function,
    Inputs,
    Outcome,
    Way,
)

# The checks themselves: they run on the way to what a student wrote.
_OURS = __name__.rpartition(".")[0]


class ForbiddenCall(Exception):
    """A task asks for what this call would do."""


class TooMuchMemory(Exception):
    """A call held more memory at once than its task allows."""


class NotAClass(Exception):
    """What is called in the place of a class gives no object back."""


class NoGradient(Exception):
    """The results don't depend on an input, whose gradient is asked for; its name is what the error says."""


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
    given = copies(inputs)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), _forbidding(forbidden):
            warnings.simplefilter("ignore")
            with _torch_as_it_starts(), _within(memory):
                results = _Call(function, required, given, way).results()
            values = [_as_array(result) for result in results]
    except NotAClass:
        return Outcome(error=NOT_CALLABLE, message=type(function).__name__)
    except Exception as error:
        return Outcome(
            error=WRONG_SIGNATURE if _never_began(error) else type(error).__name__,
            changed=_differ(given, inputs),
            message=words_of(error) or _unwritten(error, function),
            line=line_of(error, function),
        )
    odd = [result for result, value in zip(results, values, strict=True) if value is None]
    if odd:
        return Outcome(error=_not_an_array(odd[0]), changed=_differ(given, inputs))
    first, *more = [value for value in values if value is not None]
    return Outcome(value=first, changed=_differ(given, inputs), more=tuple(more))


def copies(inputs: Inputs) -> Inputs:
    """The inputs once more: what changes these leaves the others as they are."""
    return {name: _copy(value) for name, value in inputs.items()}


def prepared(given: Inputs, way: Way) -> Inputs:
    """The inputs as a call along this way takes them: where it takes tensors, these share the arrays' memory."""
    return {name: _prepared(value, way, learned=name in way.gradients) for name, value in given.items()}


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
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


def line_of(error: BaseException, function: Function) -> str:
    """The last line of the author's own code that the error passed through."""
    return _own(traceback.walk_tb(error.__traceback__), function)


def line_within(frame: FrameType | None, function: Function | None) -> str | None:
    """The author's own line at which a call stands that is running; None where none is."""
    frames = [*traceback.walk_stack(frame)]
    calls = [number for number, (each, _) in enumerate(frames) if each.f_code is _Call.results.__code__]
    return _own(reversed(frames[: calls[0]]), function) if calls and function is not None else None


def words_of(error: BaseException) -> str:
    """What an error says; empty where it has been given a text that fails."""
    try:
        return str(error)
    except Exception:
        return ""


class _Call:
    """One call along its way."""

    def __init__(self, function: Function, required: Sequence[str], given: Inputs, way: Way) -> None:
        self.function, self.required, self.way = function, required, way
        self.given = prepared(given, way)

    def results(self) -> list[Any]:
        """The results, then the gradients."""
        result = self._ask_class() if self.way.kind == "class" else self._ask_function()
        if self.way.results == 1:
            results = [result]
        elif isinstance(result, (tuple, list)) and len(result) == self.way.results:
            results = list(result)
        else:
            return [_Odd(result)]
        if not self.way.gradients:
            return results
        missing = [_Odd(result) for result in results if result is None or isinstance(result, (tuple, list))]
        return missing[:1] or results + self._gradients(results)

    def _ask_function(self) -> Any:
        named = {name: value for name, value in self.given.items() if name not in self.required}
        return self.function(*(self.given[name] for name in self.required), **named)

    def _ask_class(self) -> Any:
        built = self.function(**{name: self.given[name] for name in self.way.build})
        if not hasattr(built, "__dict__"):  # a function, say, that returns None or an array
            raise NotAClass
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
        total = sum((result * torch.cos(_numbers_of(result))).sum().cpu() for result in results)
        wanted = [self.given[name] for name in self.way.gradients]
        found = [None] * len(wanted)
        if total.requires_grad:
            found = list(torch.autograd.grad(total, wanted, allow_unused=True))
        for name, gradient in zip(self.way.gradients, found, strict=True):
            if gradient is None:
                raise NoGradient(name)
        return found


def _numbers_of(result: Any) -> Any:
    """0, 1, 2, ... in the shape of a tensor, beside it on its device."""
    torch = importlib.import_module("torch")
    return torch.arange(result.numel(), dtype=result.dtype, device=result.device).reshape(result.shape)


class _Odd:
    """Stands for a result that is not so many as were asked for."""

    def __init__(self, result: object) -> None:
        self.result = result


@contextlib.contextmanager
def _torch_as_it_starts() -> Iterator[None]:
    """New tensors are float32 and on the CPU, as inputs and the room are; a notebook may have chosen otherwise."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    device, dtype = torch.get_default_device(), torch.get_default_dtype()
    if device.type != "cpu":
        torch.set_default_device("cpu")
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        if device.type != "cpu":
            torch.set_default_device(device)


@contextlib.contextmanager
def _forbidding(names: Sequence[str]) -> Iterator[None]:
    """Calls of these functions, and of any of a package, raise. A deterrent: who looks for another way finds it."""
    codes, packages = _codes_of(names), [name for name in names if "." not in name]
    if not codes and not packages:
        yield
        return
    before = sys.getprofile()
    sys.setprofile(_watch_for(codes, packages))
    try:
        yield
    finally:
        sys.setprofile(before)


def _codes_of(names: Sequence[str]) -> dict[Any, str]:
    """What the interpreter says that it calls where one of these functions is called, and the function's name."""
    codes: dict[Any, str] = {}
    for name in names:
        module, _, attribute = name.rpartition(".")
        if module in sys.modules:  # what is not loaded is not called
            found = getattr(sys.modules[module], attribute)
            found = getattr(found, "forward", found)  # a module of torch is used by calling it
            found = getattr(found, "__wrapped__", found)
            codes[getattr(found, "__code__", found)] = name
    return codes


def _watch_for(codes: dict[Any, str], packages: Sequence[str]) -> Callable[[Any, str, Any], None]:
    def watch(frame: Any, event: str, called: Any) -> None:
        """Is called at every step of whatever runs, an import as well, so it does no more than it must."""
        if event == "call":
            module = str(frame.f_globals.get("__name__"))
            if module.partition(".")[0] in packages and not module.startswith(_OURS):
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

    return watch


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


def _prepared(value: Any, way: Way, *, learned: bool) -> Any:
    if not way.torch or not isinstance(value, np.ndarray):
        return value
    tensor = importlib.import_module("torch").from_numpy(value)
    return tensor.requires_grad_() if learned else tensor


def _not_an_array(result: object) -> str:
    found = result.result if isinstance(result, _Odd) else result
    if isinstance(found, np.ndarray) and found.dtype.kind not in "biuf":
        return f"{RETURNED}ndarray(dtype={found.dtype.type.__name__.rstrip('_')})"
    return RETURNED + ("None" if found is None else type(found).__name__)


def _differ(given: Inputs, inputs: Inputs) -> bool:
    arrays = [name for name, value in inputs.items() if isinstance(value, np.ndarray)]
    return any(
        given[name].shape != inputs[name].shape or given[name].tobytes() != inputs[name].tobytes()
        for name in arrays
    )


def _own(places: Iterable[tuple[FrameType, int]], function: Function) -> str:
    """The last of these lines that stands where the function was written, in whichever cell."""
    own = [(frame.f_code.co_filename, number) for frame, number in _own_places(places, function)]
    return linecache.getline(*own[-1]).strip() if own else ""


def _own_places(places: Iterable[tuple[FrameType, int]], function: Function) -> list[tuple[FrameType, int]]:
    """Those of these places that stand where the function was written."""
    module = getattr(function, "__module__", None)  # what wraps a function takes it over
    return [(frame, number) for frame, number in places if frame.f_globals.get("__name__") == module]


def _unwritten(error: BaseException, function: Function) -> str:
    """The name of a function of the author's that is a stub still, where the one that was called calls it."""
    if not isinstance(error, NotImplementedError):
        return ""
    own = _own_places(traceback.walk_tb(error.__traceback__), function)
    name = own[-1][0].f_code.co_qualname.rpartition("<locals>.")[2].split(".")[0] if own else ""
    return "" if name == getattr(function, "__name__", "") else name


def _never_began(error: Exception) -> bool:
    """Whether the arguments of a call did not fit, so that no line of the function has run."""
    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    return (
        isinstance(error, TypeError)
        and "argument" in words_of(error)
        and set(frames) == {_never_began.__code__.co_filename}
    )
