"""Scaled dot-product attention: Score -> Scale & Mask -> Softmax over Keys -> Output, on NumPy and on Torch."""

from typing import TYPE_CHECKING, Any

from course_lib.attention import attention, scale_and_mask, scores, softmax, weighted_sum
from course_lib.blocks import (
    block_steps,
    feed_forward,
    layer_norm,
    mixture_of_experts,
    residual,
    rms_norm,
    swiglu,
    transformer_block,
)
from course_lib.costs import (
    Cost,
    attention_cost,
    feed_forward_cost,
    kv_cache_bytes,
    latent_attention_cost,
    latent_cache_bytes,
    mixture_of_experts_cost,
    swiglu_cost,
)
from course_lib.devices import best_device
from course_lib.heads import (
    LatentCache,
    LatentWeights,
    grouped_query_attention,
    latent_attention,
    latent_cache,
    merge_heads,
    multi_head_attention,
    rotary,
    split_heads,
)
from course_lib.masks import additive_mask, causal_mask, padding_mask, window_mask
from course_lib.score_control import qk_norm, soft_cap

if TYPE_CHECKING:
    from course_lib.explanation import Explanation, explain

__version__ = "0.1.0"

__all__ = [
    "Cost",
    "Explanation",
    "LatentCache",
    "LatentWeights",
    "additive_mask",
    "attention",
    "attention_cost",
    "best_device",
    "block_steps",
    "causal_mask",
    "explain",
    "feed_forward",
    "feed_forward_cost",
    "grouped_query_attention",
    "kv_cache_bytes",
    "latent_attention",
    "latent_attention_cost",
    "latent_cache",
    "latent_cache_bytes",
    "layer_norm",
    "merge_heads",
    "mixture_of_experts",
    "mixture_of_experts_cost",
    "multi_head_attention",
    "padding_mask",
    "qk_norm",
    "residual",
    "rms_norm",
    "rotary",
    "scale_and_mask",
    "scores",
    "soft_cap",
    "softmax",
    "split_heads",
    "swiglu",
    "swiglu_cost",
    "transformer_block",
    "weighted_sum",
    "window_mask",
]


def __getattr__(name: str) -> Any:
    # explain() may draw, so it loads with its first use: importing the library stays quick.
    if name in ("explain", "Explanation"):
        from course_lib import explanation

        return getattr(explanation, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    # For completion in editors and shells, which would not know explain() before its first use.
    return sorted({*globals(), *__all__})
