"""Tags that keep cells from running.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    for cell in notebook.cells:
        cell.metadata.tags = ["skip-execution", "raises-exception", "remove-cell"]
    case.write(notebook)
