"""UTF-8 with a byte-order mark, as Windows editors write it.

From: jupyter/nbgrader#1042
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write_bytes(b"\xef\xbb\xbf" + case.bytes_of(case.answered()))
