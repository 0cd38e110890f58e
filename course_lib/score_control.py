"""Three places to control a score: scaling after the dot product, QK norm before it, soft-cap after it.

Scaling is the `scale` of `attention`; the other two are here.
"""

from __future__ import annotations

from typing import Literal

from course_lib._common import (
    Array,
    at_least_float32,
    finite_number,
    floating,
    namespace_of,
    quiet,
    require_axes,
    shapes,
)
from course_lib._per_token import SMALLEST, normalised

Kind = Literal["rms", "layer", "l2"]


@quiet
def soft_cap(scores: Array, cap: float = 50.0) -> Array:
    """cap * tanh(a / cap): scores of any size mapped smoothly into [-cap, cap], in their order.

    Returns the shape of `scores`. In exact arithmetic |y| < cap; in floating point y reaches cap.
    Errors: ValueError for a cap that is not a positive number.
    Source: Gemma Team 2024 (50 for attention scores); chapter `score-control`.
    """
    xp = namespace_of(scores=scores)
    cap = finite_number("cap", cap, positive=True)
    (scores,) = floating(xp, scores=scores)
    dtype, scores = scores.dtype, at_least_float32(xp, scores)
    limits = xp.finfo(scores.dtype)
    if cap > float(limits.max):
        return xp.astype(scores, dtype, copy=False)  # but for the largest that there are, none comes near it
    cap = max(cap, float(limits.smallest_normal))  # a cap rounded to 0 would make 0 / 0 of a score of 0
    return xp.astype(cap * xp.tanh(scores / cap), dtype, copy=False)


def qk_norm(
    q: Array,
    k: Array,
    *,
    kind: Kind = "rms",
    q_gain: Array | None = None,
    k_gain: Array | None = None,
    eps: float | None = None,
) -> tuple[Array, Array]:
    """Norm(Q), Norm(K): vectors of one magnitude before the dot product, so that gains alone bound a logit.

    Returns q (..., n_q, d_k) and k (..., n_k, d_k), each vector normalized over d_k and times its gain,
    which broadcasts to (..., d_k).
    kind "rms" or "layer": RMSNorm or LayerNorm with gains, the scale 1/sqrt(d_k) kept (Dehghani et al. 2023);
    then |logit| <= sqrt(d_k) max|q_gain| max|k_gain|.
    kind "l2": unit vectors; the scale becomes one learned number g (Henry et al. 2020), then |logit| <= |g|.
    eps keeps a zero vector finite; by default 1e-6, for "l2" 1e-12.
    Errors: ValueError for another kind, d_k that differ, a gain that does not broadcast, an eps of 0 or less.
    Source: Henry et al. 2020; Dehghani et al. 2023; chapter `score-control`.
    """
    xp = namespace_of(q=q, k=k)
    require_axes("n, d_k", q=q, k=k)
    if not isinstance(kind, str) or kind not in SMALLEST:
        raise ValueError(f"kind must be one of {', '.join(map(repr, SMALLEST))}: it is {kind!r}")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must share d_k: {shapes(q=q, k=k)}")
    eps = SMALLEST[kind] if eps is None else finite_number("eps", eps, positive=True)
    q, k = floating(xp, q=q, k=k)
    return (
        normalised(kind, eps, axes="n, d_k", q=q, q_gain=q_gain),
        normalised(kind, eps, axes="n, d_k", k=k, k_gain=k_gain),
    )
