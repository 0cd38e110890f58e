"""All cells in reverse order.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.reverse()
    imports = next(cell for cell in notebook.cells if "import numpy" in cell.source)
    notebook.cells.remove(imports)
    notebook.cells.insert(0, imports)
    case.write(notebook)
