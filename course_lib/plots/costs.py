"""Pictures of time and memory: attention beside the FFN, KV caches, and attention in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike

from course_lib._numbers import number
from course_lib._roles import ROLES
from course_lib.plots.inputs import Array
from course_lib.plots.style import (
    FAINT,
    INK,
    MASK_HATCH,
    PAPER,
    SCORE_TINT,
    SERIES,
    WEIGHT_TINT,
    WIDTH,
    book_style,
    new_figure,
    speaker,
)


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
    axes.plot(tokens, of_attention / 1e9, color=SERIES[0], label="Attention  $8nd^2 + 4n^2d$")
    axes.plot(tokens, of_ffn / 1e9, color=SERIES[1], linestyle="--", label="FFN  $16nd^2$")
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
    bars = axes.barh(range(len(sizes)), gigabytes, 0.6, color=SERIES[0])
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
    upper.hlines(highest, starts - 0.4, ends - 0.6, color=SERIES[1], linewidth=2.5,
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
        "whole": {"facecolor": SCORE_TINT, "edgecolor": FAINT},
        "cut": {"facecolor": "#f2f2f2", "edgecolor": FAINT, "hatch": "--"},
        "left out": {"facecolor": PAPER, "edgecolor": FAINT, "hatch": MASK_HATCH},
    }
    for left, top, width, height in _blocks(n, block_q, block_k):
        kind = "left out" if left > top + height - 1 else "cut" if left + width - 1 > top else "whole"
        axes.add_patch(Rectangle((left, top), width, height, **looks[kind]))
    names = (say("모두 계산", "computed"), say("일부를 mask", "partly masked"), say("건너뜀", "left out"))
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
    axes.plot(rows[0], rows[2], "o-", color=SERIES[1], label=say("block으로", "in blocks"))
    axes.set_xticks(rows[0], [f"{tokens:g}" for tokens in rows[0]])
    marks = [10.0**power for power in range(3, 16) if rows[2].min() / 10 <= 10.0**power <= rows[1].max() * 10]
    axes.set_yticks(marks, [_bytes(mark) for mark in marks])
    axes.minorticks_off()
    axes.set(xlabel=say("token의 수 $n$", "tokens $n$"))
    axes.set_title(say("입력과 output 말고 더 쓰는 memory", "memory beside inputs and output"))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _blocks(n: int, block_q: int, block_k: int) -> Iterator[tuple[int, int, int, int]]:
    """The place and size of each block: its first Key and Query, and how many there are of both."""
    for top, left in product(range(0, n, block_q), range(0, n, block_k)):
        yield left, top, min(block_k, n - left), min(block_q, n - top)


def _growing_sums(
    axes: Axes, middle: Any, width: Any, sums: Array, highest: Array, say: Callable[[str, str], str]
) -> None:
    """Each sum as what is left of the one before, and what its block has added."""
    kept = np.concatenate(([0.0], sums[:-1] * np.exp(highest[:-1] - highest[1:])))
    axes.bar(middle, kept, width, color=WEIGHT_TINT, edgecolor=ROLES["weight"], hatch="///",
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
