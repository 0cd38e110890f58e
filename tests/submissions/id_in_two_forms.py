"""One id in composed and in decomposed form: stock nbgrader makes two students of it.

From: copyparty#1555
Student: 학생-02
Says: two folders have this student's id, written in two ways
"""

import unicodedata

from submission_case import Case


def build(case: Case) -> None:
    for form in ("NFC", "NFD"):
        case.student = unicodedata.normalize(form, "학생-02")
        case.write(case.answered())
