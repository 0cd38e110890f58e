"""What every array function begins with: one namespace, floating point, shapes that fit."""

from __future__ import annotations

import math
import numbers
import operator
import reprlib
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, TypeAlias

import array_api_compat
import numpy as np

# The array API standard has no type of its own; every function here takes NumPy arrays and Torch tensors.
Array: TypeAlias = Any

# Decorates what computes: inf, NaN and 0 are answers here, in NumPy as silent as in Torch, whatever np.seterr says.
quiet = np.errstate(all="ignore")


# Kinds of arrays that came before, with their namespaces: asking costs more than a short attention may.
_NAMESPACES: dict[tuple[tuple[type, Any], ...], Any] = {}


def namespace_of(**arrays: Array) -> Any:
    """The namespace (NumPy's, Torch's, ...) that all arrays share. ValueError where they share none."""
    kinds = tuple([(type(array), getattr(array, "layout", None)) for array in arrays.values()])
    if kinds in _NAMESPACES:
        return _NAMESPACES[kinds]
    try:
        # array_namespace passes over None and Python numbers.
        if all(_is_array(array) for array in arrays.values()):
            _require_dense(arrays)
            return _NAMESPACES.setdefault(kinds, array_api_compat.array_namespace(*arrays.values()))
    except TypeError:
        pass
    raise ValueError(_strangers(arrays))


def require_one_device(**arrays: Array) -> None:
    """ValueError, by the names that were given, for arrays on two devices."""
    if len({array.device for array in arrays.values()}) > 1:
        came = ", ".join(f"{name} is on {array.device}" for name, array in arrays.items())
        raise ValueError(f"{_listed(arrays)} must be on one device: {came}")


def floating(xp: Any, **arrays: Array) -> list[Array]:
    """The arrays in the floating dtype that they promote to; integers alone: the library's default float."""
    dtypes: dict[Any, str] = {}
    for name, array in arrays.items():
        dtypes.setdefault(array.dtype, name)
    kinds = {dtype: real_kind(xp, dtype) for dtype in dtypes}
    for dtype, name in dtypes.items():
        if kinds[dtype] is None:
            least = " of 16 bits or more" if xp.isdtype(dtype, "real floating") else ""
            raise ValueError(f"{name} must hold real numbers{least}: its dtype is {dtype}")
    if "real floating" in kinds.values():
        common = xp.result_type(*dtypes)
    else:
        common = xp.__array_namespace_info__().default_dtypes()["real floating"]
    return [array if array.dtype == common else xp.astype(array, common) for array in arrays.values()]


@cache
def real_kind(xp: Any, dtype: Any) -> str | None:
    """Either "integral" or "real floating"; None for the rest, and for floats of 8 bits, which Torch can't even add."""
    if xp.isdtype(dtype, "real floating"):
        return "real floating" if xp.finfo(dtype).bits >= 16 else None
    return "integral" if xp.isdtype(dtype, "integral") else None


def everywhere(xp: Any, condition: Array) -> bool:
    """Does it hold in every place? False, too, where nobody can look: inside torch.vmap, on the meta device."""
    try:
        return bool(xp.all(condition))
    except RuntimeError:
        return False


def in_own_dtype(array: Array) -> AbstractContextManager[object]:
    """Without Torch's autocast, which takes products in half precision: scores overflow there."""
    if not array_api_compat.is_torch_array(array):
        return nullcontext()
    # Only here: NumPy alone must do.
    import torch

    kind = array.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return torch.autocast(kind, enabled=False)
    return nullcontext()


def at_least_float32(xp: Any, array: Array) -> Array:
    """Half precision raised to float32: it overflows at 65504, which scores reach."""
    return xp.astype(array, xp.float32) if xp.finfo(array.dtype).bits < 32 else array


def require_axes(axes: str, **arrays: Array) -> None:
    """ValueError where an array has fewer axes than the named ones, which stand last."""
    least = axes.count(",") + 1
    for name, array in arrays.items():
        if array.ndim < least:
            raise ValueError(f"{name} must have shape (..., {axes}): it has shape {shape(array)}")


def require_batch(**arrays: Array) -> None:
    """ValueError unless all axes but the last two broadcast."""
    try:
        batch_shape(*arrays.values())
    except ValueError:
        raise ValueError(f"the batch axes of {_listed(arrays)} must broadcast: {shapes(**arrays)}") from None


def batch_shape(*arrays: Array) -> tuple[int, ...]:
    """The batch axes, all but the last two, that the arrays broadcast to. ValueError where they don't."""
    batches = {array.shape[:-2] for array in arrays}
    return tuple(batches.pop()) if len(batches) == 1 else np.broadcast_shapes(*batches)


def require_broadcast(name: str, array: Array, axes: str, target: Array) -> None:
    """ValueError unless `array` broadcasts with `target` and keeps its last two axes, the named ones."""
    try:
        together = np.broadcast_shapes(shape(array), shape(target))
    except ValueError:
        together = ()
    if together[-2:] != shape(target)[-2:]:
        raise ValueError(
            f"{name} must broadcast to (..., {axes}) = {shape(target)}: it has shape {shape(array)}"
        )


def require_flags(**flags: object) -> None:
    """ValueError for what is no truth value: a mask, say, that stands where `causal` should."""
    for name, flag in flags.items():
        if not isinstance(flag, (bool, np.bool_)):
            raise ValueError(f"{name} must be True or False: it is {_described(flag)}")


def require_functions(**functions: object) -> None:
    """ValueError for what can't be called."""
    for name, function in functions.items():
        if not callable(function):
            raise ValueError(f"{name} must be a function: it is {_described(function)}")


def require_kind(kind: type, **values: object) -> None:
    """ValueError for what is no object of that class."""
    for name, value in values.items():
        if not isinstance(value, kind):
            raise ValueError(f"{name} must be of the class {kind.__name__}: it is {_described(value)}")


def finite_number(name: str, value: object, *, positive: bool = False) -> float:
    """`value` as a Python float, which leaves the dtype of an array as it is (np.float64 would raise it)."""
    try:
        number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if math.isfinite(number) and (number > 0 or not positive):
        return number
    kind = "positive finite" if positive else "finite"
    raise ValueError(f"{name} must be a {kind} number: it is {_described(value)}")


def whole_number(name: str, value: Any, *, least: int = 0) -> int:
    """`value`, `least` or more, as a Python int."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < least:
        raise ValueError(f"{name} must be an integer, {least} or more: it is {_described(value)}")
    return number


def shapes(**arrays: Array) -> str:
    """What came, for an error: "q has shape (2, 3), k has shape (5, 7)"."""
    return ", ".join(f"{name} has shape {shape(array)}" for name, array in arrays.items())


def shape(array: Array) -> tuple[int, ...]:
    """The shape as a plain tuple, as which NumPy and Torch write it alike."""
    return tuple(array.shape)


def _require_dense(arrays: dict[str, Array]) -> None:
    """ValueError for a tensor that holds only some of its numbers, or rows of several lengths."""
    for name, array in arrays.items():
        layout = getattr(array, "layout", None)
        if array_api_compat.is_torch_array(array) and str(layout) != "torch.strided":
            raise ValueError(f"{name} must be a dense tensor: its layout is {layout}")


def _is_array(value: object) -> bool:
    # These two are arrays that mean something else by their operators.
    other = isinstance(value, (np.ma.MaskedArray, np.matrix))
    return array_api_compat.is_array_api_obj(value) and not other


def _strangers(arrays: dict[str, Any]) -> str:
    """What can't be computed with: values that are no arrays, or arrays of several libraries."""
    others = {name: value for name, value in arrays.items() if not _is_array(value)}
    noun = "arrays of one library" if not others else "an array" if len(others) == 1 else "arrays"
    came = ", ".join(f"{name} is {_type_name(value)}" for name, value in (others or arrays).items())
    convertible = all(isinstance(value, (list, tuple, numbers.Number)) for value in others.values())
    advice = "; np.asarray and torch.asarray convert" if convertible else ""
    return f"{_listed(others or arrays)} must be {noun} (NumPy or Torch): {came}{advice}"


def _listed(names: Any) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else str(last)


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _described(value: object) -> str:
    is_array = array_api_compat.is_array_api_obj(value) and not isinstance(value, np.generic)
    # Of what is long, the beginning and the end: one sentence has to stay one.
    return f"an array of shape {shape(value)}" if is_array else " ".join(reprlib.repr(value).split())
