"""Somebody's notebook, of whatever version and in whatever state, as a notebook of today's format.

Only what grading reads is taken over: kinds, sources and names of cells, and pictures attached to prose. What else the
file holds (outputs, other metadata) is never looked at, so it can be as damaged, or as large, as it likes.
"""

from __future__ import annotations

import json
import re
from typing import Any

from course_lib.grading.notebook import new_notebook, unchecked_cell
from course_lib.grading.pictures import KINDS as PICTURES
from course_lib.grading.pictures import Pixels

MAX_PARTS = 3_000_000  # commas and brackets of the file, at most: what a parser makes of it fits into memory
MAX_CELLS = 5_000
KINDS = ("code", "markdown", "raw")

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def parse_notebook(text: str) -> Any:
    """The notebook that a file's text holds; JSONDecodeError where it is no JSON, ValueError where no notebook."""
    if sum(text.count(sign) for sign in ",[{") > MAX_PARTS:
        raise ValueError("it holds far more than a notebook does; clear its outputs")
    content = json.loads(text)
    version = content.get("nbformat") if isinstance(content, dict) else None
    if not isinstance(version, int) or not 2 <= version <= 4:
        raise ValueError("it says no version of the notebook format that is known")
    cells = content.get("cells") if version == 4 else _cells_of_old(content)
    if not isinstance(cells, list):
        raise ValueError("it has no list of cells")
    if len(cells) > MAX_CELLS:
        raise ValueError(f"it has {len(cells)} cells, more than the {MAX_CELLS} that are read")
    notebook = new_notebook([], {})
    pixels = Pixels()
    notebook.cells = [_cell(cell, number, pixels) for number, cell in enumerate(cells, start=1)]
    return with_ids(notebook)


def with_ids(notebook: Any) -> Any:
    """The notebook with a valid id for each cell, its own where it has one: the same file gives the same ids."""
    seen: set[str] = set()
    for index, cell in enumerate(notebook.cells):
        name, suffix = cell.get("id"), 0
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in seen:
            name = f"cell-{index}"
        while name in seen:
            suffix += 1
            name = f"cell-{index}-{suffix}"
        cell["id"] = name
        seen.add(name)
    return notebook


def _cells_of_old(content: dict[str, Any]) -> list[Any]:
    """The cells of a notebook of version 2 or 3, as version 4 has them."""
    sheets = content.get("worksheets")
    sheets = [sheet for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else []
    cells = [cell for sheet in sheets for cell in (sheet.get("cells") or []) if isinstance(cell, dict)]
    kinds = {"heading": "markdown", "html": "markdown", "plaintext": "raw"}
    return [
        {
            **cell,
            "cell_type": kinds.get(str(cell.get("cell_type")), cell.get("cell_type")),
            "source": cell.get("input") if cell.get("cell_type") == "code" else cell.get("source"),
        }
        for cell in cells
    ]


def _cell(cell: Any, number: int, pixels: Pixels) -> Any:
    """A cell with what grading reads of it."""
    kind = cell.get("cell_type") if isinstance(cell, dict) else None
    if kind not in KINDS:
        raise ValueError(f"its cell {number} is none of {', '.join(KINDS)}")
    made = unchecked_cell(kind, _text(cell.get("source"), number), _graded_name(cell.get("metadata")))
    made["id"] = cell.get("id")
    if kind == "markdown" and (pictures := _pictures(cell.get("attachments"), pixels)):
        made["attachments"] = pictures
    return made


def _text(source: Any, number: int) -> str:
    lines = source if isinstance(source, list) else [source]
    if not all(isinstance(line, str) for line in lines):
        raise ValueError(f"the source of its cell {number} is no text")
    # Half of a surrogate pair is valid in JSON, but no text that can be written.
    return "".join(lines).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _graded_name(metadata: Any) -> dict[str, Any]:
    """Of a cell's metadata, its name among the graded cells."""
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return {"nbgrader": {"grade_id": name}} if isinstance(name, str) else {}


def _pictures(attachments: Any, pixels: Pixels) -> dict[str, Any]:
    pictures = {}
    for name, bundle in attachments.items() if isinstance(attachments, dict) else []:
        parts = bundle.items() if isinstance(bundle, dict) else []
        kept = {kind: data for kind, data in parts if kind in PICTURES and pixels.take(data, kind)}
        if kept and name.isprintable():
            pictures[name] = kept
    return pictures
