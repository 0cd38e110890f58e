"""The login page of a course system, saved as the notebook.

Says: mini.ipynb is damaged: its JSON breaks off or is wrong at line 1
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write_bytes(b"<!DOCTYPE html>\n<html><body>Please log in</body></html>\n")
