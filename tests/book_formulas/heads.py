"""The formulas of `heads` that contain digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from book_formulas.tex import number


def formulas(at: dict[str, Any]) -> list[str]:
    stored, counts = at["elements"], at["counts"]
    keys_and_values = number(stored["mha"] / (at["v2_heads"] * at["v2_width"]))
    unit_variance = number(np.random.default_rng(0).standard_normal(10**6).var(), 0)
    whole_width = r"1/\sqrt{d_{\mathrm{model}}}"
    return [
        "\\begin{aligned}\n"
        "&Q_i=XW^Q_i,\\quad K_i=XW^K_i,\\quad V_i=XW^V_i\\\\\n"
        "&O_i=\\operatorname{Attention}(Q_i,K_i,V_i)\\\\\n"
        "&Y=\\operatorname{Concat}(O_1,\\dots,O_h)\\,W^O\n"
        "\\end{aligned}",
        whole_width,
        r"1/\sqrt{d_k}",
        r"W^Q_1,\dots,W^Q_h",
        r"W^O_1,\dots,W^O_h",
        r"Y=\begin{bmatrix}O_1&\cdots&O_h\end{bmatrix}\begin{bmatrix}W^O_1\\\vdots\\W^O_h\end{bmatrix}"
        r"=\sum_{i=1}^{h}O_iW^O_i",
        rf"h_{{\mathrm{{kv}}}}={counts['mqa']}",
        r"1/\sqrt{d_h+d_R}",
        rf"{keys_and_values}h\,d_k",
        rf"h_{{\mathrm{{kv}}}}={counts['gqa']}",
        rf"{number(stored['gqa'] / (counts['gqa'] * at['v2_width']))}h_{{\mathrm{{kv}}}}d_k",
        f"{number(stored['mqa'] / at['v2_width'])}d_k",
        f"h={at['v2_heads']}",
        f"d_k=d_v={at['v2_width']}",
        f"d_c={at['v2_c']}",
        f"d_R={stored['mla'] - at['v2_c']}",
        rf"d_{{\mathrm{{model}}}}={at['width']}",
        f"h={at['many']}",
        whole_width,
        unit_variance,
        number(at["query_heads"]),
        number(at["shared_heads"]),
    ]
