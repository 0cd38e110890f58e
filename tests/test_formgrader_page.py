"""What formgrader's page of a submission is made of: nothing of a student's runs, loads or covers anything in it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from nbconvert.exporters import HTMLExporter
from nbformat import v4
from nbgrader.server_extensions.formgrader import handlers
from test_feedback import PNG, Seen
from traitlets.config import Config

from course_lib.grading.formgrader_page import harmless
from course_lib.grading.workspace import set_up

ROOT = Path(__file__).parents[1]
RESOURCES = {
    name: f"<b class=evil>{name}"
    for name in ("student", "last_name", "first_name", "assignment_id", "notebook_id", "submission_id")
} | {"base_url": "", "notebook_path": "", "index": 0, "total": 1}


@pytest.fixture(scope="module")
def exporter() -> HTMLExporter:
    """As formgrader makes it of nbgrader_config.py."""
    config = Config()
    set_up(config, course=ROOT, workspace=ROOT)
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    return HTMLExporter(config=config)


EVIL = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://example.org/x.png)",
    "<svg onload=alert(1)></svg>",
    "[x](javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "<a href=' jAvascript:alert(1)'>x</a>",
    "<input class=score id=double value=3>",
    "<div style='position:fixed' class=modal id=why>x</div>",
    "<iframe src='https://example.org'></iframe>",
    "<form action='/formgrader/api/grade'><button>x</button></form>",
    "<!--<b>--><style>*{display:none}</style>",
)


@pytest.mark.parametrize("evil", EVIL)
def test_page_holds_nothing_of_a_submission_that_runs(exporter: HTMLExporter, evil: str) -> None:
    answer = {"nbgrader": {"grade": True, "solution": True, "task": False, "grade_id": "why", "points": 2}}
    cells = [v4.new_markdown_cell(evil), v4.new_raw_cell(evil), v4.new_markdown_cell(evil, metadata=answer)]

    def tags(cells: list[Any]) -> list[tuple[str, str, str]]:
        page, _ = exporter.from_notebook_node(v4.new_notebook(cells=cells), resources=dict(RESOURCES))
        return [one for one in Seen(page).attributes if one[0] not in ("a", "div", "meta")]

    plain = [v4.new_markdown_cell("x"), v4.new_raw_cell("x"), v4.new_markdown_cell("x", metadata=answer)]
    assert [one for one in tags(cells) if one[:2] != ("img", "alt")] == tags(plain)
    seen = Seen(harmless(exporter.markdown2html({"cell": v4.new_markdown_cell("")}, evil)))
    assert not {name for _, name, _ in seen.attributes} - {"alt", "rel", "href"}


def test_page_shows_names_as_text(exporter: HTMLExporter) -> None:
    page, _ = exporter.from_notebook_node(v4.new_notebook(), resources=dict(RESOURCES))
    assert "&lt;b class=evil&gt;last_name, &lt;b class=evil&gt;first_name" in page


def test_harmless_keeps_what_markdown_is_for() -> None:
    picture = f'<img src="data:image/png;base64,{PNG}" alt="b">'
    kept = f"<p><strong>a</strong> {picture} $x$</p><table><tr><td>1</td></tr></table>"
    assert harmless(kept).replace("<tbody>", "").replace("</tbody>", "") == kept


def test_page_shows_no_sign_that_hides_or_turns_others(exporter: HTMLExporter) -> None:
    odd = "a\u202eb\u2066c\u200bd\ufeffe\U000e0041f"
    answer = {"nbgrader": {"grade": True, "solution": True, "task": False, "grade_id": "why", "points": 2}}
    cells = [v4.new_code_cell(odd), v4.new_raw_cell(odd), v4.new_markdown_cell(odd, metadata=answer)]
    page, _ = exporter.from_notebook_node(v4.new_notebook(cells=cells), resources=dict(RESOURCES))
    assert page.count("abcdef") == 3


@pytest.mark.parametrize("text", ["![", "[a](", "**a*", "\\begin{a}"])
def test_page_is_made_in_bounded_time(exporter: HTMLExporter, text: str) -> None:
    """Of words and code whose HTML would take the square of their number: a page for each would take hours."""
    cells = [v4.new_markdown_cell(text * 10**5), v4.new_code_cell(text * 10**5)]
    start = time.process_time()
    page, _ = exporter.from_notebook_node(v4.new_notebook(cells=cells), resources=dict(RESOURCES))
    assert time.process_time() - start < 10
    assert page.count("cut off here") == 2


def test_page_shows_so_much_and_no_more(exporter: HTMLExporter) -> None:
    cells = [v4.new_code_cell("x = 1\n" * 1000) for _ in range(200)]
    page, _ = exporter.from_notebook_node(v4.new_notebook(cells=cells), resources=dict(RESOURCES))
    assert page.count("cut off here") == 167
