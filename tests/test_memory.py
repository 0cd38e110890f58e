"""A task's memory at grading: seen from outside of the room, whatever the submission says of itself."""

import nbformat
import pytest

from course_lib.checks import Text
from course_lib.grading.bank import Bank, Part, Task
from course_lib.grading.examiner import Exam, examine
from course_lib.grading.rooms import Room


def count(n):
    """n (1,) -> how many pairs there are"""
    return n * n


PARTS = (
    Part("short", 1, Text("짧은", "short"), lambda rng: [{"n": rng.integers(5, 20, 1)}]),
    Part("long", 1, Text("긴", "long"), lambda rng: [{"n": rng.integers(3000, 3100, 1)}]),
)
TASK = Task("count", count, PARTS, (), (), "chapter.html#count", memory=32 * 2**20)
FULL = "import numpy as np\ndef count(n):\n    return np.ones((n[0], n[0])).sum(keepdims=True)[0]"
LEAN = (
    "import numpy as np\ndef count(n):\n    return sum(np.ones(n[0]).sum(keepdims=True) for _ in range(n[0]))"
)
# tracemalloc is the student's to patch; what the system knows of the process is not.
FORGED = f"{FULL}\nimport tracemalloc\ntracemalloc.get_traced_memory = lambda: (0, 0)"


@pytest.fixture(scope="module")
def room():
    with Room() as room:
        yield room


@pytest.mark.parametrize(("source", "points"), [(LEAN, 2), (FULL, 1), (FORGED, 1)])
def test_memory_costs_just_the_part_that_takes_too_much(room, source, points):
    exam = Exam(Bank("memory", (TASK,)), b"secret", "en", {})
    graded = nbformat.v4.new_code_cell(
        metadata={"nbgrader": {"grade": True, "solution": False, "grade_id": "count"}}
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source), graded])
    outputs = examine(notebook, "student-001", exam, room).cells[1].outputs
    said = "".join(str(output) for output in outputs)
    assert f"count: {points} / 2 points" in said
    assert ("Too much memory" in said) == (points == 1)
