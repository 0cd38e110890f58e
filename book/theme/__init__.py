"""What the book adds to Jupyter Book: equations as MathML, words of the roles, executed tabs, checks, the library's
reference, where notebooks open, the bibliography, the way to the other language, Korean search, words that readers
type, cards for messengers, fonts and style.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from . import (
    accessible,
    bibliography,
    bundle,
    cards,
    checks,
    entry,
    equations,
    figures,
    found_by,
    hangul,
    korean_search,
    languages,
    library,
    lines,
    notebook_links,
    paper,
    roles,
    tabs,
)

HERE = Path(__file__).parent


def setup(app: Sphinx) -> dict[str, Any]:
    for part in (
        equations,
        roles,
        tabs,
        figures,
        checks,
        library,
        notebook_links,
        bibliography,
        languages,
        lines,
        korean_search,
        found_by,
        accessible,
        bundle,
        cards,
        hangul,
        entry,
        paper,
    ):
        part.setup(app)
    app.connect("config-inited", _add_files)
    app.add_css_file("course.css", priority=900)
    app.add_js_file("course.js", priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _add_files(app: Sphinx, config: Config) -> None:
    config.html_static_path.append(str(HERE / "static"))
    config.html_use_index = False  # no page leads to it, and it would mix both languages of the glossary
