"""What acts on each token's features by themselves: a linear map and a norm. Both keep a NaN to its token."""

from __future__ import annotations

import numpy as np

from course_lib._common import (
    Array,
    at_least_float32,
    everywhere,
    floating,
    namespace_of,
    quiet,
    require_axes,
    require_broadcast,
    require_one_device,
    shape,
    shapes,
)

SMALLEST = {"rms": 1e-6, "layer": 1e-6, "l2": 1e-12}


@quiet
def linear(**pair: Array) -> Array:
    """x W for x (..., d_in) and w (d_in, d_out), given by the names that an error shall use: linear(x=x, w_q=w_q).

    A token that holds NaN or Inf gets NaN, and leaves every other token and the gradient of W as they are.
    """
    (x_name, x), (w_name, w) = pair.items()
    xp = namespace_of(**pair)
    require_axes("d_in", **{x_name: x})
    if w.ndim != 2:
        raise ValueError(f"{w_name} must have shape (d_in, d_out): it has shape {shape(w)}")
    if x.shape[-1] != w.shape[0]:
        raise ValueError(f"{x_name} must have as many features as {w_name} has rows: {shapes(**pair)}")
    require_one_device(**pair)
    x, w = floating(xp, **pair)
    finite = xp.isfinite(x)
    if everywhere(xp, finite):
        return x @ w
    # 0 * NaN is NaN, so a poisoned token would reach the gradient of the weights.
    return xp.where(xp.all(finite, axis=-1, keepdims=True), xp.where(finite, x, 0.0) @ w, np.nan)


@quiet
def normalised(kind: str, eps: float, *, axes: str = "n, d_model", **pair: Array) -> Array:
    """x / sqrt(mean of x^2 + eps) ("rms"), of x less its mean ("layer"), or x / sqrt(sum of x^2 + eps) ("l2").

    x (..., d) and its gain, or None, by the names that an error shall use: normalised("rms", eps, x=x, gain=None).
    """
    (name, vectors), (gain_name, gain) = pair.items()
    xp = namespace_of(**{name: vectors})
    finite = xp.isfinite(vectors)
    # 0 * NaN is NaN, so a poisoned vector would reach the gradient of the gain.
    raised = at_least_float32(xp, xp.where(finite, vectors, 0.0))
    count = max(vectors.shape[-1], 1)
    if kind == "layer":
        raised = raised - xp.sum(raised, axis=-1, keepdims=True) / count
    squares = xp.sum(raised * raised, axis=-1, keepdims=True)
    unit = raised / xp.sqrt(squares / (1 if kind == "l2" else count) + eps)
    if gain is not None:
        unit = unit * per_feature(gain_name, gain, axes, **{name: vectors})
    return xp.astype(
        xp.where(xp.all(finite, axis=-1, keepdims=True), unit, np.nan), vectors.dtype, copy=False
    )


def per_feature(name: str, values: Array, axes: str, **vectors: Array) -> Array:
    """A gain or a bias, checked against the vectors that it goes with and made floating."""
    xp = namespace_of(**vectors, **{name: values})
    (target,) = vectors.values()
    require_broadcast(name, values, axes, target)
    require_one_device(**vectors, **{name: values})
    return floating(xp, **{name: values})[0]
