"""A function that returns text: no number, no points, and the message says so.

From: jupyter/nbgrader#1339
Marks: double 0, mean 2.5, why waits
Message: double: An array should come back, and str did
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(double="def double(x):\n    return 'twice'"))
