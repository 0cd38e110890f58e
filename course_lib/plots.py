"""The pictures of the book: plain arrays in, a matplotlib Figure out; nothing is shown or printed.

`language` is "ko" (default) or "en". Bad input is a ValueError that names the rule and what came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from course_lib._figure_style import (
    FAINT,
    INK,
    KEY_HATCHES,
    PAPER,
    ROLES,
    WIDTH,
    book_style,
    new_figure,
    speaker,
)
from course_lib._matrix_sheet import Sheet
from course_lib._numbers import number

Array = NDArray[np.float64]

LARGEST_SIDE = 12


@book_style()
def pipeline(
    scores: ArrayLike,
    logits: ArrayLike,
    weights: ArrayLike,
    v: ArrayLike,
    output: ArrayLike,
    *,
    scale: float | None = None,
    softcap: float | None = None,
    language: str = "ko",
) -> Figure:
    """The four steps as matrices with numbers: S, L, A below each other, O where A's rows meet V's columns.

    Shapes: scores, logits, weights (n_q, n_k); v (n_k, d_v); output (n_q, d_v), each side 1 to 12.
    `scale` and `softcap` only say what led from the scores to the logits; None is 1/sqrt(d_k), and no cap.
    Where a logit is -inf the Key is masked: hatched in L and A, and in V where no Query may read the row.
    """
    say = speaker(language)
    s, logit, a = _matrix(scores, "scores"), _matrix(logits, "logits"), _matrix(weights, "weights")
    values, o = _matrix(v, "v"), _matrix(output, "output")
    _require_pipeline_shapes(s, logit, a, values, o)
    masked = logit == -np.inf
    unread = np.repeat(masked.all(axis=0)[:, None], values.shape[1], axis=1)
    legend = say("mask된 Key: weight 0", "masked Key: weight 0") if masked.any() else None
    sheet = Sheet(n_q=s.shape[0], n_k=s.shape[1], d_v=values.shape[1], legend=legend)
    sheet.caption("S", "1  Score", r"S = QK^\top", ("q", "k"))
    sheet.matrix("S", s, role="score")
    factor = r"\div\,\sqrt{d_k}" if scale is None else rf"\times\,{scale:g}"
    sheet.arrow_down("S", rf"${factor}$, " + (f"soft-cap {softcap:g}, " if softcap else "") + "$+\\,M$")
    sheet.caption("L", "2  Scale & Mask", "L", ("q", "k"))
    sheet.matrix("L", logit, role="score", hatched=masked)
    sheet.arrow_down("L", r"$\exp$" + say(", row의 합으로 나눔", ", divided by the row's sum"))
    sheet.caption("A", "3  Softmax over Keys", "A", ("q", "k"))
    sheet.matrix("A", a, role="weight", hatched=masked)
    sheet.caption("V", "Value", "V", ("k", "v"))
    sheet.matrix("V", values, role="v", hatched=unread)
    sheet.caption("O", "4  Output", "O = AV", ("q", "v"))
    sheet.matrix("O", o, role="output")
    sheet.arrows_into_output()
    return sheet.figure


@book_style()
def weights_before_and_after_scaling(
    unscaled: ArrayLike, scaled: ArrayLike, *, language: str = "ko"
) -> Figure:
    """Bars of one Query's weights, without and with the division by sqrt(d_k). Shapes: (n_k,) and (n_k,)."""
    say = speaker(language)
    return _paired_bars(
        _weights(unscaled, "unscaled"),
        _weights(scaled, "scaled"),
        (say("scaling 전", "before scaling"), say("scaling 뒤", "after scaling")),
    )


@book_style()
def sharpening(
    weights: ArrayLike, sharpened: ArrayLike, *, factor: float = 10, language: str = "ko"
) -> Figure:
    """Bars of one Query's weights, from its logits and from `factor` times these. Shapes: (n_k,) twice."""
    say = speaker(language)
    if not factor > 0:
        raise ValueError(f"factor must be positive: {factor}")
    return _paired_bars(
        _weights(weights, "weights"),
        _weights(sharpened, "sharpened"),
        (say("처음 logits", "the logits"), f"logits × {factor:g}"),
    )


@book_style()
def softmax_gradient(unscaled: ArrayLike, scaled: ArrayLike, *, language: str = "ko") -> Figure:
    """p(1 - p) over p, Softmax's slope in its own logit, with one Query's weights before and after scaling.

    Shapes: (n_k,) and (n_k,). The slope at the first Key is written beside its point.
    """
    say = speaker(language)
    before, after = _weights(unscaled, "unscaled"), _weights(scaled, "scaled")
    figure = new_figure(WIDTH, 3.3)
    axes = figure.add_subplot()
    p = np.linspace(0, 1, 201)
    axes.plot(p, p * (1 - p), color=FAINT, zorder=1)
    common: Any = {"s": 52, "linewidth": 1.6, "zorder": 3, "clip_on": False}
    axes.scatter(before, before * (1 - before), marker="s", facecolor=PAPER, edgecolor=ROLES["score"],
                 label=say("scaling 전", "before scaling"), **common)  # fmt: skip
    axes.scatter(after, after * (1 - after), marker="o", color=ROLES["weight"],
                 label=say("scaling 뒤", "after scaling"), **common)  # fmt: skip
    # The weights of the first Key are the ones that the text follows.
    for p_1, shift in ((before[0], (-16, 9)), (after[0], (8, 6))):
        axes.annotate(number(p_1 * (1 - p_1)), (p_1, p_1 * (1 - p_1)), shift, textcoords="offset points",
                      ha="right" if shift[0] < 0 else "left")  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(0, 0.29), xlabel="weight $p_i$")
    axes.set_title(r"$\partial p_i / \partial \ell_i = p_i(1 - p_i)$")
    axes.annotate(
        say("가장 클 때 0.25", "at most 0.25"), (0.5, 0.25), (0, 6), textcoords="offset points", ha="center"
    )
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def dot_product_variances(
    d_k: Sequence[int] = (1, 4, 16, 64, 256), *, pairs: int = 400, repeats: int = 20, seed: int = 0
) -> Array:
    """Measured variance of q.k, one row a repeat and one column a d_k: shape (repeats, len(d_k)).

    Each entry is the variance over `pairs` pairs whose components are independent, standard normal.
    By the derivation (chapter Scaling) the expected value of a column is its d_k.
    """
    if not len(d_k) or any(width < 1 for width in d_k) or pairs < 2 or repeats < 1:
        raise ValueError(
            "the experiment needs widths of at least 1, 2 pairs and 1 repeat: "
            f"d_k={tuple(d_k)}, pairs={pairs}, repeats={repeats}"
        )
    rng = np.random.default_rng(seed)
    return np.array([[_one_variance(rng, pairs, width) for width in d_k] for _ in range(repeats)])


@book_style()
def dot_product_variance(d_k: Sequence[int], variances: ArrayLike, *, language: str = "ko") -> Figure:
    """Variance of q.k and of q.k / sqrt(d_k) over d_k: the mean of all repeats, and their range as a band.

    `variances` is what `dot_product_variances` gives: (repeats, len(d_k)).
    """
    say = speaker(language)
    widths = np.asarray(d_k, dtype=float)
    measured = _matrix(variances, "variances")
    if widths.ndim != 1 or measured.shape[1] != len(widths) or (measured <= 0).any() or (widths < 1).any():
        raise ValueError(
            "variances must be positive, one column for each d_k of at least 1: "
            f"variances has shape {measured.shape}, d_k is {tuple(d_k)}"
        )
    figure = new_figure(WIDTH, 4.3)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    derived: Any = {"color": FAINT, "linewidth": 1.2, "linestyle": ":"}
    upper.plot(widths, widths, label=say("유도한 값", "as derived"), **derived)
    lower.plot(widths, np.ones_like(widths), **derived)
    _band(upper, widths, measured, "s-", ROLES["score"], say("측정: 평균과 범위", "measured: mean and range"))
    _band(lower, widths, measured / widths, "o-", ROLES["weight"], "")
    ticks = [f"{width:g}" for width in widths]
    upper.set(xscale="log", yscale="log", title=say("$q \\cdot k$의 variance", "variance of $q \\cdot k$"))
    upper.set_yticks(widths, ticks)
    upper.set_xticks(widths, ticks)
    upper.minorticks_off()
    lower.minorticks_off()
    lower.set(ylim=(0, 2), xlabel="$d_k$", title=say("$q \\cdot k\\,/\\sqrt{d_k}$의 variance",
              "variance of $q \\cdot k\\,/\\sqrt{d_k}$"))  # fmt: skip
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@book_style()
def contributions(weights: ArrayLike, v: ArrayLike, *, language: str = "ko") -> Figure:
    """How one Query's output adds up: for each component, the steps weights[i] * v[i], and their sum.

    Shapes: weights (n_k,), v (n_k, d_v), with at most 8 Keys and 6 components.
    """
    say = speaker(language)
    a, values = _weights(weights, "weights"), _matrix(v, "v")
    if len(a) != len(values) or len(a) > len(KEY_HATCHES) or values.shape[1] > 6:
        raise ValueError(
            f"v must have one row for each weight, at most {len(KEY_HATCHES)} rows and 6 columns: "
            f"weights has shape {a.shape}, v has shape {values.shape}"
        )
    parts = a[:, None] * values
    figure = new_figure(WIDTH, 0.75 + values.shape[1] * (0.55 + 0.3 * (len(a) + 1)))
    rows = figure.subplots(values.shape[1], 1, sharex=True, squeeze=False)[:, 0]
    names = [f"{number(weight)} $v_{{{key + 1}}}$" for key, weight in enumerate(a)]
    for component, axes in enumerate(rows):
        _waterfall(axes, names, parts[:, component])
        axes.set_title(say(f"output의 성분 {component + 1}", f"component {component + 1} of the output"))
    rows[-1].set_xlim(*_with_room_for_labels(np.cumsum(parts, axis=0)))
    rows[-1].set_xlabel(say("기여를 차례로 더한 값", "contributions, added one after another"))
    return figure


def _paired_bars(before: Array, after: Array, names: tuple[str, str]) -> Figure:
    if before.shape != after.shape:
        raise ValueError(f"both rows of weights must have one length: {before.shape} and {after.shape}")
    figure = new_figure(WIDTH, 1.2 + 0.56 * len(before))
    axes = figure.add_subplot()
    place = np.arange(len(before))
    looks: tuple[Any, Any] = (
        {"color": "#e2e4e8", "edgecolor": ROLES["score"], "hatch": "///"},
        {"color": ROLES["weight"]},
    )
    for weights, shift, name, look in zip((before, after), (-0.2, 0.2), names, looks, strict=True):
        bars = axes.barh(place + shift, weights, 0.36, label=name, **look)
        axes.bar_label(bars, [number(weight) for weight in weights], padding=3, fontsize=9.5)
    axes.set(xlim=(0, 1.16), xticks=np.linspace(0, 1, 5), xlabel="weight")
    axes.set_yticks(place, [f"Key {key + 1}" for key in place])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside upper left", ncols=2)
    return figure


def _waterfall(axes: Axes, names: list[str], parts: Array) -> None:
    total = parts.sum()
    starts = np.concatenate(([0.0], np.cumsum(parts)[:-1]))
    for row, (part, start) in enumerate(zip(parts, starts, strict=True)):
        axes.barh(row, part, 0.62, left=start, color="#cfe3d4", edgecolor=ROLES["v"], hatch=KEY_HATCHES[row])
        # The thin line carries the running sum from one bar down to the next.
        axes.plot([start + part] * 2, [row, row + 1], color=FAINT, linewidth=0.8, zorder=0.9)
        _label_bar(axes, row, start, part)
    axes.barh(len(parts), total, 0.62, color=ROLES["output"])
    _label_bar(axes, len(parts), 0.0, total)
    axes.set_yticks(range(len(parts) + 1), [*names, "output"])
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


def _with_room_for_labels(ends: Array) -> tuple[float, float]:
    """Limits around 0 and all ends of bars, with a third more where a label stands beyond the bars."""
    lowest, highest = min(0.0, float(ends.min())), max(0.0, float(ends.max()))
    room = (highest - lowest) / 3 or 1.0
    return lowest - (room if lowest < 0 else 0.0), highest + room


def _label_bar(axes: Axes, row: int, start: float, length: float) -> None:
    end, side = (max(start, start + length), 4) if length >= 0 else (min(start, start + length), -4)
    axes.annotate(number(length), (end, row), (side, 0), textcoords="offset points", fontsize=9.5,
                  ha="left" if side > 0 else "right", va="center")  # fmt: skip


def _band(axes: Axes, x: Array, runs: Array, look: str, color: str, name: str) -> None:
    axes.fill_between(x, runs.min(axis=0), runs.max(axis=0), color=color, alpha=0.25, linewidth=0)
    axes.plot(x, runs.mean(axis=0), look, color=color, linewidth=1.4, label=name)


def _one_variance(rng: np.random.Generator, pairs: int, width: int) -> float:
    q, k = rng.standard_normal((2, pairs, width))
    return float(np.var(np.sum(q * k, axis=-1), ddof=1))


def _require_pipeline_shapes(scores: Array, logits: Array, weights: Array, v: Array, output: Array) -> None:
    n_q, n_k = scores.shape
    shapes = {"scores": scores.shape, "logits": logits.shape, "weights": weights.shape, "v": v.shape,
              "output": output.shape}  # fmt: skip
    d_v = v.shape[1]
    fitting = {
        "scores": (n_q, n_k),
        "logits": (n_q, n_k),
        "weights": (n_q, n_k),
        "v": (n_k, d_v),
        "output": (n_q, d_v),
    }
    came = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    if shapes != fitting:
        raise ValueError(
            f"scores, logits and weights are (n_q, n_k), v (n_k, d_v), output (n_q, d_v): {came}"
        )
    if not all(1 <= side <= LARGEST_SIDE for side in (n_q, n_k, d_v)):
        raise ValueError(
            f"the picture has room for 1 to {LARGEST_SIDE} rows and columns, take a slice: {came}"
        )


def _matrix(values: ArrayLike, name: str) -> Array:
    matrix = np.asarray(values, dtype=float)
    if matrix.ndim != 2:
        raise ValueError(f"{name} must have two axes: it has shape {matrix.shape}")
    return matrix


def _weights(values: ArrayLike, name: str) -> Array:
    weights = np.asarray(values, dtype=float)
    if weights.ndim != 1 or not len(weights) or not ((weights >= 0) & (weights <= 1)).all():
        raise ValueError(
            f"{name} must be one row of weights between 0 and 1: shape {weights.shape}, {weights}"
        )
    return weights
