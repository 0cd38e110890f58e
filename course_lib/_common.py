"""What every array function begins with: one namespace, floating point, shapes that fit."""

from __future__ import annotations

from typing import Any, TypeAlias

import array_api_compat

# The array API standard has no type of its own; every array function takes NumPy arrays and Torch tensors alike.
Array: TypeAlias = Any


def namespace_of(**arrays: Array) -> Any:
    """The array namespace (NumPy's, Torch's, ...) that all arrays share. ValueError if they are not arrays of one library."""
    try:
        return array_api_compat.array_namespace(*arrays.values())
    except TypeError:
        came = ", ".join(f"{name} is {_type_name(array)}" for name, array in arrays.items())
        rule = f"{_listed(arrays)} must be arrays of one library (NumPy or Torch)"
        raise ValueError(f"{rule}: {came}") from None


def require_one_device(**arrays: Array) -> None:
    devices = {name: array_api_compat.device(array) for name, array in arrays.items()}
    if len(set(devices.values())) > 1:
        came = ", ".join(f"{name} is on {device}" for name, device in devices.items())
        raise ValueError(f"{_listed(arrays)} must be on one device: {came}")


def floating(xp: Any, **arrays: Array) -> list[Array]:
    """The arrays in the floating dtype that they promote to; integers become the library's default float first."""
    default = xp.__array_namespace_info__().default_dtypes()["real floating"]
    dtypes = []
    for name, array in arrays.items():
        if xp.isdtype(array.dtype, "complex floating"):
            raise ValueError(f"{name} must hold real numbers: its dtype is {array.dtype}")
        dtypes.append(array.dtype if xp.isdtype(array.dtype, "real floating") else default)
    common = xp.result_type(*dtypes)
    return [xp.astype(array, common, copy=False) for array in arrays.values()]


def at_least_float32(xp: Any, array: Array) -> Array:
    """Half precision raised to float32: it overflows at 65504, which scores reach."""
    return xp.astype(array, xp.float32) if xp.finfo(array.dtype).bits < 32 else array


def require_axes(axes: str, **arrays: Array) -> None:
    """ValueError where an array has fewer axes than the named ones, which stand last."""
    least = len(axes.split(","))
    for name, array in arrays.items():
        if array.ndim < least:
            raise ValueError(f"{name} must have shape (..., {axes}): it has shape {shape(array)}")


def shape(array: Array) -> tuple[int, ...]:
    return tuple(array.shape)


def _listed(names: Any) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else str(last)


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
