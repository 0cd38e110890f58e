"""A number stands where a function should: the message says what it is.

Marks: double 0, mean 2.5, why waits
Message: double: it is of type int.
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(double="def double(x):\n    return 2 * x\n\n\ndouble = 3"))
