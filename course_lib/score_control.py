"""Three places to control a score: scaling after the dot product, QK norm before it, soft-cap after it.

Scaling is the `scale` of `attention`; the other two are here.
"""

from __future__ import annotations

import math
from typing import Literal

from course_lib._common import Array, at_least_float32, floating, namespace_of, require_axes, shape

Kind = Literal["rms", "layer", "l2"]
_SMALLEST = {"rms": 1e-6, "layer": 1e-6, "l2": 1e-12}


def soft_cap(scores: Array, cap: float = 50.0) -> Array:
    """cap * tanh(a / cap): scores of any size mapped smoothly into [-cap, cap], in their order.

    Returns the shape of `scores`. In exact arithmetic |y| < cap; in floating point y reaches cap.
    Errors: ValueError for a cap of 0 or less. Source: Gemma Team 2024 (50 for attention scores); chapter `scaling`.
    """
    xp = namespace_of(scores=scores)
    if not (cap > 0 and math.isfinite(cap)):
        raise ValueError(f"softcap must be a positive finite number, or None for no cap: it is {cap!r}")
    (scores,) = floating(xp, scores=scores)
    return cap * xp.tanh(scores / cap)


def qk_norm(
    q: Array,
    k: Array,
    *,
    kind: Kind = "rms",
    q_gain: Array | None = None,
    k_gain: Array | None = None,
    eps: float | None = None,
) -> tuple[Array, Array]:
    """Norm(Q), Norm(K): vectors of one magnitude before the dot product, so that a logit depends on learned gains only.

    Returns q (..., n_q, d_k) and k (..., n_k, d_k), each vector normalised over d_k and multiplied by its gain,
    which broadcasts to (..., d_k).
    kind "rms" or "layer": RMSNorm or LayerNorm with gains, the scale 1/sqrt(d_k) kept (Dehghani et al. 2023);
    then |logit| <= sqrt(d_k) max|q_gain| max|k_gain|.
    kind "l2": unit vectors; the attention's scale becomes one learned number g (Henry et al. 2020), |logit| <= |g|.
    eps keeps a zero vector finite; by default 1e-6, for "l2" 1e-12.
    Errors: ValueError for another kind, for d_k that differ, or a gain that does not broadcast.
    """
    xp = namespace_of(q=q, k=k)
    require_axes("n, d_k", q=q, k=k)
    if kind not in _SMALLEST:
        raise ValueError(f"kind must be one of {', '.join(map(repr, _SMALLEST))}: it is {kind!r}")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must share d_k: q has shape {shape(q)}, k has shape {shape(k)}")
    eps = _SMALLEST[kind] if eps is None else eps
    q, k = floating(xp, q=q, k=k)
    return _normalised(q, q_gain, kind, eps, "q_gain"), _normalised(k, k_gain, kind, eps, "k_gain")


def _normalised(vectors: Array, gain: Array | None, kind: Kind, eps: float, gain_name: str) -> Array:
    xp = namespace_of(vectors=vectors)
    raised = at_least_float32(xp, vectors)
    if kind == "layer":
        raised = raised - xp.mean(raised, axis=-1, keepdims=True)
    squares = raised * raised
    size = xp.sum(squares, axis=-1, keepdims=True) if kind == "l2" else xp.mean(squares, axis=-1, keepdims=True)
    normalised = raised / xp.sqrt(size + eps)
    if gain is not None:
        if gain.ndim > 0 and gain.shape[-1] not in (1, vectors.shape[-1]):
            raise ValueError(
                f"{gain_name} must broadcast to (..., d_k) = {shape(vectors)}: it has shape {shape(gain)}"
            )
        normalised = normalised * gain
    return xp.astype(normalised, vectors.dtype, copy=False)
