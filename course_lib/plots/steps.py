"""Pictures of what attention computes: its four steps, one output piece by piece, and what several heads read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from course_lib._numbers import number
from course_lib._roles import ROLES
from course_lib.plots.inputs import Array, as_matrix, as_weights
from course_lib.plots.sheet import Sheet
from course_lib.plots.style import FAINT, INK, KEY_HATCHES, PAPER, WIDTH, book_style, new_figure, speaker

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
    s, logit, a = as_matrix(scores, "scores"), as_matrix(logits, "logits"), as_matrix(weights, "weights")
    values, o = as_matrix(v, "v"), as_matrix(output, "output")
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
    sheet.arrow_down("L", say("exp, row의 합으로 나눔", "exp, divided by the row's sum"))
    sheet.caption("A", "3  Softmax over Keys", "A", ("q", "k"))
    sheet.matrix("A", a, role="weight", hatched=masked)
    sheet.caption("V", "Value", "V", ("k", "v"))
    sheet.matrix("V", values, role="v", hatched=unread)
    sheet.caption("O", "4  Output", "O = AV", ("q", "v"))
    sheet.matrix("O", o, role="output")
    sheet.arrows_into_output()
    return sheet.figure


@book_style()
def contributions(weights: ArrayLike, v: ArrayLike, *, language: str = "ko") -> Figure:
    """How one Query's output adds up: for each component, the steps weights[i] * v[i], and their sum.

    Shapes: weights (n_k,), v (n_k, d_v), with at most 8 Keys and 6 components.
    """
    say = speaker(language)
    a, values = as_weights(weights, "weights"), as_matrix(v, "v")
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


@book_style()
def weights_of_heads(weights: ArrayLike, tokens: Sequence[str], *, language: str = "ko") -> Figure:
    """What each head reads, side by side: a matrix of weights a head, Queries in rows, Keys in columns.

    Shapes: weights (heads, n, n) of self-attention over n named tokens, 1 to 3 heads and at most 6 tokens.
    """
    say = speaker(language)
    a = np.asarray(weights, dtype=float)
    heads, n = (a.shape[0], len(tokens)) if a.ndim == 3 else (0, 0)
    if a.shape != (heads, n, n) or not 1 <= heads <= 3 or not 1 <= n <= 6:
        raise ValueError(
            "weights must be (heads, n, n) for n named tokens, at most 3 heads and 6 tokens: "
            f"weights has shape {a.shape}, {len(tokens)} tokens"
        )
    figure = new_figure(WIDTH, 0.95 + 0.4 * n)
    row = figure.subplots(1, heads, sharey=True, squeeze=False)[0]
    for head, (axes, matrix) in enumerate(zip(row, a, strict=True), start=1):
        _tinted_matrix(axes, matrix, ROLES["weight"])
        axes.set_title(f"head {head}")
        axes.set_xticks(np.arange(n) + 0.5, tokens, rotation=35, ha="right", rotation_mode="anchor")
    row[0].set_yticks(np.arange(n) + 0.5, tokens)
    row[0].set_ylabel(say("읽는 쪽 (Query)", "reads (Query)"))
    figure.supxlabel(say("읽히는 쪽 (Key)", "is read (Key)"), fontsize=10)
    return figure


@book_style()
def sharing_of_heads(heads: int, kv_heads: Sequence[int], *, language: str = "ko") -> Figure:
    """Which Key-Value head each Query head reads, one row of boxes and lines for each number in `kv_heads`.

    At most 12 Query heads; each number must divide them.
    """
    say = speaker(language)
    if not 1 <= heads <= 12 or not len(kv_heads) or any(kv < 1 or heads % kv for kv in kv_heads):
        raise ValueError(
            f"kv_heads must divide heads, at most 12: heads is {heads}, kv_heads is {tuple(kv_heads)}"
        )
    figure = new_figure(WIDTH, 1.15 * len(kv_heads))
    for axes, kv in zip(figure.subplots(len(kv_heads), 1, squeeze=False)[:, 0], kv_heads, strict=True):
        name = {heads: "MHA", 1: "MQA"}.get(kv, "GQA")
        axes.set_title(
            f"{name}: " + say(f"Query head {heads}개, KV head {kv}개", f"Query heads {heads}, KV heads {kv}")
        )
        axes.set(xlim=(-1.7, heads - 0.4), ylim=(-0.45, 1.45), xticks=[], yticks=[])
        axes.set_axis_off()
        axes.text(-0.75, 1, "$Q_i$", ha="right", va="center")
        axes.text(-0.75, 0, "$K_j, V_j$", ha="right", va="center")
        places = [(heads // kv) * (group + 0.5) - 0.5 for group in range(kv)]
        for head in range(heads):
            axes.plot([head, places[head * kv // heads]], [1, 0], color=FAINT, linewidth=1, zorder=1)
        look: Any = {"marker": "s", "s": 120, "zorder": 2, "linewidth": 1.5}
        axes.scatter(range(heads), [1] * heads, facecolor=PAPER, edgecolor=ROLES["q"], **look)
        axes.scatter(places, [0] * kv, facecolor=ROLES["k"], edgecolor=ROLES["k"], **look)
    return figure


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


def _label_bar(axes: Axes, row: int, start: float, length: float) -> None:
    end, side = (max(start, start + length), 4) if length >= 0 else (min(start, start + length), -4)
    axes.annotate(number(length), (end, row), (side, 0), textcoords="offset points", fontsize=9.5,
                  ha="left" if side > 0 else "right", va="center")  # fmt: skip


def _with_room_for_labels(ends: Array) -> tuple[float, float]:
    """Limits around 0 and all ends of bars, with a third more where a label stands beyond the bars."""
    lowest, highest = min(0.0, float(ends.min())), max(0.0, float(ends.max()))
    room = (highest - lowest) / 3 or 1.0
    return lowest - (room if lowest < 0 else 0.0), highest + room


def _tinted_matrix(axes: Axes, matrix: Array, color: str) -> None:
    """Cells as dark as their weight, with their number; Queries run down, Keys to the right."""
    tints = LinearSegmentedColormap.from_list("tints", [PAPER, color])
    # Half of the colour at most: the numbers keep their contrast.
    axes.pcolormesh(matrix, cmap=tints, vmin=0, vmax=2, edgecolors=color, linewidth=0.8)
    rows, columns = matrix.shape
    for row in range(rows):
        for column in range(columns):
            axes.text(
                column + 0.5, row + 0.5, f"{matrix[row, column]:.2f}", ha="center", va="center", fontsize=8.5
            )
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    axes.grid(visible=False)
