"""A function that ends its process when it is called: its task is lost, and no other.

From: jupyter/nbgrader#1033
Marks: double 0, mean 2.5, why waits
Message: double: ended on the way
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(double="def double(x):\n    import os\n    os._exit(0)"))
