"""Torch's fused kernel, where it computes what the four operations compute."""

from __future__ import annotations

import math

import torch
from torch.nn import functional

from course_lib._common import Array, batch_shape, finite_number, in_own_dtype
from course_lib.masks import Align, Window, combined_mask, require_align


def fused_attention(
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
) -> Array | None:
    """The output of F.scaled_dot_product_attention for tensors of one dtype, checked by `attention`.

    None where it would not be the output of the four operations: the kernel has no soft-cap, takes the highest
    score before a negative scale turns it into the lowest, learns no scale and no mask, and lets a NaN or Inf
    spread to Queries that may not attend to it.
    """
    require_align(align)
    if softcap is not None or isinstance(scale, torch.Tensor) or finite_number("scale", scale) <= 0:
        return None
    batch = batch_shape(*(array for array in (q, k, v, mask) if array is not None))
    if q.device.type not in ("cpu", "cuda") or 0 in (*batch, *q.shape[-2:], *v.shape[-2:]):
        return None
    if not _numbers_fit(q, k, v, mask, float(scale)):
        return None
    mask, diagonal = _masks(q, k, mask, batch, causal=causal, align=align, window=window)
    q, k, v = (_four_axes(array, batch) for array in (q, k, v))
    with in_own_dtype(q):
        output = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=diagonal, scale=float(scale)
        )
    return output if len(batch) == 2 else output.reshape(*batch, *output.shape[-2:])


def _numbers_fit(q: Array, k: Array, v: Array, mask: Array | None, scale: float) -> bool:
    """Nothing in the arrays that the kernel takes otherwise. False, too, inside torch.vmap, where nobody can look."""
    try:
        return stays_finite(q, k, v, scale) and (mask is None or _understood(mask, q))
    except RuntimeError:
        return False


def stays_finite(q: Array, k: Array, v: Array, scale: float) -> bool:
    """No NaN or Inf in them, nor in any score: |q . k| <= |q| |k|. One pass over each, no copy."""
    dtype = torch.promote_types(q.dtype, torch.float32)
    norms = [torch.linalg.vector_norm(array.detach(), dtype=dtype) for array in (q, k, v)]
    q_norm, k_norm, v_norm = torch.stack(norms).tolist()  # one wait for a device, not three
    return bool(q_norm * k_norm * max(scale, 1.0) + v_norm <= torch.finfo(dtype).max)


def _understood(mask: Array, q: Array) -> bool:
    """A boolean mask, or a floating one in the dtype of q without NaN and +Inf, which isn't learned."""
    if mask.dtype.is_floating_point:
        return (
            mask.dtype == q.dtype
            and not mask.requires_grad
            and bool(mask.sum(dtype=torch.float32) < math.inf)
        )
    return True


def _masks(
    q: Array,
    k: Array,
    mask: Array | None,
    batch: tuple[int, ...],
    *,
    causal: bool,
    align: Align,
    window: Window | None,
) -> tuple[Array | None, bool]:
    """The kernel's mask and is_causal: it draws the diagonal from the top left, and takes no mask beside it."""
    n_q, n_k = q.shape[-2], k.shape[-2]
    top_left = align == "top-left" or n_q == n_k
    diagonal = bool(causal) and top_left and mask is None and window is None
    if not diagonal and (causal or window is not None):
        scores = q.new_zeros(()).expand(n_q, n_k)
        mask = combined_mask(scores, mask, causal=causal, align=align, window=window)
    if mask is not None and mask.ndim != 2:
        mask = _four_axes(mask, batch) if mask.ndim > 2 else mask.reshape(1, -1)
    return mask, diagonal


def _four_axes(array: Array, batch: tuple[int, ...]) -> Array:
    """(..., n, d) over the whole batch as (batch, heads, n, d), the shape that the kernel is written for."""
    if array.shape[:-2] != batch:
        array = array.expand(*batch, *array.shape[-2:])
    if array.ndim == 4:
        return array
    return array.reshape(-1, *(batch[-1:] or (1,)), *array.shape[-2:])
