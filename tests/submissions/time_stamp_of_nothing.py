"""A timestamp.txt that says no time.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered())
    case.write_bytes(b"2027-99-99 99:99:99 nowhere\n", name="timestamp.txt")
