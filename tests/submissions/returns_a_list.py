"""A function that returns a list of the right numbers.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(double="def double(x):\n    return [2 * value for value in x]"))
