"""Checks and graded cells deleted: they come from the release.

From: jupyter/nbgrader#1682
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells = [cell for cell in notebook.cells if case.name_of(cell) not in ("double", "mean")]
    case.write(notebook)
