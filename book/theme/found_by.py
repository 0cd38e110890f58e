"""The directive `{found-by} √, sqrt, 루트`: what readers type to find the section in which it stands.

Nothing of it is shown. Sphinx's search puts such words first and knows no others: without them a sign is no word, and
who types a term as it is said in Korean finds the glossary alone. Both languages have the same words, as readers have.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective


def setup(app: Sphinx) -> None:
    app.add_directive("found-by", FoundBy)
    app.add_transform(PointAtSections)


class FoundBy(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        words = [word.strip() for word in self.arguments[0].split(",")]
        return [addnodes.index(entries=[("single", word, "", "main", None) for word in words])]


class PointAtSections(SphinxTransform):
    """The words lead to the section's own address, by which the search shows its title and how it begins.

    Below a chapter's title they lead to the page.
    """

    default_priority = 700

    def apply(self, **kwargs: Any) -> None:
        for index in self.document.findall(addnodes.index):
            section = index.parent
            if isinstance(section, nodes.section) and isinstance(section.parent, nodes.section):
                place = section["ids"][0]
                index["entries"] = [
                    (kind, word, target or place, *rest) for kind, word, target, *rest in index["entries"]
                ]
