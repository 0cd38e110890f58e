"""The page at the site's root: it leads to the first chapter, which lies in its language's folder."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

PAGE = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={target}">
<title>{title}</title>
</head>
<body><p><a href="{target}">{title}</a></p></body>
</html>
"""


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _lead_to_first_chapter)


def _lead_to_first_chapter(app: Sphinx, error: Exception | None) -> None:
    first = app.config.root_doc
    if error or app.builder.name != "html" or first == "index":
        return
    target = app.builder.get_target_uri(first)
    page = PAGE.format(language=app.config.language, target=target, title=app.config.html_title)
    Path(app.outdir, "index.html").write_text(page, encoding="utf-8")
