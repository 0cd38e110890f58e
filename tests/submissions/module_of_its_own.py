"""A cell writes a module, and others import it.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered(double="from mine import twice\n\n\ndef double(x):\n    return twice(x)")
    notebook.cells.insert(1, case.code("%%writefile mine.py\ndef twice(x):\n    return 2 * x"))
    case.write(notebook)
