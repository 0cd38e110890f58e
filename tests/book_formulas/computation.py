"""The formulas of `computation` that contain digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from book_formulas.tex import number, row


def formulas(at: dict[str, Any]) -> list[str]:
    weights, mask = at["lib_weights"][0], at["mask"]
    no_weight, row_sum = number(weights[mask == -np.inf][0]), number(weights.sum())
    allowed = number(mask[0])
    mixture = "+".join(f"{number(weight, 2)}v_{place}" for place, weight in enumerate(weights, 1) if weight)
    largest = number(np.exp(at["logits"] - at["logits"].max()).max())
    hidden = int(np.argmax(at["lib_scores"])) + 1
    nothing = number(np.abs(at["attention"](at["q"], at["k"], at["v"], mask=at["nothing"])).max())
    return [
        allowed,
        row_sum,
        rf"e^0={largest}",
        nothing,
        row_sum,
        rf"e^{{-\infty}}={number(np.exp(-np.inf))}",
        no_weight,
        f"d_k={at['k'].shape[-1]}",
        f"M={row(mask)}",
        row(at["lib_scores"][0]),
        row(at["lib_logits"][0]),
        rf"\approx{row(weights, 2)}",
        rf"\approx {mixture}",
        f"v_{hidden}",
        nothing,
        no_weight,
        no_weight,
        row_sum,
        row_sum,
        no_weight,
        row_sum,
        no_weight,
        row_sum,
        row_sum,
    ]
