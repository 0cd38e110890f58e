"""Scaled dot-product attention in four operations: Score -> Scale & Mask -> Softmax over Keys -> Output."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import array_api_compat
import numpy as np

from course_lib._common import (
    Array,
    at_least_float32,
    batch_shape,
    everywhere,
    finite_number,
    floating,
    in_own_dtype,
    namespace_of,
    quiet,
    require_axes,
    require_batch,
    require_flags,
    require_one_device,
    shape,
    shapes,
)
from course_lib.blocked import attention_in_blocks
from course_lib.masks import Align, Window, combined_mask, require_mask
from course_lib.score_control import soft_cap

# In NumPy, with fewer Queries or Keys than this, the plain formula is as quick as blocks.
_WORTH_BLOCKS = 256


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    align: Align = "top-left",
    window: Window | None = None,
    scale: float | Array | None = None,
    softcap: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    """O = Softmax_keys(Q K^T / sqrt(d_k) + M) V, for q (..., n_q, d_k), k (..., n_k, d_k), v (..., n_k, d_v).

    Returns the output (..., n_q, d_v) in the dtype that q, k and v promote to; batch axes broadcast.
    A Query that may attend to no Key reads nothing: its output is 0. A NaN or Inf in a Key or Value reaches
    only the Queries that may attend to it.

    mask: boolean (True = may attend) or floating (added), broadcast to (..., n_q, n_k).
    causal, align, window: further masks (`causal_mask`, `window_mask`); all of them intersect.
    scale: the factor on the scores, by default 1/sqrt(d_k); an array of one number where it is learned.
    softcap: bounds the scaled scores before the mask (`soft_cap`).
    enable_gqa: k and v (..., heads_kv, n_k, .) serve q (..., heads, n_q, d_k), each head of theirs for
    heads/heads_kv Query heads in a row.

    Long NumPy arrays are worked through in blocks, so that memory grows with n_q + n_k; tensors go through
    torch's fused kernel where it computes the same. Either differs from `explain` by rounding alone. The kernel
    has no second and no forward-mode derivatives: inside `torch.nn.attention.sdpa_kernel(SDPBackend.MATH)` there
    are. Torch's autocast changes nothing: the dtypes of q, k and v count.

    Errors: ValueError where shapes, dtypes or libraries don't fit, naming the rule and what came.
    Source: Vaswani et al. 2017, 3.2.1; chapter `computation`.
    """
    q, k, v = _checked(q, k, v, mask=mask, scale=scale, causal=causal, enable_gqa=enable_gqa)
    scale = _default_scale(q.shape[-1]) if scale is None else scale
    options: dict[str, Any] = {
        "mask": mask,
        "causal": causal,
        "align": align,
        "window": window,
        "scale": scale,
        "softcap": softcap,
    }
    output = _faster(q, k, v, **options)
    return _steps(q, k, v, **options).output if output is None else output


@quiet
def scores(q: Array, k: Array) -> Array:
    """S = Q K^T: how well each Query matches each Key.

    Returns (..., n_q, n_k) for q (..., n_q, d_k) and k (..., n_k, d_k), at least in float32.
    A NaN or Inf in a Query or Key makes the scores of that Query or Key NaN, and no other's.
    Errors: ValueError where d_k or the batch axes differ. Source: chapter `computation`.
    """
    xp = namespace_of(q=q, k=k)
    require_axes("n, d_k", q=q, k=k)
    require_one_device(q=q, k=k)
    _require_one_depth(q, k)
    require_batch(q=q, k=k)
    q, k = (at_least_float32(xp, array) for array in floating(xp, q=q, k=k))
    sound_q, sound_k = xp.isfinite(q), xp.isfinite(k)
    with in_own_dtype(q):
        if everywhere(xp, sound_q) and everywhere(xp, sound_k):
            return q @ xp.matrix_transpose(k)
        # 0 * NaN is NaN, so a poisoned row would spread through the products and their gradients.
        product = xp.where(sound_q, q, 0.0) @ xp.matrix_transpose(xp.where(sound_k, k, 0.0))
    sound = xp.all(sound_q, axis=-1)[..., :, None] & xp.all(sound_k, axis=-1)[..., None, :]
    return xp.where(sound, product, np.nan)


@quiet
def scale_and_mask(
    scores: Array,
    scale: float | Array | None = None,
    mask: Array | None = None,
    softcap: float | None = None,
) -> Array:
    """L = scale * S + M: the logits, in the order scale, soft-cap, mask.

    Returns the shape of `scores` (..., n_q, n_k), with -inf where a Key is masked; the mask's batch axes
    broadcast.
    scale: None leaves the scores as they are; attention passes 1/sqrt(d_k).
    mask: boolean (True = may attend) or floating (added). Masking selects: a masked NaN is gone.
    Errors: ValueError for an integer mask, a mask that does not broadcast, a soft-cap of 0 or less.
    Source: chapter `computation`; Gemma Team 2024 (soft-cap).
    """
    xp = namespace_of(scores=scores)
    require_axes("n_q, n_k", scores=scores)
    (scores,) = floating(xp, scores=scores)
    logits = at_least_float32(xp, scores)
    if scale is not None:
        logits = _scaled(logits, scale)
    if softcap is not None:
        logits = soft_cap(logits, finite_number("softcap", softcap, positive=True))
    if mask is not None:
        require_mask(mask, scores=scores)
        logits = _masked(xp, logits, mask)
    return xp.astype(logits, scores.dtype, copy=False)


@quiet
def softmax(logits: Array) -> Array:
    """A = exp(L) / sum over Keys of exp(L): the weights of each Query, over its row.

    Returns (..., n_q, n_k): rows sum to 1; where a logit is -inf the weight is exactly 0, and a row of
    nothing but -inf gets only zeros. The row's maximum is subtracted first, so large logits don't overflow.
    A NaN or +inf makes the rest of its own row NaN.
    Errors: ValueError for fewer than two axes, for what holds no real numbers. Source: chapter `computation`.
    """
    xp = namespace_of(logits=logits)
    require_axes("n_q, n_k", logits=logits)
    (logits,) = floating(xp, logits=logits)
    if logits.shape[-1] == 0:
        return logits
    dtype, logits = logits.dtype, at_least_float32(xp, logits)
    highest = xp.max(logits, axis=-1, keepdims=True)
    sound = highest < np.inf
    if everywhere(xp, sound):
        weights = _shares(logits, highest)
    else:
        # NaN or +inf is taken out of its row first, or the row's gradients would be NaN at masked places too.
        usable = sound | (logits == -np.inf)
        logits = xp.where(usable, logits, 0.0)
        weights = xp.where(usable, _shares(logits, xp.max(logits, axis=-1, keepdims=True)), np.nan)
    return xp.astype(weights, dtype, copy=False)


@quiet
def weighted_sum(weights: Array, v: Array) -> Array:
    """O = A V: each Query's mixture of the Values.

    Returns (..., n_q, d_v) for weights (..., n_q, n_k) and v (..., n_k, d_v). A weight of 0 reads nothing,
    not even a NaN or Inf.
    Errors: ValueError where n_k or the batch axes differ. Source: chapter `computation`.
    """
    xp = namespace_of(weights=weights, v=v)
    require_axes("n_q, n_k", weights=weights)
    require_axes("n_k, d_v", v=v)
    require_one_device(weights=weights, v=v)
    if weights.shape[-1] != v.shape[-2]:
        raise ValueError(f"weights and v must share n_k: {shapes(weights=weights, v=v)}")
    require_batch(weights=weights, v=v)
    weights, v = floating(xp, weights=weights, v=v)
    with in_own_dtype(v):
        if everywhere(xp, xp.isfinite(v)) and everywhere(xp, xp.isfinite(weights)):
            return weights @ v
        return _selected_sum(weights, v)


class Steps(NamedTuple):
    """What each of the four operations gives: (..., n_q, n_k) three times, then (..., n_q, d_v)."""

    scores: Array
    logits: Array
    weights: Array
    output: Array


def steps(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None,
    causal: bool,
    align: Align,
    window: Window | None,
    scale: float | Array | None,
    softcap: float | None,
    enable_gqa: bool,
) -> Steps:
    """The four operations in a row. `attention` returns the last one, `explain` shows all."""
    q, k, v = _checked(q, k, v, mask=mask, scale=scale, causal=causal, enable_gqa=enable_gqa)
    scale = _default_scale(q.shape[-1]) if scale is None else scale
    return _steps(q, k, v, mask=mask, causal=causal, align=align, window=window, scale=scale, softcap=softcap)


def _steps(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None,
    causal: bool,
    align: Align,
    window: Window | None,
    scale: float | Array,
    softcap: float | None,
) -> Steps:
    xp = namespace_of(q=q, k=k, v=v)
    compared = scores(q, k)
    mask = combined_mask(compared, mask, causal=causal, align=align, window=window)
    logits = scale_and_mask(compared, scale=scale, mask=mask, softcap=softcap)
    weights = softmax(logits)
    output = xp.astype(weighted_sum(weights, v), v.dtype, copy=False)
    return Steps(compared, logits, weights, output)


def _faster(
    q: Array, k: Array, v: Array, *, scale: float | Array, softcap: float | None, **options: Any
) -> Array | None:
    """The output of the four operations by a faster way; None where there is none."""
    if array_api_compat.is_torch_array(q):
        # Only here: NumPy alone must do, and Torch takes long to load.
        from course_lib._fused import fused_attention

        return fused_attention(q, k, v, scale=scale, softcap=softcap, **options)
    if not array_api_compat.is_numpy_array(q) or min(q.shape[-2], k.shape[-2]) < _WORTH_BLOCKS:
        return None
    # The plain number, refused where scale_and_mask would refuse it.
    factor = float(_scaled(np.ones(1), scale)[0])
    if softcap is not None:
        softcap = finite_number("softcap", softcap, positive=True)
    return attention_in_blocks(q, k, v, scale=factor, softcap=softcap, **options)


def _checked(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None,
    scale: float | Array | None,
    causal: bool,
    enable_gqa: bool,
) -> list[Array]:
    """q, k and v in one dtype, each Query head with its own k and v."""
    xp = namespace_of(q=q, k=k, v=v)
    require_flags(causal=causal, enable_gqa=enable_gqa)
    require_axes("n_q, d_k", q=q)
    require_axes("n_k, d_k", k=k)
    require_axes("n_k, d_v", v=v)
    if enable_gqa:
        k, v = _repeated_heads(q, k=k, v=v)
    q, k, v = floating(xp, q=q, k=k, v=v)
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v must share n_k: {shapes(k=k, v=v)}")
    require_batch(q=q, k=k, v=v)
    require_one_device(q=q, k=k, v=v)
    _require_one_depth(q, k)
    if _is_learned(scale):
        namespace_of(scale=scale, q=q)
    if mask is not None:
        require_mask(mask, q=_outline(xp, q, k))
    return [q, k, v]


def _require_one_depth(q: Array, k: Array) -> None:
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must share d_k: {shapes(q=q, k=k)}")


def _outline(xp: Any, q: Array, k: Array) -> Array:
    """The shape and device of the scores, without their memory."""
    zero = xp.zeros((), dtype=q.dtype, device=array_api_compat.device(q))
    return xp.broadcast_to(zero, (*batch_shape(q, k), q.shape[-2], k.shape[-2]))


def _default_scale(d_k: int) -> float:
    # An empty dot product is 0 under any scale.
    return 1.0 / math.sqrt(d_k) if d_k else 1.0


def _repeated_heads(q: Array, *, k: Array, v: Array) -> list[Array]:
    """k and v with each of their heads repeated in place for the Query heads that it serves."""
    xp = namespace_of(q=q, k=k, v=v)
    require_axes("heads, n, d", q=q, k=k, v=v)
    heads, heads_kv = q.shape[-3], k.shape[-3]
    if v.shape[-3] != heads_kv or heads_kv == 0 or heads % heads_kv:
        raise ValueError(
            "grouped queries need as many heads in k as in v, and a multiple of them in q: "
            f"{shapes(q=q, k=k, v=v)}"
        )
    return [xp.repeat(array, heads // heads_kv, axis=-3) for array in (k, v)]


def _is_learned(scale: object) -> bool:
    """Whether it is an array, which may carry a gradient, and no plain number."""
    return array_api_compat.is_array_api_obj(scale) and not isinstance(scale, np.generic)


def _scaled(scores: Array, scale: float | Array) -> Array:
    if not _is_learned(scale):
        return scores * finite_number("scale", scale)
    xp = namespace_of(scores=scores, scale=scale)
    if math.prod(shape(scale)) != 1:
        raise ValueError(f"scale must be one number: it has shape {shape(scale)}")
    (factor,) = floating(xp, scale=xp.reshape(scale, ()))
    if everywhere(xp, ~xp.isfinite(factor)):
        raise ValueError(f"scale must be a finite number: it is {float(factor)}")
    finite = xp.isfinite(scores)
    # 0 * NaN is NaN, so a poisoned score would reach the gradient of the scale.
    return xp.where(finite, xp.where(finite, scores, 0.0) * xp.astype(factor, scores.dtype), scores)


def _masked(xp: Any, logits: Array, mask: Array) -> Array:
    if xp.isdtype(mask.dtype, "bool"):
        return xp.where(mask, logits, -np.inf)
    mask = xp.astype(mask, logits.dtype, copy=False)
    hidden = mask == -np.inf
    return xp.where(hidden, -np.inf, logits + xp.where(hidden, 0.0, mask))


def _shares(logits: Array, highest: Array) -> Array:
    """exp(logit - highest) / their sum over the row; 0 in a row of nothing but -inf."""
    xp = namespace_of(logits=logits)
    exponentials = xp.exp(logits - xp.where(highest == -np.inf, 0.0, highest))
    total = xp.sum(exponentials, axis=-1, keepdims=True)
    return exponentials / xp.where(total == 0, 1.0, total)


def _selected_sum(weights: Array, v: Array) -> Array:
    """A V where either holds NaN or Inf: 0 * NaN is NaN, so what a weight of 0 must not read is taken out."""
    xp = namespace_of(weights=weights, v=v)
    sound = xp.isfinite(weights)
    output = xp.where(sound, weights, 0.0) @ xp.where(xp.isfinite(v), v, 0.0)

    def reads(chosen: Array, entries: Array) -> Array:
        return xp.astype(chosen, output.dtype) @ xp.astype(entries, output.dtype) > 0

    above = reads(weights > 0, v == np.inf) | reads(weights < 0, v == -np.inf)
    below = reads(weights > 0, v == -np.inf) | reads(weights < 0, v == np.inf)
    undefined = reads(weights != 0, xp.isnan(v)) | ~xp.all(sound, axis=-1)[..., None] | (above & below)
    return xp.where(undefined, np.nan, xp.where(above, np.inf, xp.where(below, -np.inf, output)))
