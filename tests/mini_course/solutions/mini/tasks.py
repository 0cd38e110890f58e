"""A bank that is as small as one can be: for tests of releasing and grading."""

import numpy as np

from course_lib.checks import Text
from course_lib.grading.bank import Bank, Mistake, Part, Task, Written


def double(x):
    """Twice x, shape (n,)."""
    # a comment that only the instructor may see
    factor = 2
    return factor * x


def double_by_adding(x):
    return x + x


def double_in_place(x):
    x *= 2
    return x


def triple(x):
    factor = 3
    return factor * x


def draw_numbers(rng):
    return [{"x": rng.normal(size=5)}, {"x": rng.normal(size=7)}]


def draw_empty(rng):
    return [{"x": np.zeros(0)}]


DOUBLE = Task(
    name="double",
    reference=double,
    parts=(
        Part("numbers", 2.0, Text("수", "numbers"), draw_numbers),
        Part("empty", 1.0, Text("빈 배열", "an empty array"), draw_empty),
    ),
    mistakes=(
        Mistake(triple, Text("세 배입니다", "that is three times"), frozenset({"numbers"})),
        Mistake(double_in_place, Text("입력이 바뀝니다", "the input changes"), frozenset({"numbers"})),
    ),
    right_answers=(double_by_adding,),
    see="mini",
)


def mean(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """The mean of x over an axis."""
    total = x.sum(axis=axis)
    return total / x.shape[axis]


def mean_by_numpy(x, axis=-1):
    return np.mean(x, axis=axis)


def plain_sum(x, axis=-1):
    """Forgets to divide."""
    return _sum(x, axis)


def _sum(x, axis):
    return np.add.reduce(x, axis=axis)


def draw_rows(rng):
    return [{"x": rng.normal(size=(3, 5))}]


def draw_axis(rng):
    return [{"x": rng.normal(size=(3, 5)), "axis": 0}]


MEAN = Task(
    name="mean",
    reference=mean,
    parts=(
        Part("rows", 1.0, Text("행", "rows"), draw_rows),
        Part("axis", 1.5, Text("축", "another axis"), draw_axis),
    ),
    mistakes=(Mistake(plain_sum, Text("합입니다", "that is the sum"), frozenset({"rows", "axis"})),),
    right_answers=(mean_by_numpy,),
    see="mini",
)

WHY = Written(
    "why", 2.0, Text("모범 답안입니다", "the model answer"), Text("채점 기준", "the rubric"), "mini"
)

BANK = Bank("mini", (DOUBLE, MEAN), (WHY,))
