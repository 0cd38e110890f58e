"""A folder's name in another encoding.

Student: caf�
Says: can't be a student's id; rename the folder
"""

import os

from submission_case import Case


def build(case: Case) -> None:
    case.student = os.fsdecode(b"caf\xe9")
    case.write(case.answered())
