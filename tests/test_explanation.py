"""explain(): the steps of attention(), printed, as tables and drawn."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import warnings
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Backend, numpy
from matplotlib.figure import Figure

from course_lib import attention, causal_mask, explain, scale_and_mask, scores, softmax, weighted_sum
from course_lib._roles import ROLES

Q = [[1.0, 0, 1, 0]]
K = [[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]
V = [[1.0, 0], [0, 1], [0.5, 0.5]]
LAST_MASKED = [True, True, False]


def random(backend: Backend, *shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(11)
    return [backend.array(rng.standard_normal(shape)) for shape in shapes]


def example(**options: Any) -> Any:
    return explain(np.array(Q), np.array(K), np.array(V), **options)


def test_explain_gives_the_four_operations_in_a_row(backend: Backend) -> None:
    q, k, v = random(backend, (2, 3, 5), (2, 7, 5), (2, 7, 11))
    found = explain(q, k, v)
    compared = scores(q, k)
    logits = scale_and_mask(compared, scale=5**-0.5)
    for came, step in zip(
        (found.scores, found.logits, found.weights, found.output),
        (compared, logits, softmax(logits), weighted_sum(softmax(logits), v)),
        strict=True,
    ):
        assert type(came) is type(q)
        np.testing.assert_allclose(numpy(came), numpy(step), rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True, "align": "bottom-right"}, {"window": (1, 0)}, {"scale": -0.3, "softcap": 2.0}],
    ids=str,
)
def test_explain_never_changes_the_output(backend: Backend, options: dict[str, Any]) -> None:
    q, k, v = random(backend, (3, 5), (7, 5), (7, 11))
    output = numpy(attention(q, k, v, **options))
    found = explain(q, k, v, **options)
    str(found), found._repr_html_(), found.plot()
    np.testing.assert_array_equal(numpy(attention(q, k, v, **options)), output)
    # The quicker paths of `attention` sum in another order: rounding alone may tell them apart.
    np.testing.assert_allclose(numpy(found.output), output, rtol=1e-12, atol=1e-14)


def test_explain_of_the_lectures_example() -> None:
    found = example()
    np.testing.assert_array_equal(found.scores, [[2, 0, 1]])
    np.testing.assert_array_equal(found.logits, [[1, 0, 0.5]])
    np.testing.assert_allclose(found.weights, [[0.50648, 0.18632, 0.30720]], atol=5e-6)
    np.testing.assert_allclose(found.output, [[0.66008, 0.33992]], atol=5e-6)


def test_explain_marks_what_is_allowed(backend: Backend) -> None:
    q, k, v = random(backend, (3, 5), (7, 5), (7, 2))
    found = explain(q, k, v, causal=True)
    np.testing.assert_array_equal(numpy(found.allowed), causal_mask(3, 7))
    assert not numpy(found.weights)[~causal_mask(3, 7)].any()


def test_explain_is_in_the_graph_of_its_inputs() -> None:
    q, k, v = (torch.tensor(values, requires_grad=True) for values in (Q, K, V))
    found = explain(q, k, v, mask=torch.tensor(LAST_MASKED))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "Output" in str(found)
        assert "<table" in found._repr_html_()
        assert isinstance(found.plot(), Figure)
    found.output.sum().backward()
    assert v.grad is not None
    assert v.grad[2].tolist() == [0, 0]


def test_explanation_prints_names_shapes_and_values() -> None:
    text = str(example(mask=np.array(LAST_MASKED)))
    assert [line.split(":")[0] for line in text.split("\n") if ":" in line] == [
        "Score", "Scale & Mask", "Softmax over Keys", "Output"]  # fmt: skip
    assert text.count("(n_q, n_k) = (1, 3)") == 3
    assert text.count("(n_q, d_v) = (1, 2)") == 1
    for values in ("[[2. 0. 1.]]", "-inf]]", "[[0.73106 0.26894 0.     ]]", "[[0.73106 0.26894]]"):
        assert values in text
    assert repr(example()) == str(example())


def test_explanation_says_what_scaled_the_scores() -> None:
    assert "L = S / sqrt(d_k) + M," in str(example())
    assert "L = 20 tanh(0.25 S / 20) + M," in str(example(scale=0.25, softcap=20.0))


@pytest.mark.parametrize(
    "half", [Fraction(1, 2), np.float32(0.5), np.float16(0.5), np.array([[0.5]])], ids=repr
)
def test_explanation_shows_numbers_of_any_kind_as_floats(half: Any) -> None:
    shown = example(scale=half, softcap=half.item() if isinstance(half, np.ndarray) else half)
    expected = example(scale=0.5, softcap=0.5)
    assert (str(shown), shown._repr_html_()) == (str(expected), expected._repr_html_())


@pytest.mark.parametrize("show", [str, lambda found: found._repr_html_(), lambda found: found.plot()])
def test_explanation_without_numbers_says_so(show: Any) -> None:
    found = explain(*(torch.tensor(array, device="meta") for array in (Q, K, V)))
    with pytest.raises(
        ValueError, match=r"only numbers can be shown: an array of shape \(1, 3\) on meta has none"
    ):
        show(found)


def test_explanation_takes_a_learned_scale() -> None:
    q, k, v = (torch.tensor(values) for values in (Q, K, V))
    learned = torch.tensor([0.5], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "L = 0.5 S + M," in str(explain(q, k, v, scale=learned))


def test_explanation_of_a_batch_prints_shapes_only(backend: Backend) -> None:
    found = explain(*random(backend, (2, 3, 5, 7), (2, 3, 11, 7), (2, 3, 11, 13)))
    for text in (str(found), re.sub(r"</?i>|</sub>", "", found._repr_html_()).replace("<sub>", "_")):
        assert text.count("(2, 3, n_q, n_k) = (2, 3, 5, 11)") == 3
        assert text.count("(2, 3, n_q, d_v) = (2, 3, 5, 13)") == 1
        assert "<td" not in text
    assert "[" not in str(found)


class Tables(HTMLParser):
    """The cells of each table, with the tags that are not closed, and whatever could run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.open: list[str] = []
        self.masked = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "i", "sub", "sup"}
        assert {name for name, _ in attrs} <= {
            "style", "class", "scope", "title", "aria-label", "colspan", "rowspan"}  # fmt: skip
        self.open.append(tag)
        self.tables += [[]] if tag == "table" else []
        if tag == "tr":
            self.tables[-1].append([])
        if tag in {"td", "th"}:
            self.tables[-1][-1].append("")
        self.masked += ("title", "masked") in attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data


def test_explanation_shows_a_table_for_each_step() -> None:
    html = example(mask=np.array(LAST_MASKED))._repr_html_()
    page = Tables(html)
    assert page.open == []
    assert page.tables == [
        [["", "nk"], ["k1", "k2", "k3"], ["nq", "q1", "2", "0", "1"]],
        [["", "nk"], ["k1", "k2", "k3"], ["nq", "q1", "1", "0", "−∞"]],
        [["", "nk"], ["k1", "k2", "k3"], ["nq", "q1", "0.731", "0.269", "0"]],
        [["", "dv"], ["1", "2"], ["nq", "q1", "0.731", "0.269"]],
    ]
    assert page.masked == 2
    assert "Scale &amp; Mask" in html


def test_page_sets_formulas_as_a_book_does() -> None:
    html = example()._repr_html_()
    captions = re.findall(r"</strong>: (.*?)</p>", html)
    shape = "(<i>n</i><sub>q</sub>, <i>n</i><sub>{}</sub>) = (1, {})"
    assert captions == [
        f"<i>S</i> = <i>Q</i><i>K</i><sup>⊤</sup>, {shape.format('k', 3)}",
        f"<i>L</i> = <i>S</i> / √<i>d</i><sub>k</sub> + <i>M</i>, {shape.format('k', 3)}",
        f"<i>A</i> = Softmax(<i>L</i>), {shape.format('k', 3)}",
        f"<i>O</i> = <i>A</i><i>V</i>, {shape.format('v', 2).replace('<i>n</i><sub>v', '<i>d</i><sub>v')}",
    ]
    capped = explain(*(np.ones((2, 3)) for _ in range(3)), scale=0.5, softcap=30.0)._repr_html_()
    assert "<i>L</i> = 30 tanh(0.5 <i>S</i> / 30) + <i>M</i>," in capped


def test_explanation_names_axes_on_the_sides_of_all_rows_and_columns() -> None:
    html = explain(*(np.ones(shape) for shape in ((2, 5), (3, 5), (3, 7))))._repr_html_()
    assert re.findall(r'(\w+span)="(\d+)" style="[^"]*"><i>(\w+)<sub>(\w+)</sub></i>', html) == [
        *[("colspan", "3", "n", "k"), ("rowspan", "2", "n", "q")] * 3,
        ("colspan", "7", "d", "v"),
        ("rowspan", "2", "n", "q"),
    ]


def test_explanation_has_the_colours_of_the_roles() -> None:
    """Letters by the book's style sheet alone: no colour is read on a light and on a dark page both."""
    html = example()._repr_html_()
    letters = re.findall(r'color: var\(--role-(\w+), inherit\)">(\w+)<', html)
    columns, row = [("key", "k1"), ("key", "k2"), ("key", "k3")], ("query", "q1")
    assert letters == [
        *[("score", "S"), *columns, row],
        *[("score", "L"), *columns, row],
        *[("weight", "A"), *columns, row],
        *[("output", "O"), ("value", "1"), ("value", "2"), row],
    ]
    tinted = re.findall(
        r"background: color-mix\(in srgb, var\(--role-(\w+), (#\w{6})\) 10%, transparent\)", html
    )
    assert tinted == [(role, ROLES[role]) for role in ["score"] * 6 + ["weight"] * 3 + ["output"] * 2]


def test_explanation_names_no_other_colour_of_text_or_page() -> None:
    """The page's own colours hold in light and dark; tints and hatching are see-through."""
    html = example(mask=np.array(LAST_MASKED))._repr_html_()
    rest = re.sub(r"var\(--role-\w+, (?:inherit|#\w{6})\)", "", html)
    assert not re.search(r"\bcolor: [^\"; ]|background-color|#[0-9a-f]{3}|\bwhite\b(?!-)|\bblack\b", rest)


def test_explanation_cuts_long_tables(backend: Backend) -> None:
    page = Tables(explain(*random(backend, (17, 2), (19, 2), (19, 3)))._repr_html_())
    for table in page.tables[:3]:
        assert (len(table), len(table[0]), len(table[1]), len(table[2])) == (2 + 13, 2, 13, 2 + 13)
        assert table[-1] == ["…"]
        assert table[2][-1] == "…"
    assert len(page.tables[3][2]) == 2 + 3


def test_explanation_writes_no_number_that_it_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[float] = []
    module = importlib.import_module("course_lib.explanation")
    monkeypatch.setattr(module, "number", lambda value: written.append(value) or "0")
    found = explain(*(np.ones((50, 40)) for _ in range(3)))
    assert found._repr_html_().count("…") == 4 * (12 + 1 + 1)
    assert len(written) == 4 * 12 * 12


@pytest.mark.parametrize(
    "shapes", [((0, 3), (5, 3), (5, 2)), ((2, 3), (0, 3), (0, 5))], ids=["no Query", "no Key"]
)
def test_explanation_of_nothing_shows_itself(backend: Backend, shapes: Any) -> None:
    found = explain(*random(backend, *shapes))
    assert "Output" in str(found)
    assert Tables(found._repr_html_()).open == []
    with pytest.raises(ValueError, match="1 to 12 rows and columns"):
        found.plot()


def test_explanation_of_half_precision_shows_itself() -> None:
    q, k, v = (torch.tensor(values, dtype=torch.bfloat16) for values in (Q, K, V))
    assert "[[2. 0. 1.]]" in str(explain(q, k, v))


def shown(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_plot_draws_the_pipeline_in_both_languages() -> None:
    found = example(mask=np.array(LAST_MASKED))
    assert "mask된 Key: weight 0" in shown(found.plot())
    assert "masked Key: weight 0" in shown(found.plot(language="en"))
    assert {"2", "−∞", "0.731", "0.269", "0.5"} <= set(shown(found.plot()))


def test_plot_draws_the_chosen_entry_of_a_batch(backend: Backend) -> None:
    q, k, v = random(backend, (2, 3, 1, 7), (3, 5, 7), (1, 3, 5, 2))
    found = explain(q, k, v)
    alone = explain(q[1, 2], k[2], v[0, 2])
    assert shown(found.plot(index=(1, 2))) == shown(found.plot(index=(-1, -1))) == shown(alone.plot())


def test_plot_draws_the_values_that_a_grouped_head_reads(backend: Backend) -> None:
    q, k, v = random(backend, (4, 3, 7), (2, 5, 7), (2, 5, 2))
    found = explain(q, k, v, enable_gqa=True)
    for head in range(4):
        assert shown(found.plot(index=head)) == shown(explain(q[head], k[head // 2], v[head // 2]).plot())


@pytest.mark.parametrize("index", [(), 2, (0, 3), (0, 0, 0), ("a", 0), (0.0, 1), (True, 1)], ids=str)
def test_plot_names_the_batch_that_an_index_must_choose_from(index: Any) -> None:
    found = explain(*(np.ones(shape) for shape in ((2, 3, 1, 7), (2, 3, 5, 7), (2, 3, 5, 2))))
    with pytest.raises(ValueError, match=r"index must choose one entry of the batch axes \(2, 3\): \("):
        found.plot(index=index)


def test_plot_refuses_an_index_without_a_batch() -> None:
    with pytest.raises(ValueError, match=r"batch axes \(\): \(0,\)"):
        example().plot(index=0)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3), (5, 7), (5, 2)), r"q and k must share d_k: q has shape \(2, 3\), k has shape \(5, 7\)"),
        (((2, 3), (5, 3), (7, 2)), r"k and v must share n_k: k has shape \(5, 3\), v has shape \(7, 2\)"),
    ],
    ids=["d_k", "n_k"],
)
def test_explain_refuses_what_attention_refuses(backend: Backend, shapes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        explain(*random(backend, *shapes))


def test_matplotlib_loads_with_the_first_plot() -> None:
    code = (
        "import sys, numpy as np, course_lib\n"
        "found = course_lib.explain(np.ones((1, 2)), np.ones((3, 2)), np.ones((3, 5)))\n"
        "str(found), found._repr_html_()\n"
        "print([name for name in ('matplotlib', 'torch') if name in sys.modules])\n"
        "found.plot()\n"
        "print([name for name in ('matplotlib', 'torch') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n['matplotlib']\n"
    assert run.stderr == ""
