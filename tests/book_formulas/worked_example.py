"""The formulas of `worked-example` that contain digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from book_formulas.tex import matrix, number, row


def formulas(at: dict[str, Any]) -> list[str]:
    q, k, v, s, logits = (at[name] for name in ("q", "k", "v", "s", "logits"))
    weights, output, parts, sharp = (at[name] for name in ("weights", "output", "parts", "sharp"))
    (n_q, d_k), (n_k, d_v) = q.shape, v.shape
    scored = rf"{n_q}\times {n_k}"
    factor = s.max() / logits.max()
    first, second, third = (f"{number(weights[0, i], 2)}{row(v[i])}" for i in range(n_k))
    row_sum, masked = number(weights.sum()), number(at["hidden"].weights[0, 1])
    unmatched = number(s[0, 1])
    larger = np.log(sharp[0, 0] / sharp[0, 1]) / np.log(weights[0, 0] / weights[0, 1]) * logits[0]
    return [
        f"d_k={d_k}",
        f"d_v={d_v}",
        f"\\begin{{aligned}}\n&q={row(q[0])}\\\\\n&K={matrix(k)}\\\\\n&V={matrix(v)}\n\\end{{aligned}}",
        rf"{n_q}\times {d_k}",
        rf"{n_k}\times {d_k}",
        rf"{n_k}\times {d_v}",
        rf"({n_q}\times {d_k})({d_k}\times {n_k})={scored}",
        rf"S=QK^\top={row(s[0])}",
        rf"\sqrt{{d_k}}=\sqrt{d_k}={number(factor)}",
        f"M={number(np.abs(logits - s / factor).max())}",
        scored,
        rf"L=\frac{{S}}{{\sqrt{{d_k}}}}+M={row(logits[0])}",
        scored,
        rf"A=\operatorname{{Softmax}}_{{\mathrm{{keys}}}}(L)\approx{row(weights[0], 2)}",
        row_sum,
        rf"({scored})({n_k}\times {d_v})={n_q}\times {d_v}",
        f"\\begin{{aligned}}\n&{first}={row(parts[0], 2)}\\\\\n&{second}={row(parts[1], 2)}\\\\\n"
        f"&{third}\\approx{row(parts[2], 2)}\n\\end{{aligned}}",
        rf"O=AV\approx{row(output[0], 2)}",
        f"d_k={d_k}",
        f"d_v={d_v}",
        unmatched,
        unmatched,
        f"e^{unmatched}={number(np.exp(s[0, 1]))}",
        masked,
        f"\\begin{{aligned}}\n&\\operatorname{{Softmax}}_{{\\mathrm{{keys}}}}({row(larger.round(9))})\\\\\n"
        f"&\\quad\\approx{row(sharp[0], [3, 5, 3])}\n\\end{{aligned}}",
        row(v[0]),
        rf"d_k\times {at['q_column'].shape[1]}",
        rf"{row(s[0])}\to",
        rf"{row(logits[0])}\to",
        rf"{row(weights[0], 2)}\to",
        row(output[0], 2),
        unmatched,
        number(at["softmax"](np.array([[v.max(), np.log(np.finfo(float).tiny) * 2]]))[0, 1]),
        row(logits[0]),
        masked,
    ]
