"""Query, Key, Value, score, weight and output in prose: {query}`Queries`, {weight}`weight` and so on.

A word of a role gets the role's colour, as its letter does in equations. It is bold as well, so that it stands out
without colour too. For places where a role is introduced or compared; elsewhere the word alone is enough.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from docutils.utils import unescape
from sphinx.application import Sphinx

from .equations import ROLES


def setup(app: Sphinx) -> None:
    for name in sorted(set(ROLES.values())):
        app.add_role(name, _word)


def _word(
    name: str, rawtext: str, text: str, lineno: int, inliner: Inliner, *_: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    return [nodes.strong(rawtext, unescape(text), classes=[f"role-{name}"])], []
