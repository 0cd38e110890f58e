"""The task that tests of the checks share: twice x, and a number more."""

import numpy as np

from course_lib.checks import Case, Outcome, PartInfo, TaskCases, Text

X = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
TASK = TaskCases(
    name="double",
    signature="double(x, *, plus=0)",
    required=("x",),
    parts=(PartInfo("plain", 2, Text("보통", "plain")), PartInfo("shifted", 1, Text("더하기", "shifted"))),
    hints={"tripled": Text("세 배입니다.", "This is three times.")},
    see="chapter.html#double",
    rtol=1e-5,
    atol=1e-6,
    cases=(
        Case("plain", {"x": X}, Outcome(2 * X), {"tripled": Outcome(3 * X)}),
        Case("shifted", {"x": X, "plus": 1}, Outcome(2 * X + 1), {"tripled": Outcome(3 * X + 1)}),
    ),
)


def double(x, plus=0):
    return 2 * x + plus
