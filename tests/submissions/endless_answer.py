"""A function without end: its task is lost, and no other; the limit is named.

From: jupyter/nbgrader#1429
Marks: double 0, mean 2.5, why waits
Message: double: time limit
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(double="def double(x):\n    while True:\n        pass"))
