"""The formulas of `scaling` that contain digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from book_formulas.tex import number, row


def formulas(at: dict[str, Any]) -> list[str]:
    q, k, raw, scaled, before, after = (at[name] for name in ("q", "k", "raw", "scaled", "before", "after"))
    d_k, widest = q.shape[-1], max(at["widths"])
    products = q * k
    mean, variance = number(abs(round(q.mean(), 1))), number(q.var(), 0)
    of_product, of_mean = number(products.var(), 0), number(abs(round(products.mean(), 1)))
    covariance = number(abs(round(np.cov(products[:, 0], products[:, 1])[0, 1], 1)))
    scaled_variance = number((at["products"] / np.sqrt(d_k)).var(), 0)
    few, most = rf"{row(before[0, :2], 4)[:-1]},\approx {number(before[0, 2], 0)}]", row(after[0], 3)
    zero_scale = number(0 * raw.max())
    row_of_jacobian = number(abs(round(at["jacobian"][0].sum(), 9)))
    row_sum, masked = number(after.sum()), number(at["softmax"](np.array([[raw.min(), -np.inf]]))[0, 1])
    delta, no_delta = number(np.eye(d_k)[0, 0]), number(np.eye(d_k)[0, 1])
    least, largest = number(before.min(), 0), number(before.max(), 0)
    p = np.linspace(0, 1, 101)
    steepest = 1 / p[np.argmax(p * (1 - p))]
    wider = round((at["wide"].var() / at["products"].var()) ** (1 / 4))
    return [
        mean,
        variance,
        f"\\begin{{aligned}}\n&\\mathbb{{E}}[q_i]=\\mathbb{{E}}[k_i]={mean}\\\\\n"
        f"&\\operatorname{{Var}}(q_i)=\\operatorname{{Var}}(k_i)={variance}\n\\end{{aligned}}",
        r"q\cdot k=\sum_{i=1}^{d_k} q_i k_i",
        of_mean,
        mean,
        rf"\mathbb{{E}}[q_i^2]=\mathbb{{E}}[k_i^2]={number((q**2).mean(), 0)}",
        "q_i^2",
        "k_i^2",
        "\\begin{aligned}\n"
        "\\operatorname{Var}(q_ik_i)&=\\mathbb{E}[q_i^2k_i^2]-\\mathbb{E}[q_ik_i]^2\\\\\n"
        f"&=\\mathbb{{E}}[q_i^2]\\,\\mathbb{{E}}[k_i^2]-{of_mean}\\\\\n"
        f"&={number((q**2).mean(), 0)}\\cdot {number((k**2).mean(), 0)}={of_product}\n"
        "\\end{aligned}",
        mean,
        "\\begin{aligned}\n"
        "&\\operatorname{Cov}(q_ik_i,\\,q_jk_j)\\\\\n"
        "&\\quad=\\mathbb{E}[q_ik_i\\,q_jk_j]-\\mathbb{E}[q_ik_i]\\,\\mathbb{E}[q_jk_j]\\\\\n"
        "&\\quad=\\mathbb{E}[q_i]\\,\\mathbb{E}[k_i]\\,\\mathbb{E}[q_j]\\,\\mathbb{E}[k_j]"
        f"-{of_mean}={covariance}\n"
        "\\end{aligned}",
        mean,
        mean,
        of_product,
        r"\operatorname{Var}(q\cdot k)=\sum_{i=1}^{d_k}\operatorname{Var}(q_ik_i)=d_k",
        "c^2",
        r"\operatorname{Var}\!\left(\frac{q\cdot k}{c}\right)=\frac{\operatorname{Var}(q\cdot k)}{c^2}"
        r"=\frac{d_k}{c^2}",
        scaled_variance,
        "c^2=d_k",
        rf"\operatorname{{Var}}\!\left(\frac{{q\cdot k}}{{\sqrt{{d_k}}}}\right)={scaled_variance}",
        f"{number(round((at['products'] / d_k).var() * d_k))}/d_k",
        f"d_k={d_k}",
        rf"{len(q)}\times {d_k}",
        f"{len(at['products'])}",
        f"d_k={widest}",
        f"d_k={d_k}",
        row(raw[0]),
        rf"\sqrt{{{d_k}}}={number(raw.max() / scaled.max())}",
        row(scaled[0]),
        rf"n_q\times n_k={raw.shape[0]}\times {raw.shape[1]}",
        "\\begin{aligned}\n"
        f"&\\operatorname{{Softmax}}({row(raw[0])})\\approx{few}\\\\\n"
        f"&\\operatorname{{Softmax}}({row(scaled[0])})\\approx{most}\n"
        "\\end{aligned}",
        zero_scale,
        r"p_i=\frac{e^{\ell_i}}{Z},\quad Z=\sum_{m=1}^{n_k} e^{\ell_m}",
        delta,
        no_delta,
        "\\frac{\\partial p_i}{\\partial \\ell_j}\n"
        "=\\frac{\\delta_{ij}\\,e^{\\ell_i}Z-e^{\\ell_i}e^{\\ell_j}}{Z^2}\n"
        "=p_i\\,(\\delta_{ij}-p_j)",
        JACOBIAN,
        r"\frac{\partial p_i}{\partial \ell_i}=p_i(1-p_i)",
        row_of_jacobian,
        rf"\sum_{{j}} p_i\,(\delta_{{ij}}-p_j)=p_i-p_i\sum_{{j}}p_j={row_of_jacobian}",
        number(abs(round(at["jacobian"][:, 0].sum(), 9))),
        row_sum,
        "p_1(1-p_1)",
        rf"\sqrt{{{d_k}}}",
        f"p_i=1/{number(steepest)}",
        least,
        largest,
        r"H=-\sum_{j=1}^{n_k} p_j\log p_j",
        f"p_j={least}",
        least,
        least,
        least,
        mean,
        rf"{number(at['of_matrix'] * at['width'])}/d_{{\mathrm{{model}}}}",
        number(at["of_state"]),
        r"1/\sqrt{d_k}",
        row_sum,
        masked,
        no_delta,
        "c^2",
        scaled_variance,
        "p_i(1-p_i)",
        mean,
        variance,
        scaled_variance,
        f"d_k={d_k}",
        rf"\mathbb{{E}}[q_i^2]\,\mathbb{{E}}[k_i^2]={wider}^2\cdot {wider}^2",
        rf"\sqrt{{{d_k}}}",
        scaled_variance,
        f"d_k={d_k}",
        "d_k^2",
        f"{number(round((at['products'] / d_k).var() * d_k))}/d_k",
        row_sum,
    ]


JACOBIAN = (
    "\\begin{aligned}\nJ&=\\operatorname{diag}(p)-p\\,p^\\top\\\\\n&=\\begin{bmatrix}p_1(1-p_1)&-p_1p_2&\\cdots&-p_1p_{n_k}\\\\"
    "-p_2p_1&p_2(1-p_2)&\\cdots&-p_2p_{n_k}\\\\\\vdots&\\vdots&\\ddots&\\vdots\\\\"
    "-p_{n_k}p_1&-p_{n_k}p_2&\\cdots&p_{n_k}(1-p_{n_k})\\end{bmatrix}\n\\end{aligned}"
)
