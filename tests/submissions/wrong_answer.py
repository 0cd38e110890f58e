"""A wrong answer: the hint names the mistake, and nothing of the hidden test.

From: jupyter/nbgrader#917
Marks: double 1, mean 2.5, why waits
Message: double: that is three times
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(double="def double(x):\n    return 3 * x"))
