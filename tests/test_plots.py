"""The figures: every one in both languages without a missing letter, and what they show is what came in."""

from __future__ import annotations

import itertools
import logging
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import is_color_like, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from course_lib import plots
from course_lib._numbers import number
from course_lib._roles import ROLES
from course_lib.plots import style
from course_lib.plots.style import PAPER, BookFigure

RNG = np.random.default_rng(3)
SCORES = RNG.normal(size=(2, 5))
LOGITS = np.where([[True, True, True, False, False], [False, True, True, True, False]], SCORES / 2, -np.inf)
WEIGHTS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=-1, keepdims=True)
V = RNG.normal(size=(5, 3))
STEPS = (SCORES, LOGITS, WEIGHTS, V, WEIGHTS @ V)
BEFORE, AFTER = np.array([0.999665, 3.354e-4, 1.125e-7]), np.array([0.66524, 0.24473, 0.09003])
WIDEST = [-1.234e-7 * np.ones(shape) for shape in ((1, 12), (1, 12), (1, 12), (12, 12), (1, 12))]
D_K = (1, 4, 16)
VARIANCES = plots.dot_product_variances(D_K, pairs=50, repeats=3)

HEADS = np.stack([WEIGHTS[:, :2], WEIGHTS[:, 1:3]])
FACTORS = np.array([1.0, 2.0, 8.0])
GROWN = FACTORS[:, None] * [[3.0, -1.0, 2.0, 0.5, 1.0]]
LENGTHS = np.array([0, 7, 14, 28, 56])
ATTENTION, FFN = 8 * LENGTHS * 7**2 + 4 * LENGTHS**2 * 7, 16 * LENGTHS * 7**2
CACHES = {"MHA": 17_179_869_184, "GQA": 4_294_967_296, "MQA": 0}
ROW = [1, 0.5, -1, 2, 0, 1.5, 3, 2.5]

FIGURES: dict[str, Callable[..., Figure]] = {
    "pipeline": lambda **options: plots.pipeline(*STEPS, **options),
    "pipeline of one cell": lambda **options: plots.pipeline([[2]], [[1]], [[1]], [[3]], [[3]], **options),
    "pipeline, capped": lambda **options: plots.pipeline(*STEPS, scale=-0.5, softcap=30.0, **options),
    "pipeline, widest": lambda **options: plots.pipeline(*WIDEST, **options),
    "scaling": lambda **options: plots.weights_before_and_after_scaling(BEFORE, AFTER, **options),
    "gradient": lambda **options: plots.softmax_gradient(BEFORE, AFTER, **options),
    "variance": lambda **options: plots.dot_product_variance(D_K, VARIANCES, **options),
    "contributions": lambda **options: plots.contributions(AFTER, V[:3], **options),
    "sharpening": lambda **options: plots.sharpening(AFTER, BEFORE, factor=10, **options),
    "heads": lambda **options: plots.weights_of_heads(HEADS, ["A", "B"], **options),
    "heads, most": lambda **options: plots.weights_of_heads(np.ones((3, 4, 4)), list("ABCD"), **options),
    "class run": lambda **options: plots.class_run(3, **options),
    "class run, most workers": lambda **options: plots.class_run(4, **options),
    "grading time": lambda **options: plots.grading_time(
        (1, 2, 4), (40.0, 20.0, 10.0), 7.0, submissions=5_000, **options
    ),
    "sharing": lambda **options: plots.sharing_of_heads(8, (8, 2, 1), **options),
    "norms": lambda **options: plots.growing_norms(FACTORS, GROWN, SCORES[[0, 0, 0]], GROWN, **options),
    "flops": lambda **options: plots.attention_and_ffn_flops(LENGTHS, ATTENTION, FFN, d_model=7, **options),
    "cache": lambda **options: plots.kv_cache(CACHES, **options),
    "online softmax": lambda **options: plots.online_softmax(ROW, block=3, **options),
    "causal blocks": lambda **options: plots.causal_blocks(14, block_q=4, block_k=3, **options),
    "memory": lambda **options: plots.attention_memory(
        [1e3, 1e4, 1e5], [1e7, 1e9, 1e11], [2e6, 5e6, 4e7], **options
    ),
}
every_figure = pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
every_language = pytest.mark.parametrize("language", ["ko", "en"])


def texts(figure: Figure) -> list[Text]:
    found = [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Text) and text.get_text() and text.get_visible()
    ]
    return [text for text in found if text not in beyond_the_limits(figure)]


def beyond_the_limits(figure: Figure) -> set[Any]:
    """The labels of ticks that an axis has but doesn't draw."""
    axis = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    ticks = [(tick, sorted(one.get_view_interval())) for one in axis for tick in one.get_major_ticks()]
    return {
        label
        for tick, (low, high) in ticks
        if not low <= tick.get_loc() <= high
        for label in (tick.label1, tick.label2)
    }


def words(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in texts(figure))


@every_figure
@every_language
def test_figure_draws_without_missing_glyph_or_log(
    draw: Callable[..., Figure], language: str, caplog: pytest.LogCaptureFixture
) -> None:
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        figure = draw(language=language)
        assert isinstance(figure, BookFigure)
        svg = figure._repr_svg_()
    assert "<svg" in svg
    assert caplog.records == []


@pytest.mark.parametrize("name", ["norms", "flops", "cache", "grading time", "class run"])
def test_series_that_are_no_role_have_no_colour_of_one(name: str) -> None:
    artists = FIGURES[name](language="en").findobj()
    drawn = [get() for artist in artists for kind in ("color", "facecolor", "edgecolor")
             if (get := getattr(artist, f"get_{kind}", None))]  # fmt: skip
    colors = {to_hex(color) for color in drawn if is_color_like(color)}
    assert colors
    assert colors & set(ROLES.values()) == set()


@every_figure
@every_language
def test_figure_holds_its_texts(draw: Callable[..., Figure], language: str) -> None:
    figure = draw(language=language)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    paper = figure.bbox
    outside = [
        text.get_text()
        for text in texts(figure)
        for box in [text.get_window_extent(canvas.get_renderer())]  # type: ignore[no-untyped-call]
        if box.width
        and not (paper.x0 <= box.x0 and box.x1 <= paper.x1 and paper.y0 <= box.y0 and box.y1 <= paper.y1)
    ]
    assert outside == []


@every_figure
@every_language
def test_figure_texts_do_not_overlap(draw: Callable[..., Figure], language: str) -> None:
    figure = draw(language=language)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [
        (text.get_text(), text.get_window_extent(canvas.get_renderer()))  # type: ignore[no-untyped-call]
        for text in texts(figure)
    ]
    meeting = [
        (first, second)
        for (first, one), (second, other) in itertools.combinations(boxes, 2)
        # The boxes of letters without descenders are higher than the letters: 2 pixels in 100 an inch.
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 2
        and min(one.y1, other.y1) - max(one.y0, other.y0) > 2
    ]
    assert meeting == []


@every_figure
def test_figure_speaks_the_language(draw: Callable[..., Figure]) -> None:
    hangul = re.compile("[가-힣]")
    assert not hangul.search(words(draw(language="en")))
    assert hangul.search(words(draw(language="ko")))


@every_figure
def test_figure_refuses_an_unknown_language(draw: Callable[..., Figure]) -> None:
    with pytest.raises(ValueError, match="language must be 'ko' or 'en', not 'fr'"):
        draw(language="fr")


@every_figure
def test_figure_is_the_same_file_every_time(draw: Callable[..., Figure]) -> None:
    assert draw(language="ko")._repr_svg_() == draw(language="ko")._repr_svg_()  # type: ignore[attr-defined]


def test_figure_has_letters_as_paths_and_an_opaque_paper() -> None:
    figure = FIGURES["pipeline"](language="ko")
    assert "<text" not in figure._repr_svg_()  # type: ignore[attr-defined]
    assert figure.get_facecolor() == (*to_rgb(PAPER), 1.0)


def test_figure_leaves_the_readers_settings_alone() -> None:
    before = {name: value for name, value in mpl.rcParams.copy().items() if name != "backend"}
    with mpl.rc_context({"figure.facecolor": "black", "text.color": "red"}):
        figure = plots.sharpening(AFTER, BEFORE)
        assert mpl.rcParams["figure.facecolor"] == "black"
    assert figure.get_facecolor() == (*to_rgb(PAPER), 1.0)
    assert {name: mpl.rcParams[name] for name in before} == before


def test_plots_leaves_pyplot_alone() -> None:
    code = (
        "import sys; from course_lib import plots; plots.sharpening([1, 0], [1, 0])\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("False\n", "")


def test_pipeline_shows_every_number_and_shape() -> None:
    figure = plots.pipeline(*STEPS, language="en")
    shown = [text.get_text() for text in texts(figure)]
    for matrix in STEPS:
        for value in matrix.flat:
            assert number(value) in shown
    assert sum("n_q \\times n_k = 2 \\times 5" in word for word in shown) == 3
    assert sum("n_k \\times d_v = 5 \\times 3" in word for word in shown) == 1
    assert sum("n_q \\times d_v = 2 \\times 3" in word for word in shown) == 1
    assert [word for word in shown if re.match(r"\d  ", word)] == [
        "1  Score", "2  Scale & Mask", "3  Softmax over Keys", "4  Output"]  # fmt: skip


def hatches(figure: Figure) -> int:
    return sum(bool(patch.get_hatch()) for patch in figure.axes[0].patches)


def test_pipeline_hatches_masked_cells_only() -> None:
    # Two matrices with 4 masked cells, V's last row of 3 that no Query reads, and the legend.
    assert hatches(plots.pipeline(*STEPS)) == 2 * int(np.isneginf(LOGITS).sum()) + 3 + 1
    assert hatches(plots.pipeline(SCORES, SCORES, WEIGHTS, V, WEIGHTS @ V)) == 0


def test_pipeline_says_what_scaled_the_scores() -> None:
    assert r"\div\,\sqrt{d_k}" in words(plots.pipeline(*STEPS))
    capped = words(plots.pipeline(*STEPS, scale=0.5, softcap=30.0))
    assert r"\times\,0.5" in capped
    assert "soft-cap 30" in capped


def test_dot_product_variances_follow_d_k() -> None:
    measured = plots.dot_product_variances((2, 7, 32), pairs=2000, repeats=5, seed=1)
    assert measured.shape == (5, 3)
    # The standard error of a variance of kurtosis 3 + 6/d_k is at most 5 % here, of their mean 2 %.
    np.testing.assert_allclose(measured.mean(axis=0), [2, 7, 32], rtol=0.1)


def test_dot_product_variances_come_from_the_seed() -> None:
    first, same, other = (
        plots.dot_product_variances((3,), pairs=20, repeats=2, seed=seed) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_contributions_end_at_the_output() -> None:
    figure = plots.contributions(AFTER, V[:3])
    for component, axes in enumerate(figure.axes):
        bars = list(axes.patches)
        ends = [bar.get_x() + bar.get_width() for bar in bars]  # type: ignore[attr-defined]
        np.testing.assert_allclose(ends, [*np.cumsum(AFTER * V[:3, component]), AFTER @ V[:3, component]])


def test_weights_of_heads_show_every_weight() -> None:
    figure = plots.weights_of_heads(HEADS, ["A", "B"])
    shown = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert shown == [f"{weight:.2f}" for weight in HEADS.flat]
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["head 1", "head 2"]


def test_sharing_of_heads_joins_neighbours() -> None:
    (axes,) = plots.sharing_of_heads(6, (2,)).axes
    ends = [tuple(line.get_xdata()) for line in axes.lines]  # type: ignore[arg-type]
    assert ends == [(0, 1.0), (1, 1.0), (2, 1.0), (3, 4.0), (4, 4.0), (5, 4.0)]


def test_growing_norms_show_the_largest_logit_and_weight() -> None:
    upper, lower = plots.growing_norms(FACTORS, GROWN, -GROWN, np.zeros_like(GROWN)).axes
    heights = [line.get_ydata() for line in upper.lines]
    np.testing.assert_allclose(heights, [3 * FACTORS, 3 * FACTORS, 0 * FACTORS])
    even = [line.get_ydata() for line in lower.lines][2]
    np.testing.assert_allclose(even, 1 / 5)


def test_attention_and_ffn_flops_mark_the_crossing() -> None:
    (axes,) = plots.attention_and_ffn_flops(LENGTHS, ATTENTION, FFN, d_model=7).axes
    ((x,), (y,)) = axes.lines[-1].get_data()
    assert (x, y) == (14, FFN[2] / 1e9) == (14, ATTENTION[2] / 1e9)


def test_kv_cache_writes_gigabytes() -> None:
    assert {"17.18", "4.29", "0.00"} <= {text.get_text() for text in texts(plots.kv_cache(CACHES))}


def test_online_softmax_ends_at_the_whole_sum() -> None:
    _, lower = plots.online_softmax(ROW, block=3).axes
    # Six bars: what was kept in each of three blocks, and what each has added.
    heights = np.reshape([bar.get_height() for bar in lower.patches], (2, 3))  # type: ignore[attr-defined]
    np.testing.assert_allclose(heights.sum(axis=0)[-1], np.exp(np.array(ROW) - 3).sum())
    np.testing.assert_allclose(
        heights[0], [0, heights[1, 0] * np.exp(1 - 2), heights.sum(axis=0)[1] * np.exp(2 - 3)]
    )


def test_causal_blocks_leave_out_those_above_the_diagonal() -> None:
    (axes,) = plots.causal_blocks(14, block_q=4, block_k=3).axes
    causal = np.tril(np.ones((14, 14), dtype=bool))
    kinds = {None: [], "--": [], "////": []}  # type: dict[str | None, list[Any]]
    for patch in axes.patches:
        left, top = patch.get_xy()  # type: ignore[attr-defined]
        right, bottom = left + patch.get_width(), top + patch.get_height()  # type: ignore[attr-defined]
        kinds[patch.get_hatch()].append(causal[top:bottom, left:right])
    assert all(block.all() for block in kinds[None])
    assert all(block.any() and not block.all() for block in kinds["--"])
    assert not any(block.any() for block in kinds["////"])
    assert sum(block.size for blocks in kinds.values() for block in blocks) == causal.size


def test_class_run_draws_each_worker() -> None:
    texts = [text.get_text() for text in plots.class_run(2, language="en").axes[0].texts]
    assert texts.count("worker") == texts.count("examiner") == texts.count("room") == 2


def test_grading_time_draws_what_came_in_and_the_floor() -> None:
    figure = plots.grading_time((1, 2, 4), (40.0, 20.0, 10.0), 7.0, submissions=5_000, language="en")
    whole, floor = figure.axes[0].lines
    assert [list(values) for values in whole.get_data()] == [[1, 2, 4], [40, 20, 10]]
    assert set(floor.get_ydata()) == {7.0}
    assert figure.axes[0].get_title(loc="left") == "minutes for 5,000 submissions"


def test_attention_memory_draws_what_came_in() -> None:
    (axes,) = plots.attention_memory([1e3, 1e4], [1e7, 1e9], [2e6, 5e6]).axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[1e7, 1e9], [2e6, 5e6]]  # type: ignore[arg-type]
    assert "100 MB" in words(axes.figure)  # type: ignore[arg-type]


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: plots.pipeline(SCORES, LOGITS, WEIGHTS, V[:4], WEIGHTS @ V), r"v \(n_k, d_v\).*v \(4, 3\)"),
    (lambda: plots.pipeline(SCORES[0], *STEPS[1:]), r"scores must have two axes: it has shape \(5,\)"),
    (lambda: plots.pipeline(*[np.ones((13, 13))] * 5), r"1 to 12 rows and columns, take a slice.*\(13, 13\)"),
    (lambda: plots.pipeline(*[np.ones((0, 0))] * 5), r"1 to 12 rows and columns.*\(0, 0\)"),
    (lambda: plots.sharpening(AFTER, BEFORE[:2]), r"one length: \(3,\) and \(2,\)"),
    (lambda: plots.sharpening(AFTER, BEFORE, factor=0), "factor must be positive: 0"),
    (
        lambda: plots.softmax_gradient([2.0, 1.0], AFTER),
        "unscaled must be one row of weights between 0 and 1.*2",
    ),
    (
        lambda: plots.softmax_gradient(AFTER, [np.nan]),
        "scaled must be one row of weights between 0 and 1.*nan",
    ),
    (lambda: plots.contributions(AFTER, V), r"one row for each weight.*\(3,\).*\(5, 3\)"),
    (lambda: plots.dot_product_variance((1, 4), VARIANCES), r"one column for each d_k.*\(3, 3\).*\(1, 4\)"),
    (lambda: plots.dot_product_variances((0, 4)), r"widths of at least 1.*\(0, 4\)"),
    (lambda: plots.dot_product_variances((4,), pairs=1), "pairs=1"),
    (lambda: plots.weights_of_heads(HEADS[0], ["A", "B"]), r"\(heads, n, n\).*\(2, 2\), 2 tokens"),
    (lambda: plots.weights_of_heads(HEADS, ["A"]), r"\(2, 2, 2\), 1 tokens"),
    (lambda: plots.sharing_of_heads(8, (3,)), r"must divide heads.*heads is 8, kv_heads is \(3,\)"),
    (
        lambda: plots.growing_norms(FACTORS, GROWN, GROWN, GROWN[:2]),
        r"one row for each factor.*capped \(2, 5\)",
    ),
    (lambda: plots.growing_norms(0 * FACTORS, GROWN, GROWN, GROWN), "each factor above 0"),
    (
        lambda: plots.attention_and_ffn_flops([1], [1, 2], [1], d_model=7),
        r"one length: \(1,\), \(2,\), \(1,\)",
    ),
    (lambda: plots.kv_cache({}), "one number of bytes or more"),
    (lambda: plots.online_softmax([1, -np.inf], block=1), r"finite row.*\(2,\)"),
    (lambda: plots.online_softmax(ROW, block=0), "block is 0"),
    (lambda: plots.causal_blocks(25, block_q=4, block_k=4), "at most 24 tokens: n is 25"),
    (lambda: plots.attention_memory([1, 2], [1, 0], [1, 2]), "of one length, above 0"),
    (lambda: plots.class_run(5), "1 to 4, not 5"),
    (lambda: plots.grading_time([1, 2], [1], 1.0, submissions=7), r"one length, above 0.*\(2,\), \(1,\)"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_bad_input_names_the_rule_and_what_came(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.437823, "0.438"), (1.0, "1"), (0.9996646, "0.9997"), (0.9999999, "1"), (-0.5, "−0.5"), (-np.inf, "−∞"),
     (np.inf, "∞"), (np.nan, "NaN"), (-0.0, "0"), (1.125e-7, "1.1e−7"), (-3.2e12, "−3.2e12"), (3.354e-4, "0.000335"),
     (160.0, "160"), (12345.0, "12345"), (0.00009999, "1e−4"), (2.0004, "2.0004"), (99.96, "99.96")],
)  # fmt: skip
def test_number_is_short_and_tells_whole_from_rounded(value: float, shown: str) -> None:
    assert number(value) == shown


def test_text_is_english_where_no_font_has_hangul(monkeypatch: pytest.MonkeyPatch) -> None:
    style.hangul_font.cache_clear()
    monkeypatch.setattr(style, "_packaged_fonts", lambda: [])
    monkeypatch.setattr(style, "_HANGUL_FONTS", ("A font that nobody has",))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            figure = plots.sharpening(AFTER, BEFORE, language="ko")
            figure._repr_svg_()  # type: ignore[attr-defined]
        assert "the logits" in words(figure)
    finally:
        monkeypatch.undo()
        style.hangul_font.cache_clear()
