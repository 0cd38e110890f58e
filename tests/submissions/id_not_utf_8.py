"""A folder's name in another encoding.

Student: stra�e
Says: can't be a student's id; rename the folder
"""

import os

from submission_case import Case


def build(case: Case) -> None:
    case.student = os.fsdecode(b"stra\xdfe")
    case.write(case.answered())
