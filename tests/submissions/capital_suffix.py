"""A suffix in capitals.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(), name="MINI.IPYNB")
