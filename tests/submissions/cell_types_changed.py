"""An answer in code made a raw cell, the answer in words a code cell: they are what they were.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    case.retype(notebook, "double-solution", "raw")
    case.retype(notebook, "why", "code")
    case.write(notebook)
