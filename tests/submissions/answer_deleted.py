"""An answer deleted: it earns nothing, the others what they deserve.

From: jupyter/nbgrader#427
Marks: double 0, mean 2.5, why waits
Message: double: double
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.remove(case.cell(notebook, "double-solution"))
    case.write(notebook)
