"""A name used again after its graded cell: what stood at that place counts.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.append(case.code("def double(x):\n    return None\nmean = 3"))
    case.write(notebook)
