"""One answer that is no Python: it earns nothing, the other what it deserves.

Marks: double 0, mean 2.5, why waits
Message: double: There is no double. Look at the error
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered(double="def double(x:\n    return 2 * x"))
