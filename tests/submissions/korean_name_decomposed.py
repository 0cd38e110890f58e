"""A Korean file name in decomposed form, as macOS writes it: stock nbgrader finds no notebook.

Marks: double 3, mean 2.5, why waits
Notes: handed in as
"""

import unicodedata

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(), name=unicodedata.normalize("NFD", "과제.ipynb"))
