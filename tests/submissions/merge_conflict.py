"""Marks of a merge conflict in the JSON.

Says: mini.ipynb is damaged: its JSON breaks off or is wrong at line 3
"""

from submission_case import Case


def build(case: Case) -> None:
    lines = case.bytes_of(case.answered()).splitlines(keepends=True)
    case.write_bytes(b"".join([*lines[:2], b"<<<<<<< HEAD\n", *lines[2:]]))
