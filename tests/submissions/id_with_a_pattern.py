"""An id with signs that nbgrader takes for a pattern.

Student: odd[1]
Says: rename the folder
"""

from submission_case import Case


def build(case: Case) -> None:
    case.student = "odd[1]"
    case.write(case.answered())
