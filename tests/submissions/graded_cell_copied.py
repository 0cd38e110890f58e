"""A graded cell twice, with its name: stock nbgrader stops the class there.

From: jupyter/nbgrader#1331
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.append(case.copied(notebook, "double", source="3.0"))
    case.write(notebook)
