"""The formulas of `score-control` that contain digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from book_formulas.tex import number


def formulas(at: dict[str, Any]) -> list[str]:
    cap, d_k, a = at["gemma_cap"], at["q"].shape[-1], at["a"][0]
    capped, interval = rf"{cap}\tanh(a/{cap})", rf"(-{cap},{cap})"
    nothing, most = number(at["slope"][0, -1], 0), number(np.tanh(at["tied"][0]))
    grown = np.log(at["scaled"][1, 0] / at["scaled"][0, 0]) / np.log(at["factors"][1])
    root, ratio = r"1/\sqrt{d_k}", "e^{2c}"
    few, many = number(at["check_few"]), number(at["check_many"])
    return [
        capped,
        interval,
        f"t^{number(grown)}",
        rf"\frac{{(tq)\cdot(tk)}}{{\sqrt{{d_k}}}}=t^{number(grown)}\,\frac{{q\cdot k}}{{\sqrt{{d_k}}}}",
        r"\sigma^4d_k",
        r"\sigma^4",
        r"\operatorname{RMSNorm}(q)=g\odot\frac{q}{\sqrt{\operatorname{mean}(q^2)}}",
        r"\operatorname{mean}(q^2)",
        r"\operatorname{mean}(q^2)=\frac{1}{d_k}\sum_{i=1}^{d_k}q_i^2=\frac{\lVert q\rVert^2}{d_k}",
        number(np.abs(0 * at["q"]).max()),
        r"\lVert\hat q\rVert=\frac{\lVert q\rVert}{\sqrt{\operatorname{mean}(q^2)}}"
        r"=\frac{\lVert q\rVert}{\lVert q\rVert/\sqrt{d_k}}=\sqrt{d_k}",
        root,
        f"d_k={d_k}",
        root,
        root,
        f"c={cap}",
        capped,
        f"c={at['last_cap']}",
        r"\tanh x=x-x^3/3+\cdots",
        r"y\approx a-\dfrac{a^3}{3c^2}",
        r"\frac{dy}{da}=1-\tanh^2\!\left(\frac{a}{c}\right)>0",
        rf"|\tanh x|<{most}",
        nothing,
        number(a[1]),
        number(a[4]),
        number(a[4]),
        interval,
        most,
        f"[-{cap},{cap}]",
        ratio,
        f"c={cap}",
        f"d_k={at['check_d']}",
        number(at["check_gain"]),
        number(at["check_growth"]),
        f"c={at['check_cap']}",
        few,
        many,
        many,
        number(at["weights_capped"].sum() / len(at["weights_capped"])),
        number(at["softmax"](at["soft_cap"](at["three"], at["check_cap"]) + at["mask"])[0, -1]),
        f"c={cap}",
        ratio,
    ]
