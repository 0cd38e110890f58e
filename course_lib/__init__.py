"""Scaled dot-product attention: Score -> Scale & Mask -> Softmax over Keys -> Output, on NumPy and on Torch."""

from typing import TYPE_CHECKING, Any

from course_lib.attention import attention, scale_and_mask, scores, softmax, weighted_sum
from course_lib.devices import best_device
from course_lib.masks import additive_mask, causal_mask, padding_mask, window_mask
from course_lib.score_control import qk_norm, soft_cap

if TYPE_CHECKING:
    from course_lib.explanation import Explanation, explain

__version__ = "0.1.0"

__all__ = [
    "Explanation",
    "additive_mask",
    "attention",
    "best_device",
    "causal_mask",
    "explain",
    "padding_mask",
    "qk_norm",
    "scale_and_mask",
    "scores",
    "soft_cap",
    "softmax",
    "weighted_sum",
    "window_mask",
]


def __getattr__(name: str) -> Any:
    # explain() may draw, so it loads with its first use: importing the library stays quick.
    if name in ("explain", "Explanation"):
        from course_lib import explanation

        return getattr(explanation, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
