"""A notebook in format 3, with worksheets.

From: otter-grader#527
Marks: double 3, mean 2.5, why waits
"""

import nbformat
from submission_case import Case


def build(case: Case) -> None:
    case.write_bytes(nbformat.v3.writes_json(nbformat.convert(case.answered(), 3)).encode())
