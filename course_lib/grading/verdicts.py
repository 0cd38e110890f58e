"""What the graded cells of an executed notebook say: points and words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """What a graded cell said when it ran: its points, None where it gave none, and its text."""

    points: float | None
    message: str


def read_verdicts(notebook: Any) -> dict[str, Verdict]:
    """The verdict of every graded code cell of an executed notebook, by id.

    The points are the value of the cell, and nothing else is: a warning costs nothing, and a cell that was kept from
    giving a value gives no points (nbgrader would take silence for full marks).
    """
    return {
        cell.metadata.nbgrader.grade_id: Verdict(_points(cell), _message(cell))
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
    }


LIMITS = "course_limits"  # in the notebook's metadata: the examiner's sentences on limits that were hit


def limits_hit(notebook: Any) -> str:
    """What the examiner noted of limits that an executed notebook hit, each sentence once; mostly empty."""
    return " ".join(dict.fromkeys(notebook.metadata.get(LIMITS, [])))


def _points(cell: Any) -> float | None:
    if any(output.output_type == "error" for output in cell.outputs):
        return None
    for output in reversed(cell.outputs):
        if output.output_type == "execute_result":
            try:
                points = float(output.data.get("text/plain", ""))
            except ValueError:
                return None
            return points if math.isfinite(points) and 0 <= points <= cell.metadata.nbgrader.points else None
    return None


def _message(cell: Any) -> str:
    text = "".join(
        output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stdout"
    )
    errors = [f"{output.ename}: {output.evalue}" for output in cell.outputs if output.output_type == "error"]
    if not text.strip() and not errors and _points(cell) is None:
        errors = ["no verdict arrived from this cell"]
    return "\n".join([text.strip(), *errors]).strip()
