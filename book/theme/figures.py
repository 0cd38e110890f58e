"""The directive `{figure-of} NAME`: a figure of `book/figures` that answers, and the table that it says the same with.

The table is computed here, by course_lib, and stands in the page: it is what a reader without scripts sees, and the
figure's own text form. `tests/test_figures.py` holds every number of a figure against `rows` of the same state.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import course_lib  # by its name alone: what a page needs of it loads when the page is made

FIGURES = Path(__file__).resolve().parents[1] / "figures"
SERVED = "_static/figures"
Row = tuple[str, list[float | None]]


def setup(app: Sphinx) -> None:
    app.add_directive("figure-of", FigureOf)
    app.connect("html-page-context", _add_scripts)
    app.connect("build-finished", _copy)


class FigureOf(SphinxDirective):
    """The element with its table; a second one of a kind on a page is its own, with `-2` after its name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in START:
            raise self.error(f"No figure is called {name!r}: there are {', '.join(START)}")
        names = self.env.metadata[self.env.docname].setdefault("figures", [])
        names.append(name)
        place = names.count(name)
        own = name if place == 1 else f"{name}-{place}"
        return [nodes.raw("", element(name, self.config.language, own), format="html")]


def _add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    pages = app.env.metadata if app.builder.name == "singlehtml" else [page]
    names = dict.fromkeys(
        name for each in pages for name in app.env.metadata.get(each, {}).get("figures", [])
    )
    if names and app.builder.format == "html":
        # What a figure imports is asked for at once, and not after the figure has come.
        context["metatags"] = context.get("metatags", "") + head(
            names, lambda file: context["pathto"](f"{SERVED}/{file}", 1)
        )


def head(names: Any, address: Any) -> str:
    """The elements of <head> that load the figures of a page, and nothing but them."""
    scripts = "".join(f'<script type="module" src="{address(f"{name}.js")}"></script>\n' for name in names)
    shared = f'<link rel="modulepreload" href="{address("answer.js")}">\n'
    return f'<link rel="stylesheet" href="{address("figures.css")}">\n{shared}{scripts}'


def _copy(app: Sphinx, error: Exception | None) -> None:
    if not error and app.builder.format == "html":
        target = Path(app.outdir, SERVED)
        target.mkdir(parents=True, exist_ok=True)
        for path in (*FIGURES.glob("*.js"), *FIGURES.glob("*.css")):
            shutil.copy(path, target)


def element(name: str, language: str, own: str) -> str:
    """The HTML of a figure in its first state."""
    place = 0 if language == "ko" else 1
    title = TITLES[name][place]
    return (
        f'<course-{name} class="answer" id="figure-{own}" role="group" aria-label="{escape(title)}">'
        f'<div class="answer-table" role="region" tabindex="0" aria-label="{escape(_named(title, own, name))}">'
        f"{table(name, language)}</div></course-{name}>"
    )


def _named(title: str, own: str, name: str) -> str:
    """A region's name, told from that of the same figure before it on the page."""
    return title + own.removeprefix(name).replace("-", " ")


def table(name: str, language: str) -> str:
    """The table of a figure's first state, as the figure itself writes it."""
    from course_lib._numbers import number  # loads when a page is made, as all of it

    place = 0 if language == "ko" else 1
    columns = [pair[place] for pair in HEADS[name]]
    heads = "".join(f'<th scope="col">{column}</th>' for column in columns)
    labels = [pair[place] for pair in LABELS.get(name, [])]
    written = (lambda value: f"{value:,}") if name == "attention-and-ffn" else number
    body = ""
    for at, (label, values) in enumerate(rows(name, START[name])):
        cells = "".join(f"<td>{'' if value is None else written(value)}</td>" for value in values)
        body += f'<tr><th scope="row">{labels[at] if labels else _in(language, label)}</th>{cells}</tr>'
    thead = f"<thead><tr><td></td>{heads}</tr></thead>" if columns else ""
    return f"<table><caption>{TITLES[name][place]}</caption>{thead}<tbody>{body}</tbody></table>"


def _in(language: str, label: str) -> str:
    return dict(MEMORY).get(label, label) if language == "ko" else label


# What a figure says: its rows in a state, by course_lib


def rows(name: str, state: dict[str, Any]) -> list[Row]:
    """The label and the numbers of each row of a figure's table."""
    return list(ROWS[name](**state))


def _four_steps(*, q: Any, k: Any, v: Any, m: Any, scale: int, mask: int, times: int) -> Iterator[Row]:
    allowed = np.array(m, dtype=bool)
    factor = times * (len(q[0]) ** -0.5 if scale else 1.0)
    steps = course_lib.explain(
        *(np.array(a, dtype=float) for a in (q, k, v)), mask=allowed if mask else None, scale=factor
    )
    added = np.where(allowed, 0.0, -np.inf)
    matrices = {"Q": q, "K": k, "V": v, "M": added}
    matrices |= {"S": steps.scores, "L": steps.logits, "A": steps.weights, "O": steps.output}
    wide = max(len(k), len(k[0]), len(v[0]))
    for letter, matrix in matrices.items():
        for place, row in enumerate(np.asarray(matrix, dtype=float).tolist()):
            yield f"{letter}{_index(place + 1)}", row + [None] * (wide - len(row))


def _why_sqrt(*, d: int, seed: int, rows: int = 64, keys: int = 8) -> Iterator[Row]:
    pairs = rows * keys
    # The pairs' products are drawn width by width, so that a wider vector only adds to a narrower one.
    q, k = normals(seed, d * pairs * 2).reshape(d, pairs, 2).transpose(2, 1, 0)
    raw = course_lib.scores(q[:, None, :], k[:, None, :])[:, 0, 0]
    logits = [raw, raw / np.sqrt(d)]
    weights = [course_lib.softmax(way.reshape(rows, keys)) for way in logits]
    largest = [float(way[0].max()) for way in weights]
    columns = [
        [float(np.sqrt(d)), 1.0],
        [float(way.std()) for way in logits],
        largest,
        [p * (1 - p) for p in largest],
        [float((way.max(axis=-1) > 0.99).mean()) for way in weights],
        *np.transpose([way[0] for way in weights]).tolist(),
    ]
    yield from (("", column) for column in columns)


def _score_control(*, t: float, gain: float, cap: float, seed: int) -> Iterator[Row]:
    keys, width = 6, 64
    vectors = t * normals(seed, (keys + 1) * width).reshape(keys + 1, width)
    q, k = vectors[:1], vectors[1:]
    gains = np.full(width, gain)
    raw = course_lib.scores(q, k)
    scaled = raw / np.sqrt(width)
    normed = course_lib.scores(*course_lib.qk_norm(q, k, q_gain=gains, k_gain=gains)) / np.sqrt(width)
    logits = np.concatenate([raw, scaled, normed, course_lib.soft_cap(scaled, cap)])
    weights = course_lib.softmax(logits)
    largest = weights.max(axis=-1)
    columns = [
        np.abs(logits).max(axis=-1),
        np.array([np.inf, np.inf, np.sqrt(width) * gain**2, cap]),
        largest,
        largest * (1 - largest),
        *logits.T,
        *weights.T,
    ]
    yield from (("", column.tolist()) for column in columns)


def _attention_and_ffn(*, n: int, d: int, layers: int, group: int) -> Iterator[Row]:
    heads, size = d // 128, {"layers": layers, "d_k": 128}
    of_attention, of_ffn = course_lib.attention_cost(n, d, heads=heads), course_lib.feed_forward_cost(n, d)
    mixing = of_attention.flops - 2 * n * of_attention.parameters
    caches = [course_lib.kv_cache_bytes(n, kv_heads=kept, **size) for kept in (heads, heads // group, 1)]
    caches.append(course_lib.latent_cache_bytes(n, layers=layers, d_c=512, d_rope=64))
    columns: list[list[float | None]] = [
        [of_attention.parameters, of_ffn.parameters],
        [of_attention.flops - mixing, of_ffn.flops],
        [mixing, 0],
        [of_attention.flops, of_ffn.flops],
        [2 * d, None],
        *([count, None] for count in caches),
    ]
    yield from (("", column) for column in columns)


def _blocks(*, keys: int, block: int, step: int, seed: int, n: int) -> Iterator[Row]:
    drawn = normals(seed, 3 * keys)
    logits = np.floor(15 * drawn[:keys] + 0.5) / 10
    v = np.floor(10 * drawn[keys:].reshape(keys, 2) + 0.5) / 10
    before = -np.inf
    for place in range(step):
        seen = slice(0, (place + 1) * block)
        highest = logits[seen].max()
        total = np.exp(logits[seen] - highest).sum()
        output = course_lib.attention(np.ones((1, 1)), logits[seen, None], v[seen], scale=1.0)[0]
        yield str(place + 1), [highest, float(np.exp(before - highest)), total, *output.tolist()]
        before = highest
    in_block = min(n, course_lib.blocked.QUERIES) * (min(n, course_lib.blocked.KEYS) + 2 + 64) * 4
    yield MEMORY[0][0], [n * n * 4 / 1e6]
    yield MEMORY[1][0], [in_block / 1e6]


def normals(seed: int, count: int) -> Any:
    """Standard normal numbers, the same as in `book/figures/answer.js`: mulberry32, then Box and Muller."""
    place = (seed + 0x6D2B79F5 * np.arange(1, 2 * count + 1, dtype=np.uint64)) & np.uint64(2**32 - 1)
    place = place.astype(np.uint32)
    mixed = (place ^ (place >> np.uint32(15))) * (place | np.uint32(1))
    mixed ^= mixed + (mixed ^ (mixed >> np.uint32(7))) * (mixed | np.uint32(61))
    first, second = ((mixed ^ (mixed >> np.uint32(14))) / 2**32).reshape(count, 2).T
    return np.sqrt(-2 * np.log(1 - first)) * np.cos(2 * np.pi * second)


def _index(n: int) -> str:
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(n))


ROWS = {
    "four-steps": _four_steps,
    "why-sqrt": _why_sqrt,
    "score-control": _score_control,
    "attention-and-ffn": _attention_and_ffn,
    "blocks": _blocks,
}
START: dict[str, dict[str, Any]] = {
    "four-steps": {
        "q": [[1, 0, 1, 0]],
        "k": [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]],
        "v": [[1, 0], [0, 1], [0.5, 0.5]],
        "m": [[1, 1, 1]],
        "scale": 1,
        "mask": 1,
        "times": 1,
    },
    "why-sqrt": {"d": 64, "seed": 1},
    "score-control": {"t": 4, "gain": 1, "cap": 50, "seed": 1},
    "attention-and-ffn": {"n": 1024, "d": 768, "layers": 32, "group": 3},
    "blocks": {"keys": 12, "block": 3, "step": 2, "seed": 76, "n": 4096},
}
# In Korean and in English
TITLES = {
    "four-steps": ("네 연산: 입력에서 output까지", "The four steps, from the input to the output"),
    "why-sqrt": (
        "scores가 퍼진 정도와 Softmax, 나누기 전과 뒤",
        "Spread of the scores and Softmax, before and after dividing",
    ),
    "score-control": ("score를 다루는 세 곳", "Three places to control a score"),
    "attention-and-ffn": ("Attention과 FFN의 비용", "What Attention and the FFN cost"),
    "blocks": ("block마다 나아가는 online softmax", "Online softmax, block by block"),
}
HEADS: dict[str, list[tuple[str, str]]] = {
    "four-steps": [],
    "why-sqrt": [("나누기 전", "Not divided"), ("√d<sub>k</sub>로 나눈 뒤", "Divided by √d<sub>k</sub>")],
    "score-control": [
        ("그대로", "As it is"),
        ("Scaling", "Scaling"),
        ("QK Norm", "QK Norm"),
        ("Soft-cap", "Soft-cap"),
    ],
    "attention-and-ffn": [("Attention", "Attention"), ("FFN", "FFN")],
    "blocks": [(head, head) for head in ("m", "e<sup>m−m′</sup>", "Z", "U<sub>1</sub>/Z", "U<sub>2</sub>/Z")],
}
PER_KEY = [(f"logit {key}", f"logit {key}") for key in range(1, 7)]
LABELS: dict[str, list[tuple[str, str]]] = {
    "why-sqrt": [
        ("표준편차, 유도한 값", "Standard deviation, derived"),
        ("표준편차, 잰 값", "Standard deviation, measured"),
        ("가장 큰 weight p", "Largest weight p"),
        ("남는 기울기 p(1−p)", "Gradient left, p(1−p)"),
        ("포화된 rows의 비율 (p\u00a0>\u00a00.99)", "Share of saturated rows (p\u00a0>\u00a00.99)"),
        *((f"weight\u00a0{key}", f"Weight\u00a0{key}") for key in range(1, 9)),
    ],
    "score-control": [
        ("가장 큰 |logit|", "Largest |logit|"),
        ("상한", "Bound"),
        ("가장 큰 weight p", "Largest weight p"),
        ("남는 기울기 p(1−p)", "Gradient left, p(1−p)"),
        *PER_KEY,
        *((f"weight\u00a0{key}", f"Weight\u00a0{key}") for key in range(1, 7)),
    ],
    "attention-and-ffn": [
        ("parameters", "Parameters"),
        ("FLOPs: projections, up과 down", "FLOPs: projections, up and down"),
        ("FLOPs: 섞기", "FLOPs: mixing"),
        ("FLOPs", "FLOPs"),
        ("비용이 같아지는 n", "n where both cost the same"),
        *(
            (f"KV cache (bytes), {kind}", f"KV cache (bytes), {kind}")
            for kind in ("MHA", "GQA", "MQA", "MLA")
        ),
    ],
}
MEMORY = [("Memory (MB): n × n", "memory (MB): n × n"), ("Memory (MB): block", "memory (MB): block")]
