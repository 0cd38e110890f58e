"""Twenty thousand displays: stock nbgrader leaves the notebook ungraded.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.insert(1, case.code("for number in range(20_000):\n    display(number)"))
    case.write(notebook)
