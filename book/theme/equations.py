"""Equations become MathML while the book is built: no script, no request, readable by screen readers.

What the converter does not know is a warning with the place in the source, so the build fails instead of
showing raw TeX. The letters of Query, Key, Value, score, weight and output get the colours of their roles.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from .lines import UNITS

LOG = logging.getLogger(__name__)
END_OF_TEXT, START_OF_TEXT = re.compile(r"\S+\Z"), re.compile(rf"\A(?: {UNITS}\S*|\S+)")
# The root sign of the book's font doesn't grow (static/fonts/README.md says why).
TALL_ROOT = re.compile(r"\\sqrt\{(?:[^{}]|\{[^{}]*\})*\\[dt]?frac")
# The letters of the roles; a letter in an index or exponent only names something else (n_k, W^Q).
ROLES = {"Q": "query", "q": "query", "K": "key", "k": "key", "V": "value", "v": "value", "S": "score", "A": "weight",
         "O": "output"}  # fmt: skip
TOKEN = re.compile(r"<mi>(?P<letter>\w)</mi>|<(?P<closing>/?)(?P<name>\w+)[^>]*?(?P<empty>/?)>")
SCRIPTS = {"msub", "msup", "msubsup"}
# The font's prime is drawn raised: as an exponent it would be raised twice.
PRIME = re.compile(r"<msup>(<mi[^>]*>[^<]*</mi>)<mo>′</mo></msup>")
CONVERTER = LatexToMathML(fancy_error=False)


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_display, None))
    app.add_post_transform(KeepParticles)
    app.connect("config-inited", lambda app, config: setattr(config, "html_math_renderer", "mathml"))


def to_mathml(tex: str, *, display: bool) -> str:
    """The MathML element of a piece of TeX; LatexError where it is not understood."""
    mathml = with_roles(CONVERTER.convert_with_local_state(tex, displaystyle=display))
    return PRIME.sub(r'<mrow>\1<mo lspace="0" rspace="0">′</mo></mrow>', mathml)


def with_roles(mathml: str) -> str:
    """Every letter of a role gets its class, and so its colour; in what is raised or lowered it stays as it is."""
    above: list[tuple[str, int]] = []  # the open elements, and the number of children that each has so far

    def marked(token: re.Match[str]) -> str:
        if token["closing"]:
            above.pop()
            return token[0]
        if above:
            above[-1] = (above[-1][0], above[-1][1] + 1)
        if token["letter"] is None:
            if not token["empty"]:
                above.append((token["name"], 0))
            return token[0]
        lowered = any(name in SCRIPTS and children > 1 for name, children in above)
        role = None if lowered else ROLES.get(token["letter"])
        return f'<mi class="role-{role}">{token["letter"]}</mi>' if role else token[0]

    return TOKEN.sub(marked, mathml)


def _visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    opening = translator.starttag(node, "span", "", CLASS="math notranslate")
    translator.body.append(f"{opening}{_convert(node, display=False)}</span>")
    raise nodes.SkipNode


def _visit_display(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate", TABINDEX="0"))
    translator.body.append(_convert(node, display=True))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, _("Link to this equation"))
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def _convert(node: nodes.math | nodes.math_block, *, display: bool) -> str:
    if TALL_ROOT.search(node.astext()):
        LOG.warning("A fraction does not fit under the root sign: %s", node.astext(), location=node)
    try:
        return to_mathml(node.astext(), display=display)
    except LatexError as error:
        LOG.warning("This equation can't be drawn: %s (%s)", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"


class KeepParticles(SphinxPostTransform):
    """An inline equation stays on one line with what touches it: a bracket before, a particle or a unit after."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for math in list(self.document.findall(nodes.math)):
            parent, place = math.parent, math.parent.index(math)
            before, head = _cut(parent[place - 1] if place else None, END_OF_TEXT)
            after, tail = _cut(parent[place + 1] if place + 1 < len(parent) else None, START_OF_TEXT)
            if head or tail:
                parts = [nodes.Text(head), math, nodes.Text(tail)]
                together = nodes.inline("", "", *parts, classes=["together"])
                parent[place - bool(head) : place + 1 + bool(tail)] = [*before, together, *after]


def _cut(node: nodes.Node | None, pattern: re.Pattern[str]) -> tuple[list[nodes.Node], str]:
    """What a neighbouring text keeps, and the part of it that touches the equation."""
    touching = pattern.search(node.astext()) if isinstance(node, nodes.Text) else None
    if touching is None:
        return [], ""
    rest = pattern.sub("", node.astext())
    return [nodes.Text(rest)] if rest else [], touching[0]
