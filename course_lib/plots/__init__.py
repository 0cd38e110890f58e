"""The pictures of the book: plain arrays in, a matplotlib Figure out; nothing is shown or printed.

`language` is "ko" (default) or "en". Bad input is a ValueError that names the rule and what came.
"""

from course_lib.plots.costs import (
    attention_and_ffn_flops,
    attention_memory,
    causal_blocks,
    kv_cache,
    online_softmax,
)
from course_lib.plots.grading import (
    class_run,
    grading_time,
)
from course_lib.plots.scores import (
    dot_product_variance,
    dot_product_variances,
    growing_norms,
    sharpening,
    softmax_gradient,
    weights_before_and_after_scaling,
)
from course_lib.plots.steps import (
    contributions,
    pipeline,
    sharing_of_heads,
    weights_of_heads,
)

__all__ = [
    "attention_and_ffn_flops",
    "attention_memory",
    "causal_blocks",
    "class_run",
    "contributions",
    "dot_product_variance",
    "dot_product_variances",
    "grading_time",
    "growing_norms",
    "kv_cache",
    "online_softmax",
    "pipeline",
    "sharing_of_heads",
    "sharpening",
    "softmax_gradient",
    "weights_before_and_after_scaling",
    "weights_of_heads",
]
