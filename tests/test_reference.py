"""The reference of the library and the bibliography: from docstrings and BibTeX to what a page shows."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from pybtex.database import parse_file

import course_lib

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
library = importlib.import_module("book.theme.library")
bibliography = importlib.import_module("book.theme.bibliography")

DOCSTRING = """Y = a * b_c, |Y| < 1.

Returns Y (..., n). See `softmax` and `axis`.
mask: True = may attend.
left, right: sides; right is unlimited. scale: a factor that goes on
in the next line.
Every other sentence stands apart.

    C = X W

Errors: ValueError for a bad n. Source: Vaswani et al. 2017; chapter `heads`."""


def test_to_markdown_gives_each_part_its_place() -> None:
    lines = library.to_markdown(DOCSTRING, ("mask", "left", "right", "scale"))
    assert [line for line in lines if line] == [
        r"Y = a \* b\_c, \|Y\| \< 1.",
        "Returns Y (...,\u00a0n). See {py:obj}`~course_lib.softmax` and `axis`.",
        "- `mask`: True = may attend.",
        "- `left`, `right`: sides; right is unlimited.",
        "- `scale`: a factor that goes on in the next line.",
        "Every other sentence stands apart.",
        "```text",
        "C = X W",
        "```",
        "**Errors:** ValueError for a bad n.",
        "**Source:** Vaswani et al. 2017; chapter {doc}`heads`.",
    ]


@pytest.mark.parametrize("name", course_lib.__all__)
def test_entry_shows_the_signature_as_in_the_source(name: str) -> None:
    head, *_, end = (line for line in library._entry(name, getattr(course_lib, name)) if line)
    assert re.match(rf":::::\{{py:(function|class)\}} {name}\(", head)
    assert not re.search(r"ForwardRef| at 0x|: '|<", head)
    assert end == ":::::"


# It takes nothing, so there is nothing to refuse.
@pytest.mark.parametrize("name", sorted(set(course_lib.__all__) - {"best_device"}))
def test_docstring_of_every_function_says_its_errors_and_source(name: str) -> None:
    public = getattr(course_lib, name)
    if not isinstance(public, type):
        text = (public.__doc__ or "").lower()
        assert "errors" in text
        assert "source" in text


def test_references_are_sorted_by_the_label_that_they_show() -> None:
    entries = parse_file(str(ROOT / "book" / "references.bib")).entries.values()
    labels = list(bibliography.AuthorAndYear().format_labels(bibliography.ByLabel().sort(entries)))
    assert labels == sorted(labels, key=str.lower)
    assert len(labels) == len(set(labels))
    assert {"Vaswani et al., 2017", "DeepSeek-AI, 2024", "Shazeer, 2019", "Zhang and Sennrich, 2019"} <= set(
        labels
    )


def test_every_reference_is_cited_and_every_citation_is_there() -> None:
    chapters = [path.read_text(encoding="utf-8") for path in (ROOT / "book" / "ko").glob("*.md")]
    cited = {
        key
        for text in chapters
        for keys in re.findall(r"\{cite:\w+\}`([^`]+)`", text)
        for key in keys.split(",")
    }
    assert cited == set(parse_file(str(ROOT / "book" / "references.bib")).entries)
