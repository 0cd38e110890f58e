"""Which Keys a Query may attend to. Boolean masks: True = may attend. Floating ones are added."""

from __future__ import annotations

import operator
from typing import Any, Literal

import array_api_compat
import array_api_compat.numpy as array_api_numpy
import numpy as np

from course_lib._common import (
    Array,
    everywhere,
    namespace_of,
    real_kind,
    require_broadcast,
    require_one_device,
    shape,
    whole_number,
)

Align = Literal["top-left", "bottom-right"]
Window = tuple[int, int]


def causal_mask(n_q: int, n_k: int, *, align: Align = "top-left", like: Array | None = None) -> Array:
    """Query i may attend to Keys 0 to i.

    Returns booleans of shape (n_q, n_k), True = may attend, in the library and on the device of `like`
    (NumPy without it). With n_q != n_k, `align` says which corner the diagonal starts from: "top-left" as in
    torch and ONNX, "bottom-right" as in FlashAttention (the last Query sees every Key).
    Errors: ValueError for a negative length or another `align`. Source: chapter `computation`.
    """
    return window_mask(n_q, n_k, (-1, 0), align=align, like=like)


def window_mask(
    n_q: int, n_k: int, window: Window, *, align: Align = "top-left", like: Array | None = None
) -> Array:
    """Query i may attend to the Keys from `left` before its diagonal to `right` after it, both inclusive.

    Returns booleans of shape (n_q, n_k), True = may attend. `window` is (left, right); -1 leaves a side
    unlimited, so (-1, 0) is the causal mask. `align` and `like` are those of `causal_mask`.
    Errors: ValueError for a negative length, a side below -1 or another `align`.
    Source: Beltagy et al. 2020, 3.1.
    """
    n_q, n_k = whole_number("n_q", n_q), whole_number("n_k", n_k)
    first, last = band(n_q, n_k, window, align=align)
    xp, device = _place(like)
    offset = xp.arange(n_k, device=device)[None, :] - xp.arange(n_q, device=device)[:, None]
    return (offset >= first) & (offset <= last)


def padding_mask(lengths: Array, n_k: int) -> Array:
    """Every Query may attend to the first `lengths` Keys of its sequence; the rest is padding.

    Returns booleans of shape (..., 1, n_k) for `lengths` of shape (...), True = may attend. With a heads
    axis, pass lengths[:, None], so that the mask is (batch, 1, 1, n_k).
    Errors: ValueError where `lengths` are not integers from 0 to n_k. Source: chapter `computation`, the mask M.
    """
    xp = namespace_of(lengths=lengths)
    if not xp.isdtype(lengths.dtype, "integral"):
        raise ValueError(f"lengths must be integers: their dtype is {lengths.dtype}")
    n_k = whole_number("n_k", n_k)
    # A small dtype could not be compared with a large n_k.
    lengths = xp.astype(lengths, xp.int64)
    if everywhere(xp, xp.any((lengths < 0) | (lengths > n_k))):
        least, most = int(xp.min(lengths)), int(xp.max(lengths))
        raise ValueError(f"lengths must lie between 0 and n_k = {n_k}: they run from {least} to {most}")
    return xp.arange(n_k, device=array_api_compat.device(lengths)) < lengths[..., None, None]


def additive_mask(mask: Array, *, dtype: Any = None) -> Array:
    """The floating form M of a boolean mask: 0 where it is True (may attend), -inf where it is False.

    Returns the shape of `mask` in `dtype` (by default the library's default float).
    Errors: ValueError where `mask` is not boolean or `dtype` not floating.
    Source: chapter `computation`, L = S/sqrt(d_k) + M.
    """
    xp = namespace_of(mask=mask)
    if not xp.isdtype(mask.dtype, "bool"):
        raise ValueError(f"mask must be boolean, True = may attend: its dtype is {mask.dtype}")
    if dtype is not None and not _is_floating(xp, dtype):
        raise ValueError(f"dtype must be a floating one of the mask's library: it is {dtype!r}")
    zeros = xp.zeros(shape(mask), dtype=dtype, device=array_api_compat.device(mask))
    return xp.where(mask, zeros, -np.inf)


def combined_mask(
    scores: Array, mask: Array | None, *, causal: bool, align: Align, window: Window | None
) -> Array | None:
    """All restrictions as one mask for `scores` (..., n_q, n_k): they intersect. None where there is none."""
    xp = namespace_of(scores=scores)
    require_align(align)
    n_q, n_k = shape(scores)[-2:]
    allowed = causal_mask(n_q, n_k, align=align, like=scores) if causal else None
    if window is not None:
        inside = window_mask(n_q, n_k, window, align=align, like=scores)
        allowed = inside if allowed is None else allowed & inside
    if mask is None or allowed is None:
        return allowed if mask is None else mask
    if xp.isdtype(mask.dtype, "bool"):
        return mask & allowed
    return xp.where(allowed, mask, -np.inf)


def band(n_q: int, n_k: int, window: Window, *, align: Align) -> tuple[int, int]:
    """(first, last): in this window, Query i may attend to the Keys from i + first to i + last."""
    require_align(align)
    # A side as long as all positions together is unlimited, whatever the alignment.
    left, right = (min(side, n_q + n_k) if side >= 0 else n_q + n_k for side in _sides(window))
    diagonal = n_k - n_q if align == "bottom-right" else 0
    return diagonal - left, diagonal + right


def require_mask(mask: Array, **scores: Array) -> None:
    """ValueError unless `mask` is boolean or floating and broadcasts to the scores' (..., n_q, n_k).

    The scores, or what stands for them, by the name that an error shall use: require_mask(mask, q=outline).
    """
    (target,) = scores.values()
    xp = namespace_of(mask=mask, **scores)
    if not xp.isdtype(mask.dtype, "bool") and real_kind(xp, mask.dtype) != "real floating":
        raise ValueError(
            "mask must be boolean (True = may attend) or floating (added to the logits): "
            f"its dtype is {mask.dtype}; write mask != 0 if 1 means may attend"
        )
    require_broadcast("mask", mask, "n_q, n_k", target)
    require_one_device(mask=mask, **scores)


def require_align(align: object) -> None:
    """ValueError for a corner that does not exist."""
    if not isinstance(align, str) or align not in ("top-left", "bottom-right"):
        raise ValueError(f"align must be 'top-left' or 'bottom-right': it is {align!r}")


def _sides(window: Window) -> Window:
    try:
        left, right = window
        if any(isinstance(side, bool) for side in (left, right)):
            raise TypeError
        left, right = operator.index(left), operator.index(right)
    except (TypeError, ValueError):
        raise ValueError(f"window must be two integers (left, right): it is {window!r}") from None
    if min(left, right) < -1:
        raise ValueError(f"window sides must be -1 (unlimited) or a count of Keys: window is {window!r}")
    return left, right


def _is_floating(xp: Any, dtype: Any) -> bool:
    try:
        return bool(xp.isdtype(dtype, "real floating"))
    except (AttributeError, TypeError):
        # What is no dtype at all, or one of another library.
        return False


def _place(like: Array | None) -> tuple[Any, Any]:
    if like is None:
        return array_api_numpy, None
    return namespace_of(like=like), array_api_compat.device(like)
