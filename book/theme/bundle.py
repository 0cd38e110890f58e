"""All pages share one style sheet and one script, without what no page uses.

The theme alone would send 1.5 MB of icons as a script, and every extension adds files of its own. What belongs to
single pages (a figure's script) stays a file of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import tinycss2
from fontTools import subset
from sphinx.application import Sphinx
from tinycss2.ast import AtRule, QualifiedRule

STYLE, SCRIPT = "_static/book.css", "_static/book.js"
THEME_STYLES = ["_static/basic.css", "_static/styles/pydata-sphinx-theme.css"]
THEME_SCRIPTS = ["_static/scripts/pydata-sphinx-theme.js"]
# It only couples tabs of the same name, which ours do not ask for.
LEFT_OUT = {"_static/design-tabs.js"}
ICONS = Path("_static", "vendor", "fontawesome", "webfonts")
SOLID = "fa-solid-900.woff2"
WORD = re.compile(r"[\w-]+")
NAME = re.compile(r"[.#]((?:[\w-]|\\.)+)")
WITHIN = re.compile(r":(?:not|is|where|has)\([^()]*\)")
ICON = re.compile(r"[\ue000-\uf8ff]|\\([ef][0-9a-f]{3})\b")
ADDRESS = re.compile(r"url\((?!data:|#)([\"']?)([^\"')]+)\1\)")
FONT_FACE = re.compile(r"@font-face\s*\{[^}]*\}\n?")
FONT_SOURCE = re.compile(r",?\s*url\(\"(?P<name>[^\"]+)\"\)\s*format\([^)]*\)")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", _name_bundles, priority=900)
    app.connect("build-finished", _write_bundles, priority=600)  # after MyST-NB wrote its styles


def _name_bundles(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """What all pages share becomes one file; a page's own files stay, its inline scripts serve what we lack."""
    for key, shared in (("css_files", _styles(app)), ("script_files", _scripts(app))):
        context[key] = [file for file in context[key] if file.filename and str(file.filename) not in shared]
    context["script_files"] = [file for file in context["script_files"] if str(file.filename) not in LEFT_OUT]
    context["style_bundle"], context["script_bundle"] = STYLE, SCRIPT


def _styles(app: Sphinx) -> list[str]:
    return [*THEME_STYLES, *_in_order(app.builder._orig_css_files)]  # type: ignore[attr-defined]


def _scripts(app: Sphinx) -> list[str]:
    return [*_in_order(app.builder._orig_js_files), *THEME_SCRIPTS]  # type: ignore[attr-defined]


def _in_order(files: Iterable[Any]) -> list[str]:
    """Without the files of other hosts and the inline scripts."""
    named = [file for file in sorted(files, key=lambda file: file.priority) if file.filename]
    return [str(file.filename) for file in named if str(file.filename) not in LEFT_OUT]


def _write_bundles(app: Sphinx, error: Exception | None) -> None:
    written = hasattr(app.builder, "_orig_js_files")  # Sphinx names the scripts before it writes a page
    if error or app.builder.format != "html" or not written:
        return
    root = Path(app.outdir)
    pages = [path for path in root.rglob("*.html") if root / "en" not in path.parents]
    script = ";\n".join(_read(root / name) for name in dict.fromkeys(_scripts(app)))
    words = {word for path in (*pages, *root.glob("_static/**/*.js")) for word in WORD.findall(_read(path))}
    style = "".join(_style(root, name, words) for name in dict.fromkeys(_styles(app)))
    _write_icons(root / ICONS, style)
    (root / SCRIPT).write_text(script, encoding="utf-8", newline="\n")
    (root / STYLE).write_text(_with_fonts_of(root / "_static", style), encoding="utf-8", newline="\n")
    _stamp(pages, {name: _digest(root / name) for name in (STYLE, SCRIPT)})


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _style(root: Path, name: str, words: set[str]) -> str:
    """A style sheet's rules for what the pages hold, with addresses from where the bundle lies."""
    folder = Path(name).parent.relative_to("_static")

    def moved(address: re.Match[str]) -> str:
        parts: list[str] = []
        for part in (folder / address[2]).parts:
            parts = parts[:-1] if part == ".." and parts else [*parts, part]
        return f'url("{"/".join(parts)}")'

    rules = tinycss2.parse_stylesheet(_read(root / name), skip_comments=True, skip_whitespace=True)
    return ADDRESS.sub(moved, COMMENT.sub("", "".join(_used(rules, words))))


def _used(rules: Iterable[Any], words: set[str]) -> Iterator[str]:
    for rule in rules:
        if isinstance(rule, QualifiedRule):
            selectors = _kept(tinycss2.serialize(rule.prelude), words)
            if selectors:
                yield f"{selectors}{{{tinycss2.serialize(rule.content).strip()}}}\n"
        elif isinstance(rule, AtRule) and rule.lower_at_keyword in ("media", "supports") and rule.content:
            inner = "".join(_used(tinycss2.parse_rule_list(rule.content, skip_whitespace=True), words))
            if inner:
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}\n"
        elif isinstance(rule, AtRule):
            yield rule.serialize() + "\n"


def _kept(prelude: str, words: set[str]) -> str:
    """The selectors whose classes and ids all occur; what stands in :not() and the like isn't looked at."""
    selectors = re.split(r",(?![^()]*\))", prelude)
    return ",".join(
        part.strip() for part in selectors if words.issuperset(NAME.findall(WITHIN.sub("", part)))
    )


def _write_icons(folder: Path, style: str) -> None:
    """The theme's icons out of its font, those that the styles name."""
    codes = [int(code[1], 16) if code[1] else ord(code[0]) for code in ICON.finditer(style)]
    options = subset.Options(flavor="woff2", hinting=False, layout_features=[], recalc_timestamp=False)
    font = subset.load_font(str(folder / SOLID), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)
    for path in folder.iterdir():
        path.unlink()
    subset.save_font(font, str(folder / SOLID), options)


def _with_fonts_of(folder: Path, style: str) -> str:
    """A style sheet whose fonts are there: the icon fonts that were cut away aren't named either."""

    def found(source: re.Match[str]) -> str:
        return source[0] if (folder / source["name"]).is_file() else ""

    def kept(face: re.Match[str]) -> str:
        sources = FONT_SOURCE.sub(found, face[0])
        return sources if re.search(r"url\(|local\(", sources) else ""

    return FONT_FACE.sub(kept, style)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]


def _stamp(pages: Iterable[Path], digests: dict[str, str]) -> None:
    """A changed bundle gets another address, so that no browser keeps the old one."""

    def stamped(name: str) -> Callable[[str], str]:
        pattern = re.compile(rf'{re.escape(name)}(\?v=\w+)?"')
        return lambda text: pattern.sub(f'{name}?v={digests[name]}"', text)

    for path in pages:
        before = _read(path)
        after = stamped(SCRIPT)(stamped(STYLE)(before))
        if after != before:
            path.write_text(after, encoding="utf-8", newline="\n")
