"""The answer returns an array, and what is in it are objects: the message says so.

Marks: double 0, mean 2.5, why waits
Message: double: ndarray(dtype=object)
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(double="def double(x):\n    return np.array([2 * v for v in x], dtype=object)"))
