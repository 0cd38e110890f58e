"""An id that would break a line of every table.

Student: odd�id
Says: can't be a student's id; rename the folder
"""

from submission_case import Case


def build(case: Case) -> None:
    case.student = "odd\nid"
    case.write(case.answered())
