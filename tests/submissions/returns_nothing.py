"""A function without return.

Marks: double 0, mean 2.5, why waits
Message: double: An array should come back, and None did
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(double="def double(x):\n    2 * x"))
