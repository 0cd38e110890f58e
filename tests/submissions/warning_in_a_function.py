"""A function that warns and prints to stderr: stock nbgrader gives 0.

From: jupyter/nbgrader#1904
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    lines = [
        "def double(x):",
        "    import sys, warnings",
        "    warnings.warn('careful')",
        "    print('careful', file=sys.stderr)",
        "    return 2 * x",
    ]
    case.write(case.answered(double="\n".join(lines)))
