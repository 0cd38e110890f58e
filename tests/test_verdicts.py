"""What a graded cell that ran says: its value, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from course_lib.grading.notebook import new_cell, new_notebook
from course_lib.grading.verdicts import read_verdicts


def executed(*outputs: dict[str, Any]) -> Any:
    cell = new_cell("code", "double", "", {"nbgrader": {"grade": True, "grade_id": "double", "points": 3.0}})
    cell.outputs = [new_output(output) for output in outputs]
    return new_notebook([cell], {})


def new_output(output: dict[str, Any]) -> Any:
    import nbformat

    return nbformat.from_dict(output)


def value(text: str) -> dict[str, Any]:
    return {
        "output_type": "execute_result",
        "data": {"text/plain": text},
        "metadata": {},
        "execution_count": 1,
    }


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


ERROR = {"output_type": "error", "ename": "NameError", "evalue": "no name", "traceback": []}


@pytest.mark.parametrize(
    ("outputs", "points", "message"),
    [
        ([stream("fine\n"), value("3.0")], 3.0, "fine"),
        ([stream("a warning", "stderr"), stream("fine\n"), value("2.5")], 2.5, "fine"),
        ([], None, "no verdict arrived from this cell"),
        ([stream("ok")], None, "ok"),
        ([ERROR], None, "NameError: no name"),
        ([value("3.0"), ERROR], None, "NameError: no name"),
        *[
            ([value(text)], None, "no verdict arrived from this cell")
            for text in ("nan", "inf", "-1.0", "4.0", "'ok'")
        ],
    ],
)
def test_read_verdicts_takes_the_value_and_nothing_else(
    outputs: list[dict[str, Any]], points: float | None, message: str
) -> None:
    verdict = read_verdicts(executed(*outputs))["double"]
    assert (verdict.points, verdict.message) == (points, message)
