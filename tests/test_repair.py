"""A submitted notebook with each graded cell of the release in it once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mini import cell_of

from course_lib.course import Course
from course_lib.grading.notebook import new_cell, packed, read_notebook
from course_lib.grading.repair import repair


def ids(notebook: Any) -> list[str]:
    return [cell.metadata.get("nbgrader", {}).get("grade_id", cell.source) for cell in notebook.cells]


ORDER = ["double-solution", "double", "mean-solution", "mean", "why"]


def repaired(course: Course, released: Any, change: Callable[[list[Any]], list[Any]]) -> Any:
    notebook = read_notebook(course.exercises / "en" / "mini" / "mini.ipynb")
    notebook.cells = change([cell for cell in notebook.cells if "nbgrader" in cell.metadata])
    return repair(notebook, released)


def without(*names: str) -> Callable[[list[Any]], list[Any]]:
    return lambda cells: [cell for cell in cells if cell.id not in names]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda cells: cells, ORDER),
        (without("double", "mean"), ORDER),
        (without("why"), ORDER),
        (lambda cells: [cells[1], cells[0], *cells[2:]], ORDER),  # a graded cell before its answer
        (lambda cells: [*cells, cells[1]], ORDER),
        (lambda cells: [], ["double", "mean", "why"]),
        # a function that was moved to a cell of its own counts where it stands
        (without("mean-solution"), [*ORDER[:2], "why", "mean"]),
    ],
)
def test_repair_puts_every_graded_cell_behind_its_answer(
    course: Course, released: Any, change: Callable[[list[Any]], list[Any]], expected: list[str]
) -> None:
    notebook = repaired(course, released, change)
    assert ids(notebook) == expected
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_repair_counts_the_last_copy_of_an_answer(course: Course, released: Any) -> None:
    def copy_answer(cells: list[Any]) -> list[Any]:
        cells[0].source = "first"
        return [*cells, {**cells[0], "source": "last"}]

    def as_cells(cells: list[Any]) -> list[Any]:
        copied = copy_answer(cells)
        return [*copied[:-1], new_cell("code", "copy", "last", dict(copied[-1]["metadata"]))]

    notebook = repaired(course, released, as_cells)
    assert ids(notebook) == ["first", *ORDER[2:], "double-solution", "double"]
    assert cell_of(notebook, "double-solution").source == "last"


def test_repair_takes_locked_cells_and_points_from_the_release(course: Course, released: Any) -> None:
    def tamper(cells: list[Any]) -> list[Any]:
        for cell in cells:
            cell.metadata.tags = ["skip-execution"]
            cell.metadata.nbgrader.update(points=100, grade=False)
        cells[2].source = "pass"
        return cells

    notebook = repaired(course, released, tamper)
    assert [cell for cell in notebook.cells if "tags" in cell.metadata] == []
    assert cell_of(notebook, "double") == cell_of(released, "double")
    assert cell_of(notebook, "why").metadata == cell_of(released, "why").metadata


@pytest.mark.parametrize("metadata", ["text", {"grade_id": 3}, {"grade_id": "unknown", "grade": True}, {}])
def test_repair_drops_metadata_that_is_not_ours(course: Course, released: Any, metadata: Any) -> None:
    odd = new_cell("code", "odd", "1", {"nbgrader": metadata})
    notebook = repaired(course, released, lambda cells: [odd, *cells])
    assert "nbgrader" not in notebook.cells[0].metadata
    assert ids(notebook)[1:] == ORDER


def test_repair_leaves_the_release_as_it_is(course: Course, released: Any) -> None:
    before = packed(released)
    clash = new_cell("code", "double", "1", {})  # another cell has the id of one of ours
    first = packed(repaired(course, released, lambda cells: [clash, *cells]))
    assert packed(released) == before
    assert packed(repaired(course, released, lambda cells: [clash, *cells])) == first
