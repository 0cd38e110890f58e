"""exit() in a cell: the rest goes on.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.insert(1, case.code("exit()"))
    notebook.cells.insert(1, case.code("raise SystemExit"))
    case.write(notebook)
