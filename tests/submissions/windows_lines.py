"""Lines that end as on Windows.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    for cell in notebook.cells:
        cell.source = cell.source.replace("\n", "\r\n")
    case.write(notebook)
