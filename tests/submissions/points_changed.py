"""Points and locks changed in the metadata: those of the release count.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    for cell in notebook.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.update(points=100, locked=False, grade=True)
    case.write(notebook)
