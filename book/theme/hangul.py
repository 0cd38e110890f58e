"""A Hangul font with just the syllables of the pages, for readers whose system has none (a bare Debian, say).

The style sheet names it after the systems' own fonts, so a browser fetches it only where those are missing.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

PACKAGE = "koreanize_matplotlib"  # only its font files are used
PLAIN = {"NanumGothic.ttf": "hangul.woff2"}
# Of release/pdf.py: on a screen bold is made of the plain one.
FOR_PAPER = {"NanumGothicBold.ttf": "hangul-bold.woff2"}
HANGUL = re.compile("[\u1100-\u11ff\u3000-\u303f\u3130-\u318f\uac00-\ud7a3]")
COPYRIGHT_AND_LICENCE = [0, 13, 14]  # the name itself is reserved: a changed font may not carry it


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _write_fonts)


def _write_fonts(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    syllables = _syllables(Path(app.outdir))
    for source, target in (PLAIN if app.builder.name == "html" else PLAIN | FOR_PAPER).items():
        _write_subset(_font(source), syllables, Path(app.outdir, "_static", "fonts", target))


def _syllables(pages: Path) -> set[str]:
    english = pages / "en"  # has fonts of its own
    texts = [path for path in pages.rglob("*.html") if english not in path.parents]
    texts += pages.glob("_static/**/*.js")
    return {
        letter for path in texts for letter in HANGUL.findall(_unescaped(path.read_text(encoding="utf-8")))
    }


def _unescaped(text: str) -> str:
    """Scripts write their Hangul as \\uXXXX."""
    return re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)


def _font(name: str) -> Path:
    package = find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise RuntimeError(f"the package {PACKAGE}, which carries the Hangul font, is not installed")
    return Path(package.submodule_search_locations[0], "fonts", name)


def _write_subset(source: Path, letters: set[str], target: Path) -> None:
    if target.is_file() and _letters(target) == letters & _letters(source):
        return  # a change of a chapter seldom brings a new syllable, and packing a font takes a second
    # The TSI tables hold sources of the hinting, which is left out.
    options = subset.Options(
        flavor="woff2", hinting=False, name_IDs=COPYRIGHT_AND_LICENCE, notdef_outline=True
    )
    options.drop_tables += [f"TSI{number}" for number in range(6)]
    font = subset.load_font(str(source), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=sorted(map(ord, letters)))
    subsetter.subset(font)
    font["head"].modified = font["head"].created  # the same pages give the same bytes
    font.recalcTimestamp = False
    subset.save_font(font, str(target), options)


def _letters(path: Path) -> set[str]:
    with TTFont(path) as font:
        return {chr(code) for code in font.getBestCmap()}
