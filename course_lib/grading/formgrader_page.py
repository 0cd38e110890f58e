"""What formgrader's page of a submission shows of it: formgrader runs with all that whoever marks may do.

nbgrader's template puts the HTML of students' Markdown and their names into that page as they are. Both are made
harmless here, by what `workspace` sets in nbgrader's configuration.
"""

from __future__ import annotations

import html
import re
from typing import Any

import nh3
from nbconvert.filters.strings import strip_files_prefix
from nbconvert.preprocessors import Preprocessor
from traitlets import Bool

from course_lib.grading.feedback_page import TAGS

_PICTURE = re.compile(r"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=\s]*")
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
        return value if _PICTURE.fullmatch(value) else None
    return None if name == "href" and value.strip().lower().startswith("data:") else value


class HarmlessNames(Preprocessor):
    """Names of people as text: the template takes them for HTML."""

    enabled = Bool(True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The notebook as it is, and resources with their names escaped."""
        for name in _NAMES:
            if resources.get(name):
                resources[name] = html.escape(str(resources[name]))
        return nb, resources
