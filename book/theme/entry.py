"""The page at the site's root: it leads to the first chapter, which lies in its language's folder."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from . import cards

PAGE = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={target}">
<title>{title}</title>
{icon}{tags}</head>
<body><p><a href="{target}">{title}</a></p></body>
</html>
"""
ICON = '<link rel="icon" href="_static/{name}">\n'  # without it, a browser asks for one that is not there


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _lead_to_first_chapter)


def _lead_to_first_chapter(app: Sphinx, error: Exception | None) -> None:
    first = app.config.root_doc
    if error or app.builder.name != "html" or first == "index":
        return
    page = PAGE.format(
        language=app.config.language,
        target=app.builder.get_target_uri(first),
        title=app.config.html_title,
        icon=ICON.format(name=Path(app.config.html_favicon).name) if app.config.html_favicon else "",
        # Whoever shares the site shares this address.
        tags=cards.tags(app, first, app.env.get_doctree(first)),
    )
    Path(app.outdir, "index.html").write_text(page, encoding="utf-8", newline="\n")
