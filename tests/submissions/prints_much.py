"""Five million characters of output.

From: otter-grader#413
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells.insert(1, case.code("for _ in range(50):\n    print('x' * 100_000)"))
    case.write(notebook)
