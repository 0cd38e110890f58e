"""A cell with an answer, copied and then corrected: the last copy counts, and it counts once.

From: jupyter/nbgrader#1083
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered(double="def double(x):\n    return 3 * x")
    notebook.cells.append(case.copied(notebook, "double-solution", source="def double(x):\n    return 2 * x"))
    case.write(notebook)
