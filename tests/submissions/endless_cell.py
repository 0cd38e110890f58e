"""A cell without end: it is stopped, and the limit is named.

From: jupyter/nbgrader#923
Marks: double 3, mean 2.5, why waits
Notes: time limit
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.insert(1, case.code("while True:\n    pass"))
    case.write(notebook)
