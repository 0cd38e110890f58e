"""What comes from a worker elsewhere, believed only as far as an examination can have given it.

It may be broken, or somebody else's by now. What it says of marks has to be taken; that they are marks of this
submission, and its outputs harmless, is looked at by whoever records them.
"""

from __future__ import annotations

import json
from typing import Any

from course_lib.grading.notebook import packed, unpacked
from course_lib.grading.outputs import MAX_CHARACTERS, Outputs
from course_lib.grading.plain import plain_line
from course_lib.grading.verdicts import LIMITS, limits_hit, read_verdicts
from course_lib.grading.worker import Examined, Unit

_MOST_ADDED = 8 * MAX_CHARACTERS  # by outputs, to the text of a notebook
_MOST_SAID = 1000  # characters of a sentence
_GIVEN_BY_RUNNING = ("outputs", "execution_count")


class Disbelieved(Exception):
    """What came is no result of this unit: why."""


def believed(result: Any, unit: Unit) -> Examined:
    """The result of a unit, made anew from what came; Disbelieved where no examination gives that."""
    if type(result) is not Examined or result.student != unit.student:
        raise Disbelieved("what came is not about this submission")
    if result.failure:
        return Examined(unit.student, failure=plain_line(result.failure, _MOST_SAID) or "no reason came")
    try:
        notebook = _as_examined(result.notebook, json.loads(unit.notebook))
    except Disbelieved:
        raise
    except Exception as error:  # it can be anything
        raise Disbelieved(f"what came is no notebook ({type(error).__name__})") from error
    return Examined(unit.student, packed(notebook), read_verdicts(notebook), note=limits_hit(notebook))


def _as_examined(text: str, sent: dict[str, Any]) -> Any:
    """The notebook in a text, if it is the one that was sent, with outputs as an examiner leaves them."""
    if len(text) > len(packed(sent)) + _MOST_ADDED:
        raise Disbelieved("what came is too large")
    came = json.loads(text)
    if _bare(came) != _bare(sent):
        raise Disbelieved("what came is another notebook than was sent")
    cells = [cell for cell in came["cells"] if cell["cell_type"] == "code"]
    kept = Outputs(2 * MAX_CHARACTERS)
    for count, cell in enumerate(cells, start=1):
        outputs = kept.checked(cell["outputs"], count)
        if (cell["execution_count"], cell["outputs"]) != (count, outputs):
            raise Disbelieved("what came has outputs that no examiner leaves")
        cell |= {"execution_count": count, "outputs": outputs}  # True is equal to 1
    said = came["metadata"].get(LIMITS, [])
    if [plain_line(sentence, _MOST_SAID) for sentence in said] != said:
        raise Disbelieved("what came says what no examiner says")
    return unpacked(packed(came))


def _bare(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook without what running adds to it."""
    metadata = {name: value for name, value in notebook["metadata"].items() if name != LIMITS}
    cells = [
        {name: value for name, value in cell.items() if name not in _GIVEN_BY_RUNNING}
        for cell in notebook["cells"]
    ]
    return {**notebook, "metadata": metadata, "cells": cells}
