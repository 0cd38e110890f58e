"""A graded cell that was moved above the answer: stock nbgrader gives 0.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    graded = case.cell(notebook, "double")
    notebook.cells.remove(graded)
    notebook.cells.insert(0, graded)
    case.write(notebook)
