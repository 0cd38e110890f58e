"""A file of no bytes.

Says: mini.ipynb is empty; hand it in again
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write_bytes(b"")
