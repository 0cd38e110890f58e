"""Executed tabs: neighbouring cells tagged `tab-numpy`, `tab-torch`, `tab-course-lib` become one set of tabs.

A code cell inside a tab directive is not executed; cells at the top level are. So they are written there,
and moved into the tabs here, after they ran.
"""

from __future__ import annotations

from itertools import groupby

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx_design.shared import create_component

LABELS = {"tab-numpy": "NumPy", "tab-torch": "PyTorch", "tab-course-lib": "course_lib"}


def setup(app: Sphinx) -> None:
    app.add_transform(GroupCellsIntoTabs)


class GroupCellsIntoTabs(SphinxTransform):
    default_priority = 400

    def apply(self) -> None:
        parents = {cell.parent for cell in self.document.findall(nodes.container) if _tab_of(cell)}
        for parent in parents:
            parent.children = [*_with_tab_sets(parent.children)]
            for child in parent.children:
                child.parent = parent


def _tab_of(node: nodes.Node) -> str | None:
    """The tab that a cell asks for by its tag."""
    if isinstance(node, nodes.container) and node.get("nb_element") == "cell_code":
        for tag in node.get("cell_metadata", {}).get("tags", ()):
            if tag in LABELS:
                return tag
    return None


def _with_tab_sets(children: list[nodes.Node]) -> list[nodes.Node]:
    result: list[nodes.Node] = []
    for in_tabs, run in groupby(children, key=lambda child: _tab_of(child) is not None):
        neighbours = list(run)
        result += [_tab_set(neighbours)] if in_tabs else neighbours
    return result


def _tab_set(cells: list[nodes.Node]) -> nodes.container:
    tab_set = create_component("tab-set", classes=["sd-tab-set"])
    tab_set.source, tab_set.line = cells[0].source, cells[0].line
    for tag, run in groupby(cells, key=_tab_of):
        label = nodes.rubric(LABELS[tag], LABELS[tag], classes=["sd-tab-label"])
        content = create_component("tab-content", classes=["sd-tab-content"], children=list(run))
        tab_set += create_component("tab-item", classes=["sd-tab-item"], children=[label, content])
    return tab_set
