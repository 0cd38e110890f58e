"""The pages at the site's root: one leads to the first chapter, the other stands where there is none.

A host shows `404.html` for any address that it doesn't have, so its links begin where the site does.
"""

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
NOWHERE = """<!DOCTYPE html>
<html lang="ko">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<base href="{base}">
<title>404: {title}</title>
{icon}<style>
@font-face {{ font-family: Hangul; src: url("_static/fonts/hangul.woff2"); unicode-range: U+AC00-D7A3; }}
body {{ max-width: 34rem; margin: 15vh auto; padding: 0 1.2rem; font: 1rem/1.75 system-ui, Hangul, sans-serif; }}
html {{ background: #fff; color: #1f2430; }}
a {{ color: #0f5fd0; }}
@media (prefers-color-scheme: dark) {{ html {{ background: #121212; color: #ced6dd; }} a {{ color: #7fb0f5; }} }}
</style>
</head>
<body><main><h1 lang="en">{title}</h1>
<p>이 주소에는 페이지가 없습니다. <a href="{target}">처음으로</a></p>
<p lang="en">There is no page at this address. <a href="en/index.html">To the beginning</a></p></main></body>
</html>
"""
ICON = '<link rel="icon" href="_static/{name}">\n'  # without it, a browser asks for one that is not there


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _write_root, priority=400)  # before its letters are looked for


def _write_root(app: Sphinx, error: Exception | None) -> None:
    first = app.config.root_doc
    if error or app.builder.name != "html" or first == "index":
        return
    parts = {
        "language": app.config.language,
        "target": app.builder.get_target_uri(first),
        "title": app.config.html_title,
        "icon": ICON.format(name=Path(app.config.html_favicon).name) if app.config.html_favicon else "",
        # Whoever shares the site shares this address.
        "tags": cards.tags(app, first, app.env.get_doctree(first)),
        "base": app.config.html_baseurl or "/",
    }
    for name, page in (("index.html", PAGE), ("404.html", NOWHERE)):
        Path(app.outdir, name).write_text(page.format(**parts), encoding="utf-8", newline="\n")
