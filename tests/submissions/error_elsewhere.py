"""An error in a cell that is nobody's answer.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.insert(0, case.code("1 / 0"))
    case.write(notebook)
