"""Equations become MathML while the book is built: no script, no request, readable by screen readers.

What the converter does not know is a warning with the place in the source, so the build fails instead of
showing raw TeX.
"""

from __future__ import annotations

import re

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

LOG = logging.getLogger(__name__)
# The root sign of the book's font doesn't grow (static/fonts/README.md says why).
TALL_ROOT = re.compile(r"\\sqrt\{(?:[^{}]|\{[^{}]*\})*\\[dt]?frac")
CONVERTER = LatexToMathML(annotation=True, fancy_error=False)


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_display, None))
    app.connect("config-inited", lambda app, config: setattr(config, "html_math_renderer", "mathml"))


def to_mathml(tex: str, *, display: bool) -> str:
    """The MathML element of a piece of TeX; LatexError where it is not understood."""
    return CONVERTER.convert_with_local_state(tex, displaystyle=display)


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
