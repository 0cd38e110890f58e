"""What formgrader's page of a submission shows of it: formgrader runs with all that whoever marks may do.

nbgrader's template puts the HTML of students' Markdown and their names into that page as they are. Both are made
harmless here, by what `workspace` sets in nbgrader's configuration.
"""

from __future__ import annotations

import html
import re
from types import SimpleNamespace
from typing import Any

import nh3
from nbconvert.filters.strings import strip_files_prefix
from nbconvert.preprocessors import Preprocessor
from traitlets import Bool

from course_lib.grading.feedback_page import TAGS
from course_lib.grading.pictures import Pixels
from course_lib.grading.plain import plain_text, without_blanks

_PICTURE = re.compile(r"data:(image/(?:png|jpeg));base64,(.*)", re.DOTALL)
MAX_CELL = 10_000  # characters of one cell that are shown: what makes HTML of them may take the square of their number
MAX_PAGE = 200_000  # of all cells
_CUT = "# [cut off here: the whole cell is in the notebook itself]"
_NAMES = ("student", "last_name", "first_name", "filename")


def install(config: Any) -> None:
    """Sets it in nbgrader's `config`."""
    config.HTMLExporter.sanitize_html = True  # of outputs and raw cells; the template leaves Markdown out
    config.HTMLExporter.exclude_anchor_links = True
    # The one filter that the template puts behind the HTML of Markdown, and nowhere else.
    config.HTMLExporter.filters = {"strip_files_prefix": f"{__name__}.harmless"}
    config.HTMLExporter.preprocessors = [f"{__name__}.HarmlessNames"]


def harmless(text: str) -> str:
    """HTML that can't run, load or cover anything, nor pass for a field of the page."""
    return nh3.clean(
        strip_files_prefix(text),  # type: ignore[no-untyped-call]
        tags=TAGS,
        attributes={"a": {"href", "title"}, "img": {"src", "alt"}, "td": {"align"}, "th": {"align"}},
        url_schemes={"http", "https", "mailto", "data"},
        attribute_filter=_attribute,
    )


def _attribute(_: str, name: str, value: str) -> str | None:
    """An attribute as it may stay: pictures are those of the notebook itself, links lead to other pages."""
    if name == "src":
        found = _PICTURE.fullmatch(value)
        return value if found and _page.pixels.take(found[2], found[1]) else None
    return None if name == "href" and value.strip().lower().startswith("data:") else value


_page = SimpleNamespace(pixels=Pixels())  # of the page that is being made: one is made after another


class HarmlessNames(Preprocessor):
    """Names of people as text: the template takes them for HTML. And cells as text without signs unseen."""

    enabled = Bool(True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The notebook with no more than a page holds, and resources with their names escaped."""
        _page.pixels = Pixels()
        left = MAX_PAGE
        for cell in nb.cells:
            source = plain_text(cell.source, len(cell.source))
            source = without_blanks(source) if cell.cell_type == "code" else source
            most = min(MAX_CELL, left)
            cell.source = source if len(source) <= most else f"{source[:most]}\n\n{_CUT}"
            left -= min(len(source), most)
        for name in _NAMES:
            if resources.get(name):
                resources[name] = html.escape(str(resources[name]))
        return nb, resources
