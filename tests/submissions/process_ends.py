"""A cell that ends its process: it costs what it would have computed.

From: jupyter/nbgrader#1033
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.insert(1, case.code("import os\nos._exit(0)"))
    case.write(notebook)
