"""A submitted notebook made one that can be graded: each graded cell of the release is in it once."""

from __future__ import annotations

from typing import Any

from course_lib.grading.foreign_notebook import with_ids
from course_lib.grading.notebook import new_cell


def repair(notebook: Any, released: Any) -> Any:
    """The submitted notebook with each graded cell of `released` in it once, at a place where it sees its answer.

    Answers keep their place; where one was copied, the last copy counts. Checks and graded cells are those of
    `released`, where they stood, but never before their answer. Tags are dropped: one of them skips a cell.
    """
    ours = {grade_id(cell): cell for cell in released.cells if grade_id(cell)}
    by_id = {cell.id: name for name, cell in ours.items()}
    kept: list[Any] = []
    # By a cell's id: the index in `kept` of the answer, or of what a locked cell came after.
    stood: dict[str, int] = {}
    for cell in notebook.cells:
        name = grade_id(cell) or _by_its_own_id(cell, ours, by_id)
        is_answer = name in ours and ours[name].metadata.nbgrader.solution
        if not is_answer and name in ours:
            stood.setdefault(name, len(kept) - 1)
            continue
        cell.metadata.pop("nbgrader", None)
        cell.metadata.pop("tags", None)
        if is_answer:
            cell = _of_kind(cell, ours[name].cell_type)
            stood[name] = len(kept)
        kept.append(cell)
    notebook.cells = _merge(kept, stood, ours)
    return with_ids(notebook)


def grade_id(cell: Any) -> str:
    """The cell's id in nbgrader's metadata; empty where there is none, or something else in its place."""
    metadata = cell.metadata.get("nbgrader", {})
    name = metadata.get("grade_id", "") if isinstance(metadata, dict) else ""
    return name if isinstance(name, str) else ""


def _by_its_own_id(cell: Any, ours: dict[str, Any], by_id: dict[str, str]) -> str:
    """The name of a cell that has lost nbgrader's metadata, as some editors drop it, but kept its id."""
    name = by_id.get(cell.get("id"), "")
    return name if name and cell.cell_type == ours[name].cell_type else ""


def _of_kind(cell: Any, kind: str) -> Any:
    """The cell, made a cell of code or of words where it was another."""
    return cell if cell.cell_type == kind else new_cell(kind, cell.id, cell.source, {})


def _merge(kept: list[Any], stood: dict[str, int], ours: dict[str, Any]) -> list[Any]:
    """The student's cells with the answers among them marked, and our cells behind them."""
    behind: dict[int, list[Any]] = {}
    answer = -1
    for name, cell in ours.items():
        if cell.metadata.nbgrader.solution:
            answer = stood.get(name, len(kept) - 1)
            if name in stood:
                kept[answer].metadata["nbgrader"] = cell.metadata.nbgrader
            if name in stood or cell.cell_type == "code":
                continue  # an answer in code may stand in any cell; one in words needs its own to be marked
        behind.setdefault(max(answer, stood.get(name, -1)), []).append(type(cell)(cell))
    merged = behind.get(-1, [])
    for index, cell in enumerate(kept):
        merged += [cell, *behind.get(index, [])]
    return merged
