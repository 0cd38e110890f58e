"""The formulas of `long-sequences` that contain digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from book_formulas.tex import number, row


def formulas(at: dict[str, Any]) -> list[str]:
    kept, unchanged = number(np.exp(0)), f"e^0={number(at['trace'][1][1])}"
    nothing = number(np.abs(at["attention"](at["q"], at["k"], at["v"], mask=at["allowed"])[0]).max())
    (m, z), (other_m, other_z) = at["first"], at["second"]
    n, block, heads, tokens = at["check_n"], at["check_block"], at["check_heads"], at["check_tokens"]
    return [
        "n^2",
        number(at["width"]),
        r"L_1,\dots,L_{n_k}",
        r"m_t=\max(m_{t-1},L_t)",
        "m_{t-1}",
        r"e^{L_j-m_t}=e^{L_j-m_{t-1}}\,e^{m_{t-1}-m_t}",
        "\\begin{aligned}\n"
        "&Z_t=e^{m_{t-1}-m_t}\\,Z_{t-1}+e^{L_t-m_t}\\\\\n"
        "&U_t=e^{m_{t-1}-m_t}\\,U_{t-1}+e^{L_t-m_t}\\,v_t\n"
        "\\end{aligned}",
        r"m_0=-\infty",
        f"Z_0={nothing}",
        f"U_0={nothing}",
        unchanged,
        kept,
        number(np.log(at["trace"][1][1])),
        rf"B_q\times {at['z'].shape[1]}",
        "\\begin{aligned}\n"
        "&L_J=\\frac{Q_IK_J^\\top}{\\sqrt{d_k}}+M_{IJ}\\\\\n"
        "&m'=\\max\\bigl(m,\\operatorname{rowmax}(L_J)\\bigr)\\\\\n"
        "&P=e^{L_J-m'}\\\\\n"
        "&Z'=e^{m-m'}\\odot Z+P\\,\\mathbf{1}\\\\\n"
        "&U'=e^{m-m'}\\odot U+P\\,V_J\n"
        "\\end{aligned}",
        r"\mathbf{1}",
        kept,
        rf"B_k\times {at['z'].shape[1]}",
        kept,
        r"P\,[V_J\;\mathbf{1}]=[PV_J\;P\mathbf{1}]",
        nothing,
        f"Z={nothing}",
        nothing,
        nothing,
        "s+B_q-1",
        "t>s+B_q-1",
        r"t+B_k-1\le s",
        r"\frac{1+2+\cdots+T}{T^2}=\frac{T(T+1)/2}{T^2}"
        r"=\frac{1}{2}\left(1+\frac{1}{T}\right)",
        f"T={at['shown']}",
        f"T={at['shown_many']}",
        "n^2",
        "n^2",
        "n^2",
        number(np.abs(at["grad_logits"].sum(axis=-1)).max().round(12)),
        number(np.exp(-np.inf)),
        "t>s+B_q-1",
        "n^2",
        f"m={number(m)}",
        f"Z={number(z)}",
        f"m'={number(other_m)}",
        f"Z'={number(other_z)}",
        f"m^*={number(at['top'])}",
        f"e^{{{number(m)}-{number(other_m)}}}",
        f"n={n}",
        f"B_q=B_k={block}",
        number(heads),
        f"{tokens}",
        number(at["check_itemsize"]),
        rf"{heads}\cdot {tokens}^2\cdot {at['check_itemsize']}",
        row(at["check_a"]),
        row(at["check_grad"]),
        number(abs(at["check_grads"].sum()).round(12)),
        "p_1(1-p_1)",
        "-p_1p_j",
    ]
