"""A notebook of notes beside the one of the problem set.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered())
    case.write(case.plain("1 + 1"), name="notes.ipynb")
