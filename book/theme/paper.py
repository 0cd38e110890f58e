"""What the book has on paper alone: a first page with its title, its language and its chapters.

It is added while Sphinx writes all chapters on one page, which `course build --pdf` prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

EDITIONS = {"ko": "한국어판", "en": "English edition"}


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", _add_title_page)


def _add_title_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    if app.builder.name == "singlehtml" and page == app.config.root_doc:
        context["body"] = _title_page(app) + context["body"]


def _title_page(app: Sphinx) -> str:
    titles = {name: app.env.titles[name] for name in _below(app, app.config.root_doc)}
    chapters = "".join(
        f'<li><a href="#document-{name}">{escape(_text(title))}</a></li>' for name, title in titles.items()
    )
    return (
        f'<div class="title-page"><p class="title">{escape(app.config.html_title)}</p>'
        f"<p>{EDITIONS[app.config.language]}</p><ol>{chapters}</ol>"
        f"<p>{escape(app.config.html_theme_options.get('extra_footer', ''))}</p></div>"
    )


def _below(app: Sphinx, page: str) -> Iterator[str]:
    """The pages below a page, in the order in which they are read."""
    for name in app.env.toctree_includes.get(page, []):
        yield name
        yield from _below(app, name)


def _text(title: nodes.Node) -> str:
    return "".join(text.astext() for text in title.findall(nodes.Text))
