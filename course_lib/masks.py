"""Which Keys a Query may attend to. Boolean masks: True = may attend. Floating masks are added to the logits."""

from __future__ import annotations

from typing import Any, Literal

import array_api_compat
import array_api_compat.numpy as array_api_numpy
import numpy as np

from course_lib._common import Array, namespace_of, shape

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

    Returns booleans of shape (n_q, n_k), True = may attend. `window` is (left, right); -1 leaves a side unlimited,
    so (-1, 0) is the causal mask. `align` and `like` are those of `causal_mask`.
    Errors: ValueError for a negative length, a side below -1 or another `align`. Source: Beltagy et al. 2020, 3.1.
    """
    for name, length in {"n_q": n_q, "n_k": n_k}.items():
        if length < 0:
            raise ValueError(f"{name} must be 0 or more: it is {length}")
    if align not in ("top-left", "bottom-right"):
        raise ValueError(f"align must be 'top-left' or 'bottom-right': it is {align!r}")
    left, right = _sides(window)
    xp, device = _place(like)
    diagonal = xp.arange(n_q, device=device)[:, None] + (n_k - n_q if align == "bottom-right" else 0)
    offset = xp.arange(n_k, device=device)[None, :] - diagonal
    # A side as long as all positions together is unlimited, whatever the alignment.
    unlimited = n_q + n_k
    return (offset >= -(unlimited if left == -1 else left)) & (offset <= (unlimited if right == -1 else right))


def padding_mask(lengths: Array, n_k: int) -> Array:
    """Every Query may attend to the first `lengths` Keys of its sequence; the rest is padding.

    Returns booleans of shape (..., 1, n_k) for `lengths` of shape (...), True = may attend. With a heads axis,
    pass lengths[:, None], so that the mask is (batch, 1, 1, n_k).
    Errors: ValueError where `lengths` are not integers from 0 to n_k.
    """
    xp = namespace_of(lengths=lengths)
    if not xp.isdtype(lengths.dtype, "integral"):
        raise ValueError(f"lengths must be integers: their dtype is {lengths.dtype}")
    if bool(xp.any((lengths < 0) | (lengths > n_k))):
        raise ValueError(f"lengths must lie between 0 and n_k = {n_k}: they are {lengths}")
    return xp.arange(n_k, device=array_api_compat.device(lengths)) < lengths[..., None, None]


def additive_mask(mask: Array, *, dtype: Any = None) -> Array:
    """The floating form M of a boolean mask: 0 where it is True (may attend), -inf where it is False.

    Returns the shape of `mask` in `dtype` (by default the library's default float).
    Errors: ValueError where `mask` is not boolean. Source: chapter `computation`, L = S/sqrt(d_k) + M.
    """
    xp = namespace_of(mask=mask)
    if not xp.isdtype(mask.dtype, "bool"):
        raise ValueError(f"mask must be boolean, True = may attend: its dtype is {mask.dtype}")
    zeros = xp.zeros(shape(mask), dtype=dtype, device=array_api_compat.device(mask))
    return xp.where(mask, zeros, -np.inf)


def combined_mask(
    scores: Array, mask: Array | None, *, causal: bool, align: Align, window: Window | None
) -> Array | None:
    """All restrictions as one mask for `scores` (..., n_q, n_k): they intersect. None where there is none."""
    xp = namespace_of(scores=scores)
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


def require_mask(mask: Array, scores: Array) -> None:
    """ValueError unless `mask` is boolean or floating and broadcasts to the scores' (..., n_q, n_k)."""
    xp = namespace_of(mask=mask, scores=scores)
    if not xp.isdtype(mask.dtype, ("bool", "real floating")):
        raise ValueError(
            "mask must be boolean (True = may attend) or floating (added to the logits): "
            f"its dtype is {mask.dtype}; write mask != 0 if 1 means may attend"
        )
    try:
        together = np.broadcast_shapes(shape(mask), shape(scores))
    except ValueError:
        together = ()
    if together[-2:] != shape(scores)[-2:]:
        raise ValueError(
            f"mask must broadcast to (..., n_q, n_k) = {shape(scores)}: it has shape {shape(mask)}"
        )


def _sides(window: Window) -> Window:
    try:
        left, right = window
    except (TypeError, ValueError):
        raise ValueError(f"window must be (left, right): it is {window!r}") from None
    for side in (left, right):
        if not isinstance(side, int) or side < -1:
            raise ValueError(f"window sides must be -1 (unlimited) or a count of Keys: window is {window!r}")
    return left, right


def _place(like: Array | None) -> tuple[Any, Any]:
    if like is None:
        return array_api_numpy, None
    return namespace_of(like=like), array_api_compat.device(like)
