"""Mends what axe-core finds in the markup of docutils and MyST-NB: empty headers, wrong names, an old role."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

MENDED = {
    '<th class="head"><p></p></th>': "<td></td>",  # the corner of a table heads nothing
    '<summary aria-label="Toggle hidden content">': "<summary>",  # its text is its name
    'role="doc-biblioentry"': 'role="listitem"',
}


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", _mend)


def _mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    for found, mended in MENDED.items():
        context["body"] = context.get("body", "").replace(found, mended)
