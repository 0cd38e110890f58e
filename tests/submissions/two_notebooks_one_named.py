"""Two notebooks, one of them with the name that it should have.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(double="def double(x):\n    return x"), name="draft.ipynb")
    case.write(case.answered())
