"""explain(): what attention() computes, with all four steps to print, to show in a notebook and to draw."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from course_lib._common import Array, batch_shape, namespace_of, shape
from course_lib._numbers import number
from course_lib._roles import ROLES
from course_lib.attention import steps
from course_lib.masks import Align, Window

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST, _MORE = 12, "…"
_HATCHING = "background: repeating-linear-gradient(45deg, rgb(128 128 128 / 45%) 0 1px, transparent 1px 6px)"
# The names in the book's style sheet, which has other colours for dark pages.
_STYLED = {"q": "query", "k": "key", "v": "value"}


def explain(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    align: Align = "top-left",
    window: Window | None = None,
    scale: float | Array | None = None,
    softcap: float | None = None,
    enable_gqa: bool = False,
) -> Explanation:
    """The four steps of attention(q, k, v, ...), which takes the same arguments and gives the same output.

    Returns an Explanation with scores, logits and weights (..., n_q, n_k) and the output (..., n_q, d_v): arrays of
    the library and on the device that came in. Errors: as for `attention`. Source: chapter `computation`.
    """
    found = steps(
        q,
        k,
        v,
        mask=mask,
        causal=causal,
        align=align,
        window=window,
        scale=scale,
        softcap=softcap,
        enable_gqa=enable_gqa,
    )
    if enable_gqa:
        # Each head gets the Values that it reads, so that all steps have the same batch axes.
        v = namespace_of(v=v).repeat(v, found.output.shape[-3] // v.shape[-3], axis=-3)
    factor = None if scale is None else float(_as_numpy(scale).item())
    return Explanation(*found, v=v, scale=factor, softcap=None if softcap is None else float(softcap))


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What each of the four steps gave. It prints, shows itself as tables in a notebook, and draws."""

    scores: Array
    logits: Array
    weights: Array
    output: Array
    v: Array
    scale: float | None = None
    softcap: float | None = None

    @property
    def allowed(self) -> Array:
        """Where a Query may read a Key, (..., n_q, n_k): elsewhere the logit is -inf and the weight 0."""
        return self.logits != -np.inf

    def __str__(self) -> str:
        """The four steps by name, with formula, shape and values; with batch axes, the shapes only."""
        return "\n\n".join(_text(step) for step in self._steps())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        hidden = ~_as_numpy(self.allowed).astype(bool)
        # A score is not masked yet, and an output no longer is.
        tables = [_table(step, hidden if step.letter in "LA" else None) for step in self._steps()]
        return f"<div>{''.join(tables)}</div>"

    def plot(self, *, language: str = "ko", index: int | tuple[int, ...] = ()) -> Figure:
        """The pipeline as a picture with numbers in its cells; masked cells are hatched.

        `index` chooses one entry of the batch axes (batch, heads, ...), where there are any.
        Errors: ValueError for an index that does not choose one entry, for more than 12 rows or columns, and for
        a language other than "ko" and "en".
        """
        # Only here: matplotlib takes longer to load than everything else together.
        from course_lib.plots import pipeline

        arrays = [_as_numpy(array) for array in (self.scores, self.logits, self.weights, self.v, self.output)]
        chosen = _one_entry(arrays, index if isinstance(index, tuple) else (index,))
        return pipeline(*chosen, scale=self.scale, softcap=self.softcap, language=language)

    def _steps(self) -> Iterator[_Step]:
        scaled = "S / sqrt(d_k)" if self.scale is None else f"{self.scale:g} S"
        capped = scaled if self.softcap is None else f"{self.softcap:g} tanh({scaled} / {self.softcap:g})"
        logits = _as_numpy(self.logits)
        yield _Step("S", "Score", "S = Q K^T", ("n_q", "n_k"), _as_numpy(self.scores), "score")
        yield _Step("L", "Scale & Mask", f"L = {capped} + M", ("n_q", "n_k"), logits, "score")
        yield _Step(
            "A", "Softmax over Keys", "A = Softmax(L)", ("n_q", "n_k"), _as_numpy(self.weights), "weight"
        )
        yield _Step("O", "Output", "O = A V", ("n_q", "d_v"), _as_numpy(self.output), "output")


class _Step(NamedTuple):
    letter: str
    name: str
    formula: str
    axes: tuple[str, str]
    values: np.ndarray
    role: str

    @property
    def shape(self) -> str:
        batch = "".join(f"{size}, " for size in self.values.shape[:-2])
        return f"({batch}{', '.join(self.axes)}) = {self.values.shape}"


def _text(step: _Step) -> str:
    head = f"{step.name}: {step.formula}, {step.shape}"
    return head if step.values.ndim > 2 else f"{head}\n{np.array2string(step.values, precision=5)}"


def _table(step: _Step, hidden: np.ndarray | None) -> str:
    name = f'<strong style="{_ink(step.role)}">{step.letter}</strong> <strong>{escape(step.name)}</strong>'
    caption = f"<p>{name}: {_formula(step.formula)}, {_formula(step.shape)}</p>"
    if step.values.ndim > 2:
        return caption
    rows = _cut(step.values.shape[0], lambda i: _row(step, hidden, i))
    side = _axis(step.axes[0], f' scope="rowgroup" rowspan="{len(rows)}"')
    body = "".join(
        f"<tr>{'' if i else side}{row if row != _MORE else _tag('td', _MORE)}</tr>"
        for i, row in enumerate(rows)
    )
    # By this class themes know a table of data, and give it colours for light and dark.
    table = f'<table class="dataframe" aria-label="{escape(step.name, quote=True)}">'
    return f"{caption}{table}<thead>{_head(step)}</thead><tbody>{body}</tbody></table>"


def _formula(words: str) -> str:
    """A formula of plain letters as a page sets it: italic, raised, lowered, and a root sign."""
    rooted = escape(words).replace("sqrt(d_k)", "√d_k")
    close = re.sub(r"\b([QA]) (?=[KV]\b)", r"\1", rooted)  # a product of matrices
    italic = re.sub(r"(?<![a-z])([A-Z]|[nd](?=_))(?![a-z])", r"<i>\1</i>", close)
    return re.sub(r"_(\w)", r"<sub>\1</sub>", italic.replace("^<i>T</i>", "<sup>⊤</sup>"))


def _head(step: _Step) -> str:
    """The name of the columns' axis over all of them, and each one's own: a Key's, or the place in a Value."""
    letter, role = ("k", "k") if step.axes[1] == "n_k" else ("", "v")
    columns = _cut(step.values.shape[1], lambda j: f"{letter}{j + 1}")
    corner = '<td colspan="2" rowspan="2"></td>'
    axis = _axis(step.axes[1], f' scope="colgroup" colspan="{max(len(columns), 1)}"')
    names = "".join(_tag("th", name, ' scope="col"', _ink(role)) for name in columns)
    # Themes draw a line below each row of a head; it belongs to the last one alone.
    return f'<tr style="border: 0">{corner}{axis}</tr><tr>{names}</tr>'


def _axis(name: str, attributes: str) -> str:
    letter, index = name.split("_")
    look = "min-width: 0; padding: 0 0.6em; border: 0; text-align: center; font-weight: normal"
    return f'<th{attributes} style="{look}"><i>{letter}<sub>{index}</sub></i></th>'


def _row(step: _Step, hidden: np.ndarray | None, i: int) -> str:
    def cell(j: int) -> str:
        return _cell(step.values[i, j], step.role, hidden is not None and bool(hidden[i, j]))

    cells = _cut(step.values.shape[1], cell)
    rest = "".join(words if words != _MORE else _tag("td", _MORE) for words in cells)
    return _tag("th", f"q{i + 1}", ' scope="row"', _ink("q")) + rest


def _cell(value: float, role: str, masked: bool) -> str:
    words = number(float(value))
    tint = f"background: color-mix(in srgb, {_color(role, ROLES[role])} 10%, transparent)"
    return _tag("td", words, ' title="masked"', _HATCHING) if masked else _tag("td", words, style=tint)


def _ink(role: str) -> str:
    # Outside of the book nobody knows whether the page is light or dark: there letters keep the page's colour.
    return f"color: {_color(role, 'inherit')}"


def _color(role: str, elsewhere: str) -> str:
    return f"var(--role-{_STYLED.get(role, role)}, {elsewhere})"


def _tag(name: str, words: str, attributes: str = "", style: str = "") -> str:
    # A phone has room for narrow columns only.
    look = f"min-width: 2.5em; white-space: nowrap; padding: 0.2em 0.6em; text-align: right; {style}".strip()
    return f'<{name}{attributes} style="{look}">{escape(words)}</{name}>'


def _cut(count: int, make: Callable[[int], str]) -> list[str]:
    """The first of so many items, and a sign where there are more: a page of them all would take minutes to make."""
    return [*map(make, range(min(count, _MOST))), *([_MORE] if count > _MOST else [])]


def _as_numpy(array: Array) -> np.ndarray:
    if hasattr(array, "detach"):
        if array.device.type == "meta":
            raise ValueError(f"only numbers can be shown: an array of shape {shape(array)} on meta has none")
        # A tensor: out of its graph and device; NumPy has no bfloat16, which float32 holds exactly.
        array = array.detach().cpu().resolve_neg()
        array = array.float() if array.is_floating_point() and array.element_size() < 4 else array
    return np.asarray(array)


def _one_entry(arrays: list[np.ndarray], index: tuple[int, ...]) -> list[np.ndarray]:
    batch = batch_shape(*arrays)
    whole = all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in index)
    fits = whole and len(index) == len(batch)
    if not fits or not all(-size <= i < size for i, size in zip(index, batch, strict=True)):
        raise ValueError(f"index must choose one entry of the batch axes {batch}: {index}")
    return [np.broadcast_to(array, (*batch, *array.shape[-2:]))[index] for array in arrays]
