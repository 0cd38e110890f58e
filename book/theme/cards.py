"""What a page says of itself to search engines and in the cards that messengers show: description, title, picture.

The description is the chapter's own first sentence: what one learns there, or else its first paragraph. Addresses have
to be absolute, so those of the page and of the picture are there only where course.toml sets `site`
(`html_baseurl` here).
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from textwrap import fill, shorten
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LOCALES = {"ko": "ko_KR", "en": "en_US"}
LETTERS = 200  # of a description; more is cut off wherever it is shown
CARD, SIZE = "_static/card.png", (1200, 630)
STEPS = {"S": "Score", "L": "Scale & Mask", "A": "Softmax", "O": "Output"}
LABEL = re.compile(r"^[^:.]{1,20}: ")  # "What you learn: "
TEX = {r"\\sqrt\{?(\w+)\}?": r"√\1", r"\\times": "×", r"\\infty": "∞", r"[{}$]|\\[a-z]+ ?": ""}


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", _describe)
    app.connect("build-finished", _draw)


def _describe(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if doctree is not None and app.builder.name == "html":
        context["metatags"] = context.get("metatags", "") + tags(app, page, doctree)


def tags(app: Sphinx, page: str, doctree: nodes.document) -> str:
    """The elements of <head> that describe a page."""
    base, language = app.config.html_baseurl, app.config.language
    description = description_of(doctree) or app.config.html_title
    named = {
        "og:title": app.env.titles[page].astext(),
        "og:description": description,
        "og:type": "website" if page == app.config.root_doc else "article",
        "og:site_name": app.config.html_title,
        "og:locale": LOCALES[language],
        "og:locale:alternate": next(locale for name, locale in LOCALES.items() if name != language),
    }
    if base:
        named |= {"og:url": base + app.builder.get_target_uri(page), "og:image": base + CARD}
        named |= dict(zip(("og:image:width", "og:image:height"), map(str, SIZE), strict=True))
        named["og:image:alt"] = app.config.html_title
    opening = f'<meta name="description" content="{escape(description)}">\n'
    card = f'<meta name="twitter:card" content="{"summary_large_image" if base else "summary"}">\n'
    return (
        opening
        + card
        + "".join(f'<meta property="{name}" content="{escape(text)}">\n' for name, text in named.items())
    )


def description_of(doctree: nodes.document) -> str:
    """What one learns on a page, or else its first paragraph, in plain letters; "" where it has neither."""
    opening = next(doctree.findall(nodes.admonition), None)
    within = opening if opening is not None else doctree
    paragraph = next(within.findall(nodes.paragraph), None)
    if paragraph is None:
        return ""
    text = "".join(_plain(node) for node in paragraph.findall(nodes.Text))
    return shorten(LABEL.sub("", text) if opening is not None else text, LETTERS, placeholder=" …")


def _plain(text: nodes.Text) -> str:
    words = text.astext()
    if isinstance(text.parent, nodes.math):
        for pattern, plain in TEX.items():
            words = re.sub(pattern, plain, words)
    return words


# The picture


def _draw(app: Sphinx, error: Exception | None) -> None:
    if not error and app.builder.name == "html" and app.config.html_baseurl:
        sentence = (
            description_of(app.env.get_doctree(app.config.root_doc)).partition(". ")[0].rstrip(".") + "."
        )
        draw_card(app.config.html_title, sentence, Path(app.outdir, CARD))


def draw_card(title: str, sentence: str, target: Path) -> None:
    """The picture of the book's cards: title, sentence, and the lecture's example in the colours of the roles."""
    from course_lib.plots.style import FAINT, INK, book_style, new_figure  # loads when it is drawn

    with book_style():
        figure = new_figure(SIZE[0] / 100, SIZE[1] / 100, layout=None)
        figure.text(0.06, 0.83, title, size=38, weight="bold", color=INK)
        width = 46 if max(sentence) >= "가" else 66  # letters: a Hangul one is nearly two Latin ones wide
        figure.text(0.06, 0.76, fill(sentence, width), size=20, color=FAINT, va="top", linespacing=1.5)
        _draw_steps(figure)
        figure.savefig(target, dpi=100, metadata={"Software": None})


def _draw_steps(figure: Any) -> None:
    """The four matrices of the lecture's example, from the scores to the output, an arrow between each two."""
    import numpy as np

    from course_lib import explain
    from course_lib._numbers import number
    from course_lib._roles import ROLES
    from course_lib.plots.style import FAINT

    from .figures import START

    start = START["four-steps"]
    steps = explain(*(np.array(start[name], dtype=float) for name in "qkv"))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 12), ylim=(0, 6.3))
    axes.axis("off")
    left = 0.72
    drawn = {"S": ("score", steps.scores), "L": ("score", steps.logits), "A": ("weight", steps.weights)}
    for letter, (role, matrix) in (drawn | {"O": ("output", steps.output)}).items():
        axes.text(left, 2.0, f"${letter}$", size=26, color=ROLES[role])
        axes.text(left + 0.4, 2.0, STEPS[letter], size=16, color=FAINT)
        for column, value in enumerate(matrix[0]):
            share = 0.15 + 0.85 * abs(float(value)) / max(map(abs, matrix[0].tolist()))
            axes.add_patch(_cell((left + 0.8 * column, 0.9), ROLES[role], 0.35 * share))
            axes.text(
                left + 0.8 * column + 0.4, 1.25, number(float(value)), size=17, ha="center", color=ROLES[role]
            )
        left += 0.8 * len(matrix[0]) + 0.35
        if letter != "O":
            axes.text(left - 0.17, 1.25, "→", size=20, ha="center", color=FAINT)


def _cell(corner: tuple[float, float], colour: str, tint: float) -> Any:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    return Rectangle(corner, 0.8, 0.9, facecolor=to_rgba(colour, tint), edgecolor=colour, linewidth=1.5)
