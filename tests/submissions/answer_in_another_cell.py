"""A function written into a cell of its own, the given one deleted.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    cell = case.cell(notebook, "double-solution")
    del cell.metadata["nbgrader"]
    cell.id = "mine"
    case.write(notebook)
