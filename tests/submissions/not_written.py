"""An answer left as it was: 0, and the message says so.

Marks: double 0, mean 2.5, why 0
Message: double: Not written yet
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    stub = case.released()
    case.cell(notebook, "double-solution").source = case.cell(stub, "double-solution").source
    case.cell(notebook, "why").source = case.cell(stub, "why").source
    case.write(notebook)
