"""Hints that several problem sets give alike."""

from __future__ import annotations

from course_lib.checks import Text

ALL_AXES_REVERSED = Text(
    ".T는 batch 축까지 뒤집습니다. 마지막 두 축만 바꾸세요 (np.swapaxes).",
    ".T reverses the batch axes as well. Swap the last two only (np.swapaxes).",
)
AXES_OF_LENGTH_1_DROPPED = Text(
    "크기 1인 축이 사라졌습니다 (np.squeeze). batch 축은 크기가 1이어도 그대로 둡니다.",
    "Axes of length 1 are gone (np.squeeze). A batch axis stays, even where it is 1 long.",
)
AXIS_LOST = Text(
    "두 배열의 축이 어긋납니다. 최댓값, 합, 평균을 구한 축이 사라졌다면 keepdims=True를 주어 크기 1인 축으로 남기고, "
    "@ 자리에 * 를 쓰지 않았는지 보세요.",
    "The axes of two arrays don't line up. If that of a maximum, sum or mean is gone, keepdims=True keeps it, 1 long; "
    "and see that no * stands where @ should.",
)
COMPARED_AS_A_WHOLE = Text(
    "if와 Python의 max, min은 배열을 통째로 비교하려고 합니다. 원소마다 고르는 것은 np.where, np.maximum, "
    "np.minimum입니다.",
    "An if, and Python's max and min, compare arrays as a whole. np.where, np.maximum and np.minimum go entry by "
    "entry.",
)
DIM_LOST = Text(
    "두 tensor의 축이 어긋납니다. any, 합, 평균을 구한 축이 사라졌다면 keepdim=True를 주어 크기 1인 축으로 남기세요.",
    "The axes of two tensors don't line up. If that of an any, sum or mean is gone, keepdim=True keeps it, 1 long.",
)
DIVIDED_BY_D_K = Text(
    "d_k로 나누었습니다. √d_k로 나눕니다.",
    "This divides by d_k. Divide by √d_k.",
)
DIVIDED_BY_SCALE = Text(
    "score를 scale로 나누었습니다. scale은 곱하는 수입니다 (1/√d_k처럼).",
    "The scores are divided by the scale. A scale multiplies, as 1/√d_k does.",
)
EXPONENTIAL_OVERFLOWS = Text(
    "볼 수 있는 Keys의 최댓값을 row마다 빼지 않아 exp가 넘치거나 모두 0이 되었습니다.",
    "Without the maximum of the row's allowed Keys subtracted, exp overflows or vanishes.",
)
EXPONENTIAL_OVERFLOWS_IN_TORCH = Text(
    "row의 최댓값을 빼지 않아 exp가 넘치거나 모두 0이 되었습니다. torch.softmax는 스스로 뺍니다.",
    "Without the row's maximum subtracted, exp overflows or vanishes. torch.softmax subtracts it by itself.",
)
FIRST_BATCH_FOR_ALL = Text(
    "모든 batch가 첫 번째 K, V를 읽었습니다.",
    "Every batch entry reads the first K and V here.",
)
FIRST_K_FOR_ALL = Text(
    "모든 batch에 첫 번째 K를 썼습니다. batch마다 자기 K와 비교해야 합니다.",
    "The first K serves every batch entry here. Each entry is compared with its own K.",
)
FIRST_MASK_FOR_ALL = Text(
    "batch마다 mask가 다를 수 있는데 첫 mask를 모두에 썼습니다.",
    "Each batch entry may have a mask of its own; the first serves all here.",
)
HALF_PRECISION = Text(
    "float16으로 계산했습니다. 자릿수가 모자라고 65504를 넘으면 inf가 됩니다.",
    "This is computed in float16, which has too few digits and turns into inf above 65504.",
)
HALF_PRECISION_AROUND_10000 = Text(
    "float16으로 계산했습니다. 10000 근처에서는 8씩 건너뛰는 수뿐이라 logits의 차이가 사라집니다.",
    "This is computed in float16. Around 10000 its numbers are 8 apart, and the logits' differences are lost.",
)
LARGE_NUMBER_FOR_INFINITY = Text(
    "−1e9로 채우면 그보다 작은 score와 모두 가려진 row에서 가려진 Value를 읽습니다. -np.inf를 쓰세요.",
    "Filling with −1e9 reads masked Values where scores are smaller or a row is masked throughout. "
    "Write -np.inf.",
)
MASKED_AFTER_SOFTMAX = Text(
    "Softmax 뒤에 mask를 곱하면 남은 weights의 합이 1이 아닙니다. Softmax 앞에서 logit을 −∞로 두세요.",
    "Masking after Softmax leaves weights that don't sum to 1. Put −∞ into the logits before it.",
)
MASKED_BEFORE_SCALING = Text(
    "mask한 다음 scale을 곱했습니다. scale=0이면 0 × (−∞) = NaN입니다. scale이 먼저입니다.",
    "The scale is applied after the mask, and 0 × (−∞) is NaN for scale=0. Scale first.",
)
MASK_ADDED = Text(
    "boolean mask를 그대로 더했습니다. True는 1이라 logit이 1 커질 뿐, 아무것도 가려지지 않습니다. False인 자리를 "
    "−∞로 두세요.",
    "The boolean mask is added as it is. True is 1, so a logit only grows by 1, and nothing is masked. Put −∞ where it "
    "is False.",
)
MASK_INVERTED = Text(
    "mask를 반대로 읽었습니다. True는 '볼 수 있음'입니다.",
    "The mask is inverted. True means may attend.",
)
MASK_MULTIPLIED = Text(
    "logits에 mask를 곱하면 가려진 logit이 0이 되고, exp(0) = 1이라 오히려 비중을 얻습니다.",
    "Multiplying the logits by the mask makes a masked one 0, and exp(0) = 1 gives it weight.",
)
MASK_MULTIPLIED_IN_TORCH = Text(
    "mask를 곱하면 가려진 logit이 0이 되고, exp(0) = 1이라 오히려 비중을 얻습니다. masked_fill로 −∞를 "
    "두세요.",
    "Multiplying by the mask makes a masked logit 0, and exp(0) = 1 gives it weight. Put −∞ there with "
    "masked_fill.",
)
MASK_NOT_USED = Text(
    "mask를 쓰지 않았습니다.",
    "The mask is not used.",
)
MASK_OF_NONE = Text(
    "mask=None을 따로 다루지 않았습니다. np.where(None, …)는 모든 자리를 가립니다. `is None`으로 먼저 확인하세요.",
    "mask=None is not treated apart: np.where(None, …) masks every place. Ask with `is None` first.",
)
MASK_REQUIRED = Text(
    "mask=None일 때 실패합니다.",
    "This fails for mask=None.",
)
MEAN_SUBTRACTED = Text(
    "평균을 뺐습니다 (LayerNorm). RMSNorm은 제곱 평균의 제곱근으로 나누기만 합니다.",
    "The mean is subtracted (LayerNorm). RMSNorm only divides by the root of the mean square.",
)
NOT_SCALED = Text(
    "√d_k로 나누는 scaling이 빠졌습니다.",
    "The scaling by √d_k is missing.",
)
NOT_THE_MAXIMUM_SUBTRACTED = Text(
    "row의 최댓값이 아닌 수(첫 logit이나 평균)를 뺐습니다. 한 row 안의 차이가 크면 exp가 넘칩니다. 최댓값을 빼세요.",
    "Something else than the row's maximum is subtracted (its first logit, or the mean). Where a row spreads far, exp "
    "overflows: subtract the maximum.",
)
ONE_MAXIMUM_FOR_ALL = Text(
    "최댓값 하나를 모든 row에서 뺐습니다. 그보다 훨씬 작은 row에서는 exp가 모두 0이 되어 0이나 0 / 0이 남습니다. "
    "row마다 자기 최댓값을 빼세요: max(axis=-1, keepdims=True).",
    "One maximum is subtracted from all rows. In a row far below it, every exp vanishes, and 0 or 0 / 0 is left. "
    "Subtract each row's own: max(axis=-1, keepdims=True).",
)
OUTPUT_TRANSPOSED = Text(
    "output이 뒤집혔습니다. Query마다 한 row, shape는 (n_q, d_v)입니다.",
    "The output is transposed. One row a Query: (n_q, d_v).",
)
QUERIES_OVERWRITTEN = Text(
    "입력 q를 제자리에서 바꾸었습니다 (*=). 새 배열에 계산하세요.",
    "The input q is changed in place (*=). Compute into a new array.",
)
SCALED_BY_D_V = Text(
    "√d_v로 나누었습니다. dot product의 길이는 Query와 Key의 폭 d_k입니다.",
    "This divides by √d_v. The dot product is as long as Query and Key are wide: d_k.",
)
SCALED_TWICE = Text(
    "주어진 scale을 쓰고도 √d_k로 또 나누었습니다. scale은 1/√d_k를 대신합니다.",
    "A given scale is used, and √d_k divides as well. The scale takes the place of 1/√d_k.",
)
SCALE_NOT_USED = Text(
    "scale 인자를 쓰지 않고 늘 1/√d_k를 곱했습니다.",
    "The argument scale is not used; it is always 1/√d_k here.",
)
SECOND_AXIS_FOR_THE_LAST = Text(
    "axis=1은 행렬 하나일 때만 Key 축입니다. batch가 있으면 마지막 축 axis=-1을 쓰세요.",
    "axis=1 is the Key axis of a single matrix only. With batch axes it is the last one, axis=-1.",
)
SET_BY_INDEX = Text(
    "하나뿐일 때 결과는 배열이 아니라 수이고, 수에는 [...] = 로 넣을 수 없습니다. np.where로 고르면 "
    "둘 다 됩니다.",
    "Where there is only one, the result is a number, and [...] = can't assign to it. np.where serves both.",
)
SHARED_AGAIN = Text(
    "가릴 Keys까지 넣어 Softmax한 다음, mask하고 합이 1이 되게 다시 나누었습니다. 가린 score가 훨씬 크면 나머지 "
    "weights는 이미 0입니다. Softmax 앞에서 logit을 −∞로 두세요.",
    "Softmax runs over masked Keys too, and what is left is shared out again. Where a masked score is far larger, the "
    "others have vanished before. Put −∞ into the logits before Softmax.",
)
SHARED_AGAIN_UNGUARDED = Text(
    "가릴 Keys까지 넣어 최댓값을 빼고, exp한 다음에 mask를 곱해 다시 나누었습니다. 볼 Key가 없거나 가린 score가 훨씬 "
    "크면 합이 0이 되어 0 / 0 = NaN입니다. exp 앞에서 logit을 −∞로 두고, 합이 0인 row는 1로 나누세요.",
    "The maximum subtracted is of masked Keys too, and exp is masked and shared out afterwards. Where no Key is open, "
    "or a masked score is far larger, the sum is 0, and 0 / 0 is NaN. Put −∞ into the logits before exp, and divide a "
    "row whose sum is 0 by 1.",
)
READS_THE_MEAN = Text(
    "볼 Key가 없는 Query가 V의 평균을 읽습니다. 모두 가려진 row에 같은 수(0이나 아주 작은 수)를 채우면 weights가 "
    "고르게 나뉩니다. 그 Query는 아무것도 읽지 않으므로 0입니다.",
    "A Query that may attend to no Key reads the mean of V: a row that holds one number throughout, 0 or a very small "
    "one, is shared evenly. Such a Query reads nothing: 0.",
)
SOFTMAX_OVER_QUERIES = Text(
    "Softmax가 Query 축을 따라 계산되었습니다. Key 축(axis=-1)입니다.",
    "Softmax runs over the Queries here. It runs over the Keys: axis=-1.",
)
SOFTMAX_OVER_QUERIES_IN_TORCH = Text(
    "Softmax가 Query 축을 따라 계산되었습니다. Key 축(dim=-1)입니다.",
    "Softmax runs over the Queries here. It runs over the Keys: dim=-1.",
)
SOFTMAX_UNGUARDED = Text(
    "row의 최댓값도 빼지 않고 합이 0인 row도 살피지 않은 Softmax입니다. 큰 값에서 넘치고, 모두 가려진 row는 "
    "0/0이 됩니다.",
    "This Softmax neither subtracts the row's maximum nor looks for rows whose sum is 0: large values overflow, and a "
    "row that is masked throughout becomes 0/0.",
)
TRUTH_OF_AN_ARRAY = Text(
    "배열이 참인지를 물었습니다 (if x:). 배열 전체의 참·거짓은 정해지지 않습니다. 주어졌는지는 is None으로 "
    "확인하세요.",
    "An array was asked whether it is true (if x:), which has no answer. Ask with `is None` whether it was given.",
)
TWO_AXES_EXPECTED = Text(
    "n, d = x.shape는 batch 축이 없을 때만 됩니다. 뒤에서 세세요: x.shape[-2], x.shape[-1].",
    "n, d = x.shape works without batch axes only. Count from the end: x.shape[-2], x.shape[-1].",
)
ZERO_SCALE_TAKEN_FOR_NONE = Text(
    "scale=0이 '없음'으로 읽혔습니다 (scale or ...). `scale is None`으로 확인하세요.",
    "scale=0 is taken for 'not given' (scale or ...). Ask `scale is None`.",
)
