"""Hints that several problem sets give alike."""

from __future__ import annotations

from course_lib.checks import Text

AXIS_LOST = Text(
    "최댓값, 합, 평균을 구한 축이 사라져 원래 배열과 축이 어긋났습니다. keepdims=True 를 주면 크기 1 인 축으로 "
    "남습니다.",
    "The axis of a maximum, sum or mean is gone, and what is left doesn't line up with the array. keepdims=True keeps "
    "it, 1 long.",
)
DIM_LOST = Text(
    "any, 합, 평균을 구한 축이 사라져 원래 tensor와 축이 어긋났습니다. keepdim=True 를 주면 크기 1 인 축으로 남습니다.",
    "The axis of an any, sum or mean is gone, and what is left doesn't line up with the tensor. keepdim=True keeps it, "
    "1 long.",
)
TRUTH_OF_AN_ARRAY = Text(
    "배열이 참인지를 물었습니다 (if mask). 배열 전체의 참·거짓은 정해지지 않습니다. 주어졌는지는 is None 으로 "
    "물어보세요.",
    "An array was asked whether it is true (if mask), which has no answer. Ask with `is None` whether it was given.",
)
COMPARED_AS_A_WHOLE = Text(
    "Python의 max 와 min 은 배열을 통째로 비교하려고 합니다. 원소마다 고르는 것은 np.maximum 과 np.minimum 입니다.",
    "Python's max and min compare arrays as a whole. np.maximum and np.minimum go entry by entry.",
)
SET_BY_INDEX = Text(
    "하나뿐일 때 결과는 배열이 아니라 수이고, 수에는 [...] = 로 넣을 수 없습니다. np.where 로 고르면 "
    "둘 다 됩니다.",
    "Where there is only one, the result is a number, and [...] = can't assign to it. np.where serves both.",
)
SCALED_TWICE = Text(
    "주어진 scale을 쓰고도 √d_k 로 또 나누었습니다. scale은 1/√d_k 를 대신합니다.",
    "A given scale is used, and √d_k divides as well. The scale takes the place of 1/√d_k.",
)
DIVIDED_BY_SCALE = Text(
    "score를 scale로 나누었습니다. scale은 곱하는 수입니다 (1/√d_k 처럼).",
    "The scores are divided by the scale. A scale multiplies, as 1/√d_k does.",
)
SOFTMAX_UNGUARDED = Text(
    "row의 최댓값도 빼지 않고 합이 0 인 row도 살피지 않은 Softmax입니다. 큰 값에서 넘치고, 모두 가려진 row는 "
    "0/0 이 됩니다.",
    "This Softmax neither subtracts the row's maximum nor looks for rows whose sum is 0: large values overflow, and a "
    "row that is masked throughout becomes 0/0.",
)
