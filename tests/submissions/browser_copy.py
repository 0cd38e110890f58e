"""The name that a browser gives a second download.

From: jupyter/nbgrader#416
Marks: double 3, mean 2.5, why waits
Notes: handed in as mini (1).ipynb
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(), name="mini (1).ipynb")
