"""The notebook still in its archive.

Missing: there is no notebook in mini, only mini.zip
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write_bytes(b"PK", name="mini.zip")
