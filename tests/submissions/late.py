"""With a time stamp: the marks are those of the work; what lateness costs is taken apart from them.

From: jupyter/nbgrader#723
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered())
    case.write_bytes(b"2027-03-31 23:59:59 UTC\n", name="timestamp.txt")
