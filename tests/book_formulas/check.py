"""The formulas of `check` that contain digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from book_formulas.tex import matrix, number


def formulas(at: dict[str, Any]) -> list[str]:
    n, d, cap = at["n"], at["d"], at["cap"]
    width, factor, flops = at["width"], at["factor"], at["flops_per_multiply_add"]
    assumed = at["rng"].standard_normal(10**6)
    capped = rf"(-{cap},{cap})"
    masked_weight = number(at["softmax"](at["masked"])[0, 2])
    return [
        number(abs(round(assumed.mean(), 1))),
        number(assumed.var(), 0),
        number(at["d_k"] / np.sqrt(at["d_k"]) ** 2),
        matrix(at["logits"]),
        f"V={matrix(at['v'])}",
        rf"\approx{matrix(at['weights'], 2)}",
        rf"\approx{matrix(at['output'], 2)}",
        number(factor),
        number(factor),
        rf"\approx{matrix(at['sharp'], [3, 5, 3])}",
        masked_weight,
        f"{number(at['count'](at['attention_weights']) / d**2)}d^2",
        rf"d\to{width}d\to d",
        f"{number(at['count'](at['ffn_weights']) / d**2)}d^2",
        f"{number(at['projections'] / (n * d**2))}nd^2",
        f"{number(at['mixing'] / (n**2 * d))}n^2d",
        f"{number(at['ffn_flops'] / (n * d**2))}nd^2",
        f"{width}d",
        number(flops),
        rf"{cap}\tanh(a/{cap})",
        capped,
        capped,
        number(np.ptp(0 * at["large"])),
    ]
