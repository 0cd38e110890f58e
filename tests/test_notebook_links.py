"""Links of notebooks on pages: a table where the directive stands, and links after a folder that a chapter names."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from docutils import nodes
from sphinx.testing.util import SphinxTestApp

from course_lib.course import Course, find_course

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
notebook_links = importlib.import_module("book.theme.notebook_links")

COURSE = find_course(ROOT)
HOSTED = replace(COURSE, repository="https://github.com/owner/a-course")
PAGE = """\
# A page

:::{notebook-links}
:::

Open `exercises/en/ps1`, or `exercises/en/ps4`; not `exercises/en`, not `exercises/en/ps0`, not `ps1`.
"""


def page(folder: Path, course: Course, monkeypatch: pytest.MonkeyPatch) -> nodes.document:
    monkeypatch.setattr(notebook_links, "_course", lambda: course)
    settings = 'extensions = ["myst_parser", "book.theme.notebook_links"]\nmyst_enable_extensions = ["colon_fence"]\n'
    (folder / "conf.py").write_text(f'{settings}language = "en"\n', encoding="utf-8")
    (folder / "index.md").write_text(PAGE, encoding="utf-8")
    app = SphinxTestApp(srcdir=folder, buildername="dummy")
    try:
        app.build()
        return app.env.get_doctree("index")
    finally:
        app.cleanup()


def addresses(tree: nodes.Node) -> list[str]:
    return [reference["refuri"] for reference in tree.findall(nodes.reference)]


@pytest.mark.filterwarnings("default")  # Sphinx's own
def test_pages_link_each_notebook_of_their_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = page(tmp_path, HOSTED, monkeypatch)
    [table] = tree.findall(nodes.table)
    rows = list(table.findall(nodes.row))
    assert len(rows) == 1 + len(COURSE.problem_sets)
    assert all("/exercises/en/" in each or "exercises%2Fen%2F" in each for each in addresses(table))
    assert rows[1].astext().split("\n\n")[:2] == ["ps1", "Colab · Binder"]
    [sentence] = [
        each for each in tree.findall(nodes.paragraph) if each.astext().startswith("Open exercises")
    ]
    assert sentence.astext() == (
        "Open exercises/en/ps1 (Colab · Binder), or exercises/en/ps4 (Colab); "
        "not exercises/en, not exercises/en/ps0, not ps1."
    )
    assert addresses(sentence)[0].endswith("/owner/a-course/blob/main/exercises/en/ps1/ps1.ipynb")


@pytest.mark.filterwarnings("default")
def test_pages_show_nothing_without_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = page(tmp_path, replace(COURSE, repository=None), monkeypatch)
    assert not list(tree.findall(nodes.table))
    assert addresses(tree) == []
