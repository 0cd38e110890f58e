"""Pictures of the size of scores: what scaling, QK norm and soft-cap make of it, and Softmax of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from course_lib._numbers import number
from course_lib._roles import ROLES
from course_lib.attention import softmax
from course_lib.plots.inputs import Array, as_matrix, as_weights
from course_lib.plots.style import FAINT, PAPER, SERIES, WEIGHT_TINT, WIDTH, book_style, new_figure, speaker


@book_style()
def weights_before_and_after_scaling(
    unscaled: ArrayLike, scaled: ArrayLike, *, language: str = "ko"
) -> Figure:
    """Bars of one Query's weights, without and with the division by sqrt(d_k). Shapes: (n_k,) and (n_k,)."""
    say = speaker(language)
    return _paired_bars(
        as_weights(unscaled, "unscaled"),
        as_weights(scaled, "scaled"),
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
        as_weights(weights, "weights"),
        as_weights(sharpened, "sharpened"),
        (say("처음 logits", "the logits"), f"logits × {factor:g}"),
    )


@book_style()
def softmax_gradient(unscaled: ArrayLike, scaled: ArrayLike, *, language: str = "ko") -> Figure:
    """p(1 - p) over p, Softmax's slope in its own logit, with one Query's weights before and after scaling.

    Shapes: (n_k,) and (n_k,). The slope at the first Key is written beside its point.
    """
    say = speaker(language)
    before, after = as_weights(unscaled, "unscaled"), as_weights(scaled, "scaled")
    figure = new_figure(WIDTH, 3.3)
    axes = figure.add_subplot()
    p = np.linspace(0, 1, 201)
    axes.plot(p, p * (1 - p), color=FAINT, zorder=1)
    common: Any = {"s": 52, "linewidth": 1.6, "zorder": 3, "clip_on": False}
    axes.scatter(before, before * (1 - before), marker="s", facecolor=PAPER, edgecolor=ROLES["weight"],
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
    measured = as_matrix(variances, "variances")
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
    _band(lower, widths, measured / widths, "s-", ROLES["score"], "")
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
def growing_norms(
    factors: ArrayLike, scaled: ArrayLike, normed: ArrayLike, capped: ArrayLike, *, language: str = "ko"
) -> Figure:
    """Largest |logit| and largest weight of one Query while the norms of Q and K grow, under three controls.

    Shapes: factors (m,), growing, above 0; the logits (m, n_k), a row for each factor: with scaling alone, with
    QK norm, and with a soft-cap after scaling.
    """
    say = speaker(language)
    t = np.asarray(factors, dtype=float)
    logits = {name: as_matrix(values, name) for name, values in
              (("scaled", scaled), ("normed", normed), ("capped", capped))}  # fmt: skip
    if (
        t.ndim != 1
        or (t <= 0).any()
        or {rows.shape for rows in logits.values()} != {(len(t), logits["scaled"].shape[1])}
    ):
        raise ValueError(
            "the logits need one row for each factor above 0, and the same Keys: "
            + ", ".join(f"{name} {rows.shape}" for name, rows in [("factors", t), *logits.items()])
        )
    labels = (say("scaling만", "scaling alone"), "QK Norm", "Soft-cap")
    looks = zip(("s-", "o-", "^-"), SERIES[1:], strict=True)  # as in the figure that answers
    figure = new_figure(WIDTH, 4.5)
    upper, lower = figure.subplots(2, 1, sharex=True)
    for (look, color), label, rows in zip(looks, labels, logits.values(), strict=True):
        upper.plot(t, np.abs(rows).max(axis=-1), look, color=color, label=label)
        lower.plot(t, softmax(rows).max(axis=-1), look, color=color)
    upper.set(xscale="log", yscale="log", title=say("가장 큰 |logit|", "largest |logit|"))
    lower.set(ylim=(0, 1.06), title=say("가장 큰 weight", "largest weight"))
    lower.set_xlabel(say("Q와 K의 norm에 곱한 수", "factor on the norms of Q and K"))
    lower.set_xticks(t, [f"{factor:g}" for factor in t])
    lower.minorticks_off()
    upper.minorticks_off()
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def _paired_bars(before: Array, after: Array, names: tuple[str, str]) -> Figure:
    if before.shape != after.shape:
        raise ValueError(f"both rows of weights must have one length: {before.shape} and {after.shape}")
    figure = new_figure(WIDTH, 1.2 + 0.56 * len(before))
    axes = figure.add_subplot()
    place = np.arange(len(before))
    looks: tuple[Any, Any] = (
        {"color": WEIGHT_TINT, "edgecolor": ROLES["weight"], "hatch": "///"},
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


def _band(axes: Axes, x: Array, runs: Array, look: str, color: str, name: str) -> None:
    axes.fill_between(x, runs.min(axis=0), runs.max(axis=0), color=color, alpha=0.25, linewidth=0)
    axes.plot(x, runs.mean(axis=0), look, color=color, linewidth=1.4, label=name)


def _one_variance(rng: np.random.Generator, pairs: int, width: int) -> float:
    q, k = rng.standard_normal((2, pairs, width))
    return float(np.var(np.sum(q * k, axis=-1), ddof=1))
