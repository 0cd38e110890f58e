"""Where a notebook opens: the directive `{notebook-links}`, and what follows `exercises/en/ps1` in a chapter.

Both say nothing where course.toml names no repository on GitHub.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_lib.course import Course, read_course
from course_lib.release.links import NotebookLinks, all_links, links_of

ROOT = Path(__file__).parents[2]
WORDS = {
    "ko": ("노트북", "여는 곳", "nbgitpuller가 있는 hub: 주소 뒤에"),
    "en": ("Notebook", "Opens in", "On a hub with nbgitpuller: after its address"),
}


def setup(app: Sphinx) -> None:
    app.add_directive("notebook-links", NotebookTable)
    app.connect("doctree-read", _follow_folders)


class NotebookTable(SphinxDirective):
    """A row for each notebook of the language."""

    def run(self) -> list[nodes.Node]:
        language = self.config.language
        links = [link for link in all_links(_course()) if link.language == language]
        return [_table(links, WORDS[language])] if links else []


def _table(links: list[NotebookLinks], words: tuple[str, ...]) -> nodes.table:
    head, body = nodes.thead("", _row(*map(nodes.Text, words))), nodes.tbody()
    for link in links:
        opens = nodes.inline("", "", *_opens(link))
        body += _row(nodes.Text(link.problem_set), opens, nodes.literal("", link.puller))
    columns = [nodes.colspec(colwidth=1) for _ in words]
    return nodes.table("", nodes.tgroup("", *columns, head, body, cols=len(words)))


def _row(*cells: nodes.Node) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def _follow_folders(app: Sphinx, doctree: nodes.document) -> None:
    """After the folder of a notebook that a chapter names, where it opens."""
    course = _course()
    for folder in list(doctree.findall(nodes.literal)):
        parts = folder.astext().split("/")
        if len(parts) == 3 and parts[0] == "exercises" and (link := links_of(course, *parts[1:])):
            place = folder.parent.index(folder) + 1
            folder.parent[place:place] = [nodes.Text(" ("), *_opens(link), nodes.Text(")")]


def _opens(link: NotebookLinks) -> list[nodes.Node]:
    found: list[nodes.Node] = [nodes.reference("", "Colab", refuri=link.colab)]
    if link.binder:
        found += [nodes.Text(" · "), nodes.reference("", "Binder", refuri=link.binder)]
    return found


def _course() -> Course:
    return read_course(ROOT)
