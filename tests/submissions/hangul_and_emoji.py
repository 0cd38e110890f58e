"""Hangul and emoji in names, comments and texts.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    answer = "def double(x):\n    결과 = 2 * x  # \U0001f600\n    return 결과"
    case.write(case.answered(double=answer, why="이유는 \U0001f600."))
