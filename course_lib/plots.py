"""The pictures of the book: plain arrays in, a matplotlib Figure out; nothing is shown or printed.

`language` is "ko" (default) or "en". Bad input is a ValueError that names the rule and what came.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray

from course_lib._figure_style import (
    FAINT,
    INK,
    KEY_HATCHES,
    MASK_HATCH,
    PAPER,
    WIDTH,
    book_style,
    new_figure,
    speaker,
)
from course_lib._matrix_sheet import Sheet
from course_lib._numbers import number
from course_lib._roles import ROLES
from course_lib.attention import softmax

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
    logits = {name: _matrix(values, name) for name, values in
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
    looks = (("s-", ROLES["score"]), ("o-", ROLES["q"]), ("^-", ROLES["weight"]))
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


@book_style()
def attention_and_ffn_flops(
    n: ArrayLike, attention: ArrayLike, ffn: ArrayLike, *, d_model: int, language: str = "ko"
) -> Figure:
    """FLOPs of one attention and one FFN over the number of tokens n, and where they cross: n = 2 d_model.

    Shapes: n, attention and ffn (m,); n growing, on both sides of the crossing.
    """
    say = speaker(language)
    tokens, of_attention, of_ffn = (np.asarray(values, dtype=float) for values in (n, attention, ffn))
    if tokens.ndim != 1 or not tokens.shape == of_attention.shape == of_ffn.shape:
        raise ValueError(
            f"n, attention and ffn must be rows of one length: {tokens.shape}, {of_attention.shape}, {of_ffn.shape}"
        )
    crossing = 2 * d_model
    figure = new_figure(WIDTH, 3.4)
    axes = figure.add_subplot()
    axes.plot(tokens, of_attention / 1e9, color=ROLES["weight"], label="Attention  $8nd^2 + 4n^2d$")
    axes.plot(tokens, of_ffn / 1e9, color=ROLES["q"], linestyle="--", label="FFN  $16nd^2$")
    at = float(np.interp(crossing, tokens, of_ffn)) / 1e9
    axes.plot([crossing] * 2, [0, at], color=FAINT, linewidth=1, linestyle=":")
    axes.plot([crossing], [at], "o", color=INK)
    axes.annotate(f"$n = 2d = {crossing}$", (crossing, at), (-8, 8), textcoords="offset points", ha="right")
    axes.set(xlim=(0, tokens.max()), ylim=(0, None), xlabel=say("token의 수 $n$", "tokens $n$"))
    axes.set_title(say(f"10억 FLOPs ($d = {d_model}$)", f"billion FLOPs ($d = {d_model}$)"))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@book_style()
def kv_cache(sizes: Mapping[str, int], *, language: str = "ko") -> Figure:
    """Bars of the bytes that each kind of attention keeps: name -> bytes, drawn in GB (10^9 bytes)."""
    say = speaker(language)
    if not sizes or any(size < 0 for size in sizes.values()):
        raise ValueError(f"sizes must hold one number of bytes or more, none below 0: {dict(sizes)}")
    gigabytes = np.array(list(sizes.values())) / 1e9
    figure = new_figure(WIDTH, 0.8 + 0.42 * len(sizes))
    axes = figure.add_subplot()
    bars = axes.barh(range(len(sizes)), gigabytes, 0.6, color=ROLES["k"])
    axes.bar_label(bars, [f"{size:.2f}" for size in gigabytes], padding=4)
    axes.set_yticks(range(len(sizes)), list(sizes))
    axes.set(xlim=(0, 1.2 * float(gigabytes.max()) or 1.0))
    axes.set_xlabel(say("KV cache (GB, 10억 bytes)", "KV cache (GB, a billion bytes)"))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    return figure


@book_style()
def online_softmax(logits: ArrayLike, *, block: int, language: str = "ko") -> Figure:
    """One row of logits read block by block: the running maximum, and the sum of exp(logit - maximum).

    Each bar of the sum is what is left of the sum before, shrunk by exp(old maximum - new), and what the block adds.
    Shape: logits (n_k,), finite, in at most 8 blocks.
    """
    say = speaker(language)
    row = np.asarray(logits, dtype=float)
    if row.ndim != 1 or not len(row) or not np.isfinite(row).all() or block < 1 or len(row) > 8 * block:
        raise ValueError(
            f"logits must be one finite row of at most 8 blocks: shape {row.shape}, block is {block}"
        )
    starts = np.arange(0, len(row), block)
    ends = np.minimum(starts + block, len(row))
    highest = np.array([row[:end].max() for end in ends])
    sums = np.array([np.exp(row[:end] - top).sum() for end, top in zip(ends, highest, strict=True)])
    figure = new_figure(WIDTH, 4.6)
    upper, lower = figure.subplots(2, 1, sharex=True)
    for axes in (upper, lower):
        axes.vlines(starts[1:] - 0.5, 0, 1, transform=axes.get_xaxis_transform(), color=FAINT, linewidth=0.8,
                    linestyle=":")  # fmt: skip
        axes.grid(visible=False, axis="x")
    upper.vlines(np.arange(len(row)), 0, row, color=ROLES["score"], linewidth=1.5)
    upper.plot(row, "s", color=ROLES["score"], label="logit")
    upper.hlines(highest, starts - 0.4, ends - 0.6, color=ROLES["weight"], linewidth=2.5,
                 label=say("여기까지의 최댓값 $m$", "maximum so far $m$"))  # fmt: skip
    upper.axhline(0, color=INK, linewidth=0.8)
    upper.margins(y=0.15)
    upper.set_title(say("logits와 최댓값", "logits and their maximum"))
    _growing_sums(lower, (starts + ends - 1) / 2, 0.6 * (ends - starts), sums, highest, say)
    lower.set_xticks(np.arange(len(row)), [f"{key + 1}" for key in range(len(row))])
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@book_style()
def causal_blocks(n: int, *, block_q: int, block_k: int, language: str = "ko") -> Figure:
    """The blocks of a causal score matrix (n, n): computed whole, cut by the diagonal, or never computed.

    At most 24 tokens; a block is block_q Queries against block_k Keys.
    """
    say = speaker(language)
    if not 1 <= n <= 24 or not 1 <= block_q <= n or not 1 <= block_k <= n:
        raise ValueError(
            f"blocks must lie in at most 24 tokens: n is {n}, block_q is {block_q}, block_k is {block_k}"
        )
    figure = new_figure(WIDTH, 4.3)
    axes = figure.add_subplot(aspect="equal", xlim=(0, n), ylim=(n, 0))
    looks: dict[str, Any] = {
        "whole": {"facecolor": "#d9b8c6", "edgecolor": FAINT},
        "cut": {"facecolor": "#f1e3ea", "edgecolor": FAINT, "hatch": "..."},
        "left out": {"facecolor": PAPER, "edgecolor": FAINT, "hatch": MASK_HATCH},
    }
    for top in range(0, n, block_q):
        for left in range(0, n, block_k):
            height, width = min(block_q, n - top), min(block_k, n - left)
            kind = "left out" if left > top + height - 1 else "cut" if left + width - 1 > top else "whole"
            axes.add_patch(Rectangle((left, top), width, height, **looks[kind]))
    names = (
        say("모두 계산", "computed"),
        say("일부를 mask", "partly masked"),
        say("건너뜀", "left out"),
    )
    handles = [Patch(label=name, **look) for name, look in zip(names, looks.values(), strict=True)]
    axes.plot([0, n], [0, n], color=INK, linewidth=1)
    axes.set(xlabel=say("Key의 위치", "Keys"), ylabel=say("Query의 위치", "Queries"))
    axes.set_xticks(range(0, n + 1, block_k))
    axes.set_yticks(range(0, n + 1, block_q))
    axes.grid(visible=False)
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


@book_style()
def attention_memory(n: ArrayLike, plain: ArrayLike, in_blocks: ArrayLike, *, language: str = "ko") -> Figure:
    """Bytes that attention needs beside its inputs and output, over n: the whole score matrix, and blocks.

    Shapes: n, plain and in_blocks (m,), all above 0.
    """
    say = speaker(language)
    rows = [np.asarray(values, dtype=float) for values in (n, plain, in_blocks)]
    if rows[0].ndim != 1 or len({row.shape for row in rows}) != 1 or any((row <= 0).any() for row in rows):
        raise ValueError(
            "n, plain and in_blocks must be rows of one length, above 0: "
            + ", ".join(str(row.shape) for row in rows)
        )
    figure = new_figure(WIDTH, 3.6)
    axes = figure.add_subplot(xscale="log", yscale="log")
    axes.plot(rows[0], rows[1], "s-", color=ROLES["score"], label=say("scores를 모두 둠", "all scores kept"))
    axes.plot(rows[0], rows[2], "o-", color=ROLES["weight"], label=say("block으로", "in blocks"))
    axes.set_xticks(rows[0], [f"{tokens:g}" for tokens in rows[0]])
    marks = [10.0**power for power in range(3, 16) if rows[2].min() / 10 <= 10.0**power <= rows[1].max() * 10]
    axes.set_yticks(marks, [_bytes(mark) for mark in marks])
    axes.minorticks_off()
    axes.set(xlabel=say("token의 수 $n$", "tokens $n$"))
    axes.set_title(say("입력과 output 말고 더 쓰는 memory", "memory beside inputs and output"))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@book_style()
def class_run(workers: int = 3, *, language: str = "ko") -> Figure:
    """How a class is graded: one process hands out and records, workers examine, each with a student's room.

    One to four workers.
    """
    say = speaker(language)
    if not 1 <= workers <= 4:
        raise ValueError(f"workers must be 1 to 4, not {workers}")
    figure = new_figure(WIDTH, 4.2)
    axes = figure.add_subplot(xlim=(0, 12), ylim=(-0.2, 12))
    axes.set_axis_off()
    does = say("나누어 주고, 기록한다", "hands out, and records")
    _box(axes, (3, 10.6), (6, 1.1), say("제출물", "submissions") + ": submitted/")
    _box(axes, (1, 7.6), (10, 1.7), f"course grade\n{does}", edge=INK)
    _box(axes, (2, 0), (8, 1.1), "gradebook.db, autograded/")
    for left in 0.5 + 11 / workers * np.arange(workers):
        _worker(axes, left + 0.15, 11 / workers - 0.3, (say("검사", "examiner"), say("학생의 방", "room")))
    axes.annotate("", (6, 9.4), (6, 10.5), arrowprops=_ARROW)
    axes.plot([0.9, 0.25, 0.25, 1.7], [8.4, 8.4, 0.55, 0.55], color=INK, linewidth=1.2)
    axes.annotate("", (1.95, 0.55), (1.6, 0.55), arrowprops=_ARROW)
    return figure


@book_style()
def grading_time(
    workers: ArrayLike, minutes: ArrayLike, floor: float, *, submissions: int, language: str = "ko"
) -> Figure:
    """Minutes for a class over the number of workers, and the floor that the one recording process sets.

    Shapes: workers and minutes (m,), growing and above 0.
    """
    say = speaker(language)
    x, y = (np.asarray(values, dtype=float) for values in (workers, minutes))
    if x.ndim != 1 or x.shape != y.shape or (x <= 0).any() or (y <= 0).any() or floor <= 0:
        raise ValueError(
            f"workers and minutes must be rows of one length, above 0, and so floor: {x.shape}, {y.shape}, {floor}"
        )
    figure = new_figure(WIDTH, 3.4)
    axes = figure.add_subplot(xscale="log", yscale="log")
    axes.plot(x, y, "o-", color=ROLES["weight"], label=say("모두", "in all"))
    axes.axhline(floor, color=ROLES["q"], linestyle="--", label=say("기록만", "recording alone"))
    axes.set_xticks(x, [f"{count:g}" for count in x])
    marks = [mark for mark in (1, 2, 5, 10, 20, 50, 100, 200, 500) if floor / 2 <= mark <= y.max() * 2]
    axes.set_yticks(marks, [f"{mark:g}" for mark in marks])
    axes.minorticks_off()
    axes.set(xlabel=say("worker의 수", "workers"))
    axes.set_title(say(f"제출물 {submissions:,}개의 시간 (분)", f"minutes for {submissions:,} submissions"))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


_ARROW: dict[str, Any] = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}


def _worker(axes: Axes, left: float, width: float, parts: tuple[str, str]) -> None:
    """An examiner and a student's room, with what comes and goes."""
    middle = left + width / 2
    axes.annotate("", (middle - 0.25, 6.4), (middle - 0.25, 7.5), arrowprops=_ARROW)
    axes.annotate("", (middle + 0.25, 7.5), (middle + 0.25, 6.4), arrowprops=_ARROW)
    axes.add_patch(Rectangle((left, 2.6), width, 3.7, facecolor=PAPER, edgecolor=FAINT))
    axes.text(middle, 5.9, "worker", ha="center", va="center", fontsize=9.5)
    _box(axes, (left + 0.25, 4.4), (width - 0.5, 1.0), parts[0], edge=INK)
    _box(axes, (left + 0.25, 2.9), (width - 0.5, 1.0), parts[1], edge=INK, line="--")
    axes.annotate("", (middle, 3.95), (middle, 4.35), arrowprops=_ARROW | {"arrowstyle": "<|-|>"})


def _box(
    axes: Axes, corner: tuple[float, float], size: tuple[float, float], text: str,
    *, edge: str = FAINT, line: str = "-",
) -> None:  # fmt: skip
    axes.add_patch(Rectangle(corner, *size, facecolor=PAPER, edgecolor=edge, linewidth=1.5, linestyle=line))
    centre = corner[0] + size[0] / 2, corner[1] + size[1] / 2
    axes.text(*centre, text, ha="center", va="center", fontsize=9.5, linespacing=1.5)


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


def _growing_sums(
    axes: Axes, middle: Any, width: Any, sums: Array, highest: Array, say: Callable[[str, str], str]
) -> None:
    """Each sum as what is left of the one before, and what its block has added."""
    kept = np.concatenate(([0.0], sums[:-1] * np.exp(highest[:-1] - highest[1:])))
    axes.bar(middle, kept, width, color="#e2e4e8", edgecolor=ROLES["score"], hatch="///",
             label=say("줄여서 남긴 합", "sum so far, shrunk"))  # fmt: skip
    bars = axes.bar(middle, sums - kept, width, bottom=kept, color=ROLES["weight"],
                    label=say("이 block이 더한 것", "added by this block"))  # fmt: skip
    axes.bar_label(bars, [number(total) for total in sums], padding=3)
    axes.set(ylim=(0, 1.2 * sums.max()), xlabel="Key", title=say("합 $Z$", "sum $Z$"))


def _bytes(count: float) -> str:
    """A power of ten of bytes in the unit that keeps it short."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:g} {unit}"
    return f"{count:g} B"


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
