"""A Korean id in decomposed form: it is the composed one's.

From: copyparty#1555
Student: 학생-01
Marks: double 3, mean 2.5, why waits
"""

import unicodedata

from submission_case import Case


def build(case: Case) -> None:
    case.student = unicodedata.normalize("NFD", "학생-01")
    case.write(case.answered())
