"""A cell that waits for the keyboard: there is none.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.insert(0, case.code("name = input('Who are you? ')"))
    case.write(notebook)
