"""The formulas of `attention-and-ffn` that contain digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from book_formulas.tex import number


def formulas(at: dict[str, Any]) -> list[str]:
    n, d, mixtral = at["n"], at["d"], at["mixtral"]
    wide, multiply_add = round(at["w_down"].shape[0] / at["w_down"].shape[1]), at["product_flops"](1, 1, 1)
    of_attention, of_ffn = at["of_attention"], at["of_ffn"]
    weights, ffn_weights = f"{of_attention.parameters // d**2}d^2", f"{of_ffn.parameters // d**2}d^2"
    once, twice = (at["attention_cost"](length, 1).flops for length in (1, 2))
    quadratic, linear = (twice - 2 * once) // 2, (4 * once - twice) // 2
    projections, mixing = f"{linear}nd^2", f"{quadratic}n^2d"
    assert of_attention.flops == linear * n * d**2 + quadratic * n**2 * d
    ffn = f"{of_ffn.flops // (n * d**2)}nd^2"
    half = f"{quadratic // 2}n^2d"
    crossing = f"{at['crossing'] // d}d"
    matrices = at["expert"].parameters // (mixtral["d"] * mixtral["d_ff"])
    width = f"{{{of_ffn.parameters // d**2}}}{{{matrices}}}d"
    row_sum = number(at["softmax"](np.zeros((1, 2))).sum())
    return [
        rf"d\times {wide}d",
        rf"n\times {wide}d",
        rf"{wide}d\times d",
        weights,
        rf"d\to {wide}d\to d",
        ffn_weights,
        projections,
        mixing,
        ffn,
        number(multiply_add),
        f"{multiply_add}mrp",
        weights,
        f"\\begin{{aligned}}\n\\text{{projections: }}&4\\cdot {multiply_add}\\,n\\,d\\,d={projections}\\\\\n"
        f"QK^\\top\\text{{: }}&{multiply_add}\\,n\\,d\\,n={half}\\\\\n"
        f"AV\\text{{: }}&{multiply_add}\\,n\\,n\\,d={half}\\\\\n"
        f"\\text{{total: }}&{projections}+{mixing}\n\\end{{aligned}}",
        f"{wide}d^2",
        ffn_weights,
        rf"2\cdot {multiply_add}\,n\,d\,({wide}d)={ffn}",
        "n>0",
        f"{quadratic}nd",
        f"\\begin{{aligned}}\n{projections}+{mixing}&={ffn}\\\\\n"
        f"{linear // quadratic}d+n&={of_ffn.flops // (n * d**2) // quadratic}d\\\\\n"
        f"n&={crossing}\n\\end{{aligned}}",
        f"n<{crossing}",
        f"n>{crossing}",
        f"n={n}",
        f"d={d}",
        f"n={crossing}",
        f"d={d}",
        f"{wide}d",
        number(multiply_add),
        number(at["cached_layers"]),
        f"{at['model_width']}",
        number(at["query_heads"]),
        number(at["group_heads"]),
        f"{at['cached_tokens']}",
        f"{10}^{round(np.log10(at['caches']['MHA'] / at['gigabytes']))}",
        r"\operatorname{SiLU}(z)=\frac{z}{1+e^{-z}}",
        rf"{matrices}\,d\,d_{{\mathrm{{ff}}}}={ffn_weights}"
        rf"\quad\Longrightarrow\quad d_{{\mathrm{{ff}}}}=\frac{width}",
        row_sum,
        number(mixtral["layers"]),
        f"d={mixtral['d']}",
        rf"d_{{\mathrm{{ff}}}}={mixtral['d_ff']}",
        number(mixtral["experts"]),
        number(mixtral["top_k"]),
        number(mixtral["kv_heads"]),
        weights,
        ffn_weights,
        f"{projections}+{mixing}",
        ffn,
        f"n={crossing}",
        f"d={at['check_d']}",
        f"n={at['check_n']}",
        f"n={crossing}",
        f"n={at['check_n']}",
        f"{at['cached_tokens']}",
        number(at["check_batch"]),
        f"d={d}",
        rf"d_{{\mathrm{{ff}}}}=\dfrac{width}",
        "n^2",
    ]
