"""The one place for how the book's figures look: fonts, sizes, and the figure itself; colours of the roles as ever."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.figure import Figure

# One hatch a Key, for bars that belong to several Keys.
KEY_HATCHES = ("", "///", "xxx", "\\\\\\", "++", "---", "...", "ooo")
INK, FAINT, PAPER = "#1f2430", "#6a7080", "#ffffff"
# Lines and bars that are compared and have no role; `--series-0` and so on in the book's style sheet. Told from each
# other by every kind of colour vision, and from the roles; a marker, dash or label says the same without colour.
SERIES = (INK, "#007f86", "#c8372d", "#b25fd1")
SCORE_TINT, WEIGHT_TINT = "#d4d4d4", "#f1e3ea"
MASK_HATCH = "////"
# 4.2 inches are 403 CSS pixels: a phone's 320 shrink 10-point letters to no less than 10 pixels.
WIDTH = 4.2

LANGUAGES = ("ko", "en")
_HANGUL_FONTS = (
    "NanumGothic",
    "Noto Sans CJK KR",
    "Noto Sans KR",
    "Pretendard",
    "Apple SD Gothic Neo",
    "Malgun Gothic",
)
_STYLE: Any = {
    "axes.edgecolor": FAINT,
    "axes.grid": True,
    "axes.grid.axis": "both",
    "axes.axisbelow": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    # The paper is opaque: on a dark page the letters keep their contrast, and the tints keep their meaning.
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "figure.constrained_layout.h_pad": 0.09,
    "figure.constrained_layout.w_pad": 0.09,
    "font.size": 10,
    "grid.color": "#e3e5ea",
    "hatch.linewidth": 0.7,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "lines.markersize": 6,
    "mathtext.fontset": "dejavusans",
    # Letters become paths, and ids come from a fixed word: the same picture is the same file everywhere.
    "svg.fonttype": "path",
    "svg.hashsalt": "course_lib",
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 9.5,
    "ytick.color": INK,
    "ytick.labelsize": 9.5,
}


class BookFigure(Figure):
    """A matplotlib Figure outside pyplot's state that draws itself in a notebook as SVG."""

    def _repr_svg_(self) -> str:
        buffer = io.StringIO()
        with book_style():
            self.savefig(buffer, format="svg", metadata={"Date": None})
        return buffer.getvalue()


@contextmanager
def book_style() -> Iterator[None]:
    """A context in which figures are made: the book's style inside, the reader's own settings after it."""
    hangul = hangul_font()
    # The second font has what the first lacks, the minus sign among it.
    family = ["DejaVu Sans"] if hangul is None else [hangul, "DejaVu Sans"]
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE | {"font.family": family})
        yield


def new_figure(
    width: float, height: float, *, layout: Literal["constrained"] | None = "constrained"
) -> BookFigure:
    """A figure of this size in inches, empty."""
    return BookFigure(figsize=(width, height), layout=layout)


def speaker(language: str) -> Callable[[str, str], str]:
    """`say(korean, english)`, which picks the text; ValueError for a language that the book does not have.

    Without any font that has Hangul it picks the English text: boxes in place of letters help nobody.
    """
    if language not in LANGUAGES:
        raise ValueError(f"language must be 'ko' or 'en', not {language!r}")
    korean = language == "ko" and hangul_font() is not None
    return lambda ko, en: ko if korean else en


@cache
def hangul_font() -> str | None:
    """The name of a font with Hangul: the one that the course installs, else one that the machine has."""
    for path in _packaged_fonts():
        font_manager.fontManager.addfont(path)
        if "Bold" in path.stem:
            # The file calls itself 600; matplotlib asks for 700 and would log the difference at every figure.
            bold = replace(font_manager.fontManager.ttflist[-1], weight=700)
            font_manager.fontManager.ttflist.append(bold)
    entries = {(entry.name, entry.weight) for entry in font_manager.fontManager.ttflist}
    return next((name for name in _HANGUL_FONTS if {(name, 400), (name, 700)} <= entries), None)


def _packaged_fonts() -> list[Path]:
    # The package's import needs distutils, which Python 3.12 no longer has; its font files need nothing.
    try:
        files = metadata.files("koreanize-matplotlib") or []
    except metadata.PackageNotFoundError:
        return []
    paths = [
        Path(str(file.locate())) for file in files if file.name in ("NanumGothic.ttf", "NanumGothicBold.ttf")
    ]
    return [path for path in paths if path.is_file()]
