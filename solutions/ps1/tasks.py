"""Problem set 1, Computation: the bank of its tasks."""

import numpy as np

from course_lib.checks import Text
from course_lib.grading.bank import Bank, Mistake, Part, Task, Written, everywhere, variant
from course_lib.grading.draws import extreme_qkv, masked_qkv, random_mask, random_qkv, scaled_qkv
from course_lib.grading.hints import (
    AXES_OF_LENGTH_1_DROPPED,
    AXIS_LOST,
    COMPARED_AS_A_WHOLE,
    DIVIDED_BY_D_K,
    DIVIDED_BY_SCALE,
    EXPONENTIAL_OVERFLOWS,
    FIRST_BATCH_FOR_ALL,
    FIRST_K_FOR_ALL,
    FIRST_MASK_FOR_ALL,
    HALF_PRECISION,
    HALF_PRECISION_AROUND_10000,
    LARGE_NUMBER_FOR_INFINITY,
    MASK_ADDED,
    MASK_INVERTED,
    MASK_MULTIPLIED,
    MASK_NOT_USED,
    MASK_OF_NONE,
    MASK_REQUIRED,
    MASKED_AFTER_SOFTMAX,
    MASKED_BEFORE_SCALING,
    NOT_SCALED,
    NOT_THE_MAXIMUM_SUBTRACTED,
    OUTPUT_TRANSPOSED,
    QUERIES_OVERWRITTEN,
    READS_THE_MEAN,
    SCALE_NOT_USED,
    SCALED_BY_D_V,
    SCALED_TWICE,
    SECOND_AXIS_FOR_THE_LAST,
    SHARED_AGAIN,
    SHARED_AGAIN_UNGUARDED,
    SOFTMAX_UNGUARDED,
    TRUTH_OF_AN_ARRAY,
    ZERO_SCALE_TAKEN_FOR_NONE,
)

# --- Task 1: scores -------------------------------------------------------------------------------------------


def scores(q, k):
    """q (..., n_q, d_k), k (..., n_k, d_k) -> S (..., n_q, n_k)"""
    return q @ np.swapaxes(k, -1, -2)


def draw_two_lengths(rng):
    return [{"q": rng.normal(size=(5, 3)), "k": rng.normal(size=(7, 3))}]


def draw_score_batches(rng):
    return [
        {"q": rng.normal(size=(2, 5, 3)), "k": rng.normal(size=(2, 7, 3))},
        {"q": rng.normal(size=(2, 3, 5, 11)), "k": rng.normal(size=(3, 7, 11))},
        # The batch axes of the result are those of K alone, and one is 1 long.
        {"q": rng.normal(size=(5, 3)), "k": rng.normal(size=(2, 1, 7, 3))},
    ]


def draw_large_scores(rng):
    # 300 * 300 leaves the range of float16; the sums of whole numbers are exact in float32.
    return [{"q": 300.0 * rng.integers(1, 5, (5, 3)), "k": 300.0 * rng.integers(1, 5, (7, 3))}]


SCORE_PARTS = (
    Part("two_lengths", 1, Text("n_q ≠ n_k인 한 쌍", "one pair with n_q ≠ n_k"), draw_two_lengths),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_score_batches),
    Part("large", 1, Text("큰 값", "large values"), draw_large_scores),
)


def cosine_similarity(q, k):
    unit_q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    unit_k = k / np.linalg.norm(k, axis=-1, keepdims=True)
    return unit_q @ np.swapaxes(unit_k, -1, -2)


def half_precision_scores(q, k):
    return q.astype(np.float16) @ np.swapaxes(k, -1, -2).astype(np.float16)


ALL_AXES_REVERSED = Text(
    ".T는 모든 축을 뒤집고, q[i]는 batch가 있으면 행렬입니다. batch 축은 두고 마지막 두 축만 바꾸어 (np.swapaxes) @ 로 곱하세요.",
    ".T reverses all axes, and with batch axes q[i] is a matrix. Leave the batch axes, swap the last two only "
    "(np.swapaxes), and multiply with @.",
)
AXES_OF_ONE_BATCH = Text(
    "transpose(0, 2, 1)은 축이 꼭 셋일 때만 맞습니다. 축이 몇 개든 맞게 뒤에서 세세요: np.swapaxes(k, -1, -2).",
    "transpose(0, 2, 1) fits three axes only. Count from the end, which fits any number: np.swapaxes(k, -1, -2).",
)


ONE_MATRIX_ONLY = Text(
    '행렬 하나에만 맞는 식입니다. 앞에 batch 축이 몇 개 와도 되게 쓰세요: @ 나 np.einsum("...id,...jd->...ij", q, k).',
    "This fits single matrices only. Write it so that any number of batch axes may stand in front: @, or "
    'np.einsum("...id,...jd->...ij", q, k).',
)


def loops_of_one_matrix(q, k):
    result = np.zeros((len(q), len(k)))
    for i in range(len(q)):
        for j in range(len(k)):
            result[i, j] = np.sum(q[i] * k[j])
    return result


def scores_by_einsum(q, k):
    return np.einsum("...id,...jd->...ij", q, k)


def scores_by_loops(q, k):
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    q, k = np.broadcast_to(q, batch + q.shape[-2:]), np.broadcast_to(k, batch + k.shape[-2:])
    result = np.empty((*batch, q.shape[-2], k.shape[-2]))
    for *b, i, j in np.ndindex(result.shape):
        result[(*b, i, j)] = sum(q[(*b, i, d)] * k[(*b, j, d)] for d in range(q.shape[-1]))
    return result


def scores_by_broadcasting(q, k):
    return (q[..., :, None, :] * k[..., None, :, :]).sum(axis=-1)


def scores_in_torch(q, k):
    import torch

    return torch.as_tensor(q) @ torch.as_tensor(k).transpose(-1, -2)


def scores_in_float32(q, k):
    return np.matmul(q.astype("float32"), np.moveaxis(k, -1, -2).astype("float32"))


SCORES = Task(
    name="scores",
    reference=scores,
    parts=SCORE_PARTS,
    see="computation.html#score",
    mistakes=(
        Mistake(
            variant(
                scores, "keys_against_queries", ("q @ np.swapaxes(k, -1, -2)", "k @ np.swapaxes(q, -1, -2)")
            ),
            Text(
                "K와 Q의 자리가 바뀌었습니다. row 하나가 Query 하나의 비교 결과여야 하므로 shape는 (n_q, n_k)입니다.",
                "K and Q have changed places. One row holds one Query's comparisons, so the shape is (n_q, n_k).",
            ),
            everywhere(SCORE_PARTS),
        ),
        Mistake(
            variant(scores, "already_scaled", ("(k, -1, -2)", "(k, -1, -2) / np.sqrt(q.shape[-1])")),
            Text(
                "√d_k로 이미 나누었습니다. Score는 나누기 전의 dot product이고, scaling은 다음 단계입니다.",
                "This is divided by √d_k already. A score is the dot product itself; scaling is the next step.",
            ),
            everywhere(SCORE_PARTS),
        ),
        Mistake(
            variant(scores, "elementwise_product", ("q @ np.swapaxes(k, -1, -2)", "q * k")),
            Text(
                "원소별 곱입니다. Query와 Key의 모든 쌍에 대해 d_k 축을 따라 더한 dot product가 필요합니다.",
                "This multiplies entry by entry. Every pair of a Query and a Key needs a dot product, summed over d_k.",
            ),
            everywhere(SCORE_PARTS),
        ),
        Mistake(
            variant(scores, "all_axes_reversed", ("np.swapaxes(k, -1, -2)", "k.T")),
            ALL_AXES_REVERSED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                scores, "first_keys_for_all", ("np.swapaxes(k, -1, -2)", "k.reshape(-1, *k.shape[-2:])[0].T")
            ),
            FIRST_K_FOR_ALL,
            frozenset({"batches"}),
        ),
        Mistake(
            cosine_similarity,
            Text(
                "vector의 길이로 나눈 cosine similarity입니다. dot product는 길이를 그대로 반영합니다.",
                "This is cosine similarity, divided by the vectors' lengths. A dot product keeps the lengths.",
            ),
            everywhere(SCORE_PARTS),
        ),
        Mistake(
            variant(
                scores,
                "whole_number_scores",
                ("q @ np.swapaxes(k, -1, -2)", "(q @ np.swapaxes(k, -1, -2)).astype(int)"),
            ),
            Text(
                "결과를 정수로 잘라 소수 부분이 사라졌습니다. 실수 dtype을 유지하세요.",
                "The result is cut to whole numbers. Keep a floating dtype.",
            ),
            frozenset({"two_lengths", "batches"}),
        ),
        Mistake(
            half_precision_scores,
            HALF_PRECISION,
            everywhere(SCORE_PARTS),
        ),
        Mistake(
            variant(scores, "keys_not_transposed", ("np.swapaxes(k, -1, -2)", "k")),
            Text(
                "k의 마지막 두 축이 바뀌지 않았습니다. np.swapaxes(k, -1, -2)로 바꾸어 (..., n_q, d_k)와 (..., d_k, n_k)를 곱하세요. "
                "NumPy의 k.transpose(-2, -1)은 PyTorch의 것과 달리 모든 축의 순서를 받습니다.",
                "k's last two axes are not swapped. np.swapaxes(k, -1, -2) does it, so that (..., n_q, d_k) meets (..., d_k, n_k). "
                "NumPy's k.transpose(-2, -1), unlike PyTorch's, takes the order of all axes.",
            ),
            everywhere(SCORE_PARTS),
        ),
        Mistake(
            variant(
                scores, "dot_of_stacks", ("q @ np.swapaxes(k, -1, -2)", "np.dot(q, np.swapaxes(k, -1, -2))")
            ),
            Text(
                "np.dot은 batch 축이 있으면 모든 batch를 서로 짝짓습니다. batch마다 따로 곱하는 것은 @ (np.matmul)입니다.",
                "With batch axes, np.dot pairs every batch entry with every other. What multiplies each with its own is @ (np.matmul).",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                scores,
                "reshaped_for_transposed",
                ("np.swapaxes(k, -1, -2)", "k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])"),
            ),
            Text(
                "reshape는 축을 바꾸지 않고 수를 차례로 다시 나눌 뿐이라, 한 Key의 수가 흩어집니다. np.swapaxes(k, -1, -2)로 축을 바꾸세요.",
                "reshape doesn't move axes: it deals the same numbers out anew, and a Key's are scattered. Move the axes with np.swapaxes(k, -1, -2).",
            ),
            everywhere(SCORE_PARTS),
        ),
        Mistake(
            variant(scores, "axes_of_one_batch", ("np.swapaxes(k, -1, -2)", "np.transpose(k, (0, 2, 1))")),
            AXES_OF_ONE_BATCH,
            everywhere(SCORE_PARTS),
        ),
        Mistake(
            variant(
                scores, "einsum_of_one_matrix", ("q @ np.swapaxes(k, -1, -2)", 'np.einsum("id,jd->ij", q, k)')
            ),
            ONE_MATRIX_ONLY,
            frozenset({"batches"}),
        ),
        Mistake(
            loops_of_one_matrix,
            ONE_MATRIX_ONLY,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                scores,
                "scores_squeezed",
                ("return q @ np.swapaxes(k, -1, -2)", "return np.squeeze(q @ np.swapaxes(k, -1, -2))"),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(
        scores_by_einsum,
        scores_by_loops,
        scores_by_broadcasting,
        scores_in_torch,
        scores_in_float32,
    ),
)


# --- Task 2: scale_and_mask -----------------------------------------------------------------------------------


def scale_and_mask(scores, d_k, mask=None):
    """scores (..., n_q, n_k), mask boolean (True = may attend) or None -> L (..., n_q, n_k)"""
    logits = scores / np.sqrt(d_k)
    if mask is None:
        return logits
    return np.where(mask, logits, -np.inf)


def draw_scale_only(rng):
    # 65504 is the largest number of float16.
    far = 1e4 * rng.permutation(np.arange(-17.0, 18.0)).reshape(5, 7)
    return [
        {"scores": rng.normal(size=(5, 7)), "d_k": int(rng.choice([3, 11, 13]))},
        {"scores": far, "d_k": 3},
    ]


def draw_matrix_mask(rng):
    mask = random_mask(rng, 5, 7, dead_row=True)
    return [{"scores": rng.normal(size=(5, 7)), "d_k": 3, "mask": mask}]


def draw_broadcast_masks(rng):
    one_row = random_mask(rng, 1, 7)[0]
    return [
        {"scores": rng.normal(size=(2, 5, 7)), "d_k": 3, "mask": one_row},
        {
            "scores": rng.normal(size=(2, 3, 5, 7)),
            "d_k": 11,
            "mask": random_mask(rng, 2, 7)[:, None, None, :],
        },
        {"scores": rng.normal(size=(2, 1, 5, 7)), "d_k": 3, "mask": random_mask(rng, 5, 7)},
    ]


LOGIT_PARTS = (
    Part("scale", 1, Text("mask 없이 scaling만", "scaling, no mask"), draw_scale_only),
    Part("mask", 2, Text("(n_q, n_k) mask", "a mask (n_q, n_k)"), draw_matrix_mask),
    Part("broadcast", 1, Text("broadcast되는 mask", "masks that broadcast"), draw_broadcast_masks),
)


MASK_INDEXED = Text(
    "logits[~mask]는 shape가 같은 mask만 받습니다. broadcast되는 mask에는 np.where를 쓰세요.",
    "logits[~mask] takes a mask of the same shape only. For one that broadcasts, use np.where.",
)
FINITE_FILL = Text(
    "−1e9나 np.finfo의 가장 작은 수 같은 유한한 수는 −∞가 아닙니다. 더 작은 score나 모두 가려진 row에서 틀립니다. "
    "-np.inf를 쓰세요.",
    "A finite number such as −1e9, or the smallest of np.finfo, is not −∞: smaller scores and rows that are masked "
    "throughout go wrong. Write -np.inf.",
)
SCALED_BY_N_K = Text(
    "Key의 수 √n_k로 나누었습니다. dot product는 d_k 개의 곱을 더한 것이므로 √d_k로 나눕니다.",
    "This divides by √n_k, the number of Keys. A dot product sums d_k products: divide by √d_k.",
)


def scores_overwritten(scores, d_k, mask=None):
    scores /= np.sqrt(d_k)
    if mask is not None:
        scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    return scores


def logits_indexed(scores, d_k, mask=None):
    logits = scores / np.sqrt(d_k)
    if mask is not None:
        logits[~mask] = -np.inf
    return logits


def half_precision_logits(scores, d_k, mask=None):
    return scale_and_mask(scores.astype(np.float16), np.float16(d_k), mask)


def additive_logits(scores, d_k, mask=None):
    additive = 0.0 if mask is None else np.where(mask, 0.0, -np.inf)
    return scores * d_k**-0.5 + additive


def copied_logits(scores, d_k, mask=None):
    logits = scores.copy()
    logits *= 1 / np.sqrt(d_k)
    if mask is not None:
        np.putmask(logits, ~np.broadcast_to(mask, logits.shape), float("-inf"))
    return logits


def looped_logits(scores, d_k, mask=None):
    allowed = np.broadcast_to(True if mask is None else mask, scores.shape)
    logits = np.full(scores.shape, -np.inf)
    for index in np.ndindex(scores.shape):
        if allowed[index]:
            logits[index] = scores[index] / d_k**0.5
    return logits


def logits_in_torch(scores, d_k, mask=None):
    import torch

    logits = torch.as_tensor(scores) / d_k**0.5
    return logits if mask is None else logits.masked_fill(~torch.as_tensor(mask), -torch.inf)


SCALE_AND_MASK = Task(
    name="scale_and_mask",
    reference=scale_and_mask,
    parts=LOGIT_PARTS,
    see="computation.html#scale-and-mask",
    mistakes=(
        Mistake(
            variant(scale_and_mask, "divided_by_d_k", ("np.sqrt(d_k)", "d_k")),
            Text(
                "d_k로 나누었습니다. 표준편차인 √d_k로 나눕니다.",
                "This divides by d_k. Divide by the standard deviation, √d_k.",
            ),
            everywhere(LOGIT_PARTS),
        ),
        Mistake(
            variant(scale_and_mask, "multiplied_by_root", ("/ np.sqrt(d_k)", "* np.sqrt(d_k)")),
            Text(
                "√d_k를 곱했습니다. score의 variance가 d_k이므로, 표준편차인 √d_k로 나눕니다.",
                "This multiplies by √d_k. A score's variance is d_k: divide by its standard deviation, √d_k.",
            ),
            everywhere(LOGIT_PARTS),
        ),
        Mistake(
            variant(scale_and_mask, "not_scaled", ("scores / np.sqrt(d_k)", "scores.copy()")),
            NOT_SCALED,
            everywhere(LOGIT_PARTS),
        ),
        Mistake(
            variant(scale_and_mask, "mask_of_none", ("    if mask is None:\n        return logits\n", "")),
            MASK_OF_NONE,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(scale_and_mask, "scaled_by_n_k", ("np.sqrt(d_k)", "np.sqrt(scores.shape[-1])")),
            SCALED_BY_N_K,
            everywhere(LOGIT_PARTS),
        ),
        Mistake(
            variant(scale_and_mask, "inverted_mask", ("logits, -np.inf", "-np.inf, logits")),
            Text(
                "mask를 반대로 읽었습니다. True는 '볼 수 있음'이고, False인 자리가 −∞입니다.",
                "The mask is read the wrong way round. True means may attend; −∞ goes where it is False.",
            ),
            frozenset({"mask", "broadcast"}),
        ),
        Mistake(
            variant(scale_and_mask, "large_number_for_infinity", ("-np.inf", "-1e9")),
            FINITE_FILL,
            frozenset({"mask", "broadcast"}),
        ),
        *(
            Mistake(
                variant(scale_and_mask, f"{name}_for_infinity", ("-np.inf", number)),
                FINITE_FILL,
                frozenset({"mask", "broadcast"}),
            )
            for name, number in (
                ("smallest_number", "np.finfo(float).min"),
                ("ten_thousand", "-1e4"),
                ("ten_billions", "-1e10"),
                ("twenty_zeros", "-1e20"),
            )
        ),
        Mistake(
            variant(
                scale_and_mask,
                "large_number_where_open",
                ("np.where(mask, logits, -np.inf)", "logits + mask * -1e9"),
            ),
            Text(
                "mask에 −1e9를 곱해 더하면 True인 자리가 가려집니다. 1이 '가림'인 mask에 쓰는 식입니다. 여기서 True는 '볼 수 있음'이고, "
                "가려진 자리는 -np.inf입니다: np.where.",
                "Adding mask × −1e9 hides the places that are True: that is for masks in which 1 hides. Here True means may "
                "attend, and a masked place holds -np.inf: np.where.",
            ),
            frozenset({"mask", "broadcast"}),
        ),
        Mistake(
            variant(
                scale_and_mask,
                "infinity_where_open",
                ("np.where(mask, logits, -np.inf)", "logits + mask * -np.inf"),
            ),
            Text(
                "mask에 −∞를 곱하면 True인 자리가 가려지고, 나머지는 0 × ∞ = NaN입니다. 곱하지 말고 np.where로 고르세요.",
                "Multiplied by −∞, the mask hides the places that are True, and the others become 0 × ∞ = NaN. Select with "
                "np.where; don't multiply.",
            ),
            frozenset({"mask", "broadcast"}),
        ),
        Mistake(
            variant(scale_and_mask, "power_before_division", ("np.sqrt(d_k)", "d_k**1 / 2")),
            Text(
                "d_k ** 1/2은 (d_k ** 1) / 2로 계산됩니다. d_k ** 0.5나 np.sqrt(d_k)로 쓰세요.",
                "d_k ** 1/2 is computed as (d_k ** 1) / 2. Write d_k ** 0.5 or np.sqrt(d_k).",
            ),
            everywhere(LOGIT_PARTS),
        ),
        Mistake(
            variant(scale_and_mask, "mask_multiplied", ("np.where(mask, logits, -np.inf)", "logits * mask")),
            MASK_MULTIPLIED,
            frozenset({"mask", "broadcast"}),
        ),
        Mistake(
            variant(
                scale_and_mask,
                "infinity_multiplied",
                ("np.where(mask, logits, -np.inf)", "logits + (1 - mask) * -np.inf"),
            ),
            Text(
                "0 × ∞는 NaN입니다. 곱하지 말고 np.where로 고르세요.",
                "0 × ∞ is NaN. Select with np.where; don't multiply.",
            ),
            frozenset({"mask", "broadcast"}),
        ),
        Mistake(
            variant(scale_and_mask, "mask_not_used", ("np.where(mask, logits, -np.inf)", "logits")),
            MASK_NOT_USED,
            frozenset({"mask", "broadcast"}),
        ),
        Mistake(
            variant(
                scale_and_mask,
                "first_mask_for_all",
                ("np.where(mask", "np.where(mask.reshape(-1, *mask.shape[-2:])[0]"),
            ),
            FIRST_MASK_FOR_ALL,
            frozenset({"broadcast"}),
        ),
        Mistake(
            variant(scale_and_mask, "boolean_added", ("np.where(mask, logits, -np.inf)", "logits + mask")),
            MASK_ADDED,
            frozenset({"mask", "broadcast"}),
        ),
        Mistake(
            variant(
                scale_and_mask,
                "keys_removed",
                ("np.where(mask, logits, -np.inf)", "logits[..., mask.reshape(-1, mask.shape[-1])[0]]"),
            ),
            Text(
                "가려진 Key의 column을 지웠습니다. Mask는 shape를 줄이지 않고 그 자리에 −∞를 둡니다.",
                "The masked Keys' columns are removed. A mask keeps the shape and puts −∞ in their place.",
            ),
            frozenset({"mask", "broadcast"}),
        ),
        Mistake(
            variant(
                scale_and_mask,
                "fails_without_mask",
                ("    if mask is None:\n        return logits\n", ""),
                ("np.where(mask, logits, -np.inf)", "np.where(~mask, -np.inf, logits)"),
            ),
            Text(
                "mask=None일 때 실패합니다. mask가 없으면 모든 Key를 볼 수 있습니다.",
                "This fails for mask=None. Without a mask, every Key may be attended to.",
            ),
            frozenset({"scale"}),
        ),
        Mistake(
            half_precision_logits,
            HALF_PRECISION,
            everywhere(LOGIT_PARTS),
        ),
        Mistake(
            scores_overwritten,
            Text(
                "입력 scores를 제자리에서 바꾸었습니다 (/=, 대입). 새 배열에 계산하세요.",
                "The input scores are changed in place (/=, assignment). Compute into a new array.",
            ),
            everywhere(LOGIT_PARTS),
        ),
        Mistake(
            variant(scale_and_mask, "truth_of_the_mask", ("if mask is None", "if not mask")),
            TRUTH_OF_AN_ARRAY,
            frozenset({"mask", "broadcast"}),
        ),
        Mistake(
            logits_indexed,
            MASK_INDEXED,
            frozenset({"broadcast"}),
        ),
        Mistake(
            variant(scale_and_mask, "root_cut_off", ("np.sqrt(d_k)", "int(np.sqrt(d_k))")),
            Text(
                "√d_k를 정수로 잘랐습니다 (int나 //). d_k = 3이면 1이 되어 나누지 않은 것과 같습니다. 실수로 두세요.",
                "√d_k is cut to a whole number (int, or //). For d_k = 3 that is 1, as if nothing were divided. Keep it a floating number.",
            ),
            everywhere(LOGIT_PARTS),
        ),
        Mistake(
            variant(scale_and_mask, "infinity_without_its_sign", ("-np.inf", "np.inf")),
            Text(
                "가려진 자리가 +∞입니다. exp(+∞)는 모든 비중을 가져갑니다. exp가 0이 되는 −∞를 두세요: -np.inf.",
                "Masked places hold +∞, whose exp takes all the weight. Put −∞ there, whose exp is 0: -np.inf.",
            ),
            frozenset({"mask", "broadcast"}),
        ),
        Mistake(
            variant(
                scale_and_mask,
                "scale_and_mask_squeezed",
                ("return logits", "return np.squeeze(logits)"),
                (
                    "return np.where(mask, logits, -np.inf)",
                    "return np.squeeze(np.where(mask, logits, -np.inf))",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"broadcast"}),
        ),
    ),
    right_answers=(additive_logits, copied_logits, looped_logits, logits_in_torch),
)


# --- Task 3: softmax ------------------------------------------------------------------------------------------


def softmax(logits):
    """logits (..., n_q, n_k) -> A (..., n_q, n_k): rows sum to 1; a row of -inf only becomes 0"""
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isneginf(highest), 0.0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1.0, total)


def draw_rows(rng):
    logits = rng.normal(size=(5, 7))
    return [{"logits": logits}, {"logits": np.where(random_mask(rng, 5, 7), logits, -np.inf)}]


def draw_logit_batches(rng):
    return [{"logits": rng.normal(size=(3, 5, 7))}, {"logits": rng.normal(size=(2, 1, 5, 7))}]


def draw_large_logits(rng):
    # Whole numbers: their differences are exact in float32, so that only an overflow can go wrong.
    rows = rng.integers(-3, 4, (5, 7)).astype(float)
    rows[:, 0] = 4.0
    # The first and the mean of a row lie far below its largest.
    mixed = rows + 1e4 * np.array([-1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    # Two open Keys a row, both far below any number that stands for -inf.
    below = np.where(np.arange(7) < 2, -1e10, -np.inf) * np.ones((5, 1))
    return [
        {"logits": rows + 1e4 * np.array([[1.0], [-1.0], [0.5], [-0.5], [0.0]])},
        {"logits": rng.permuted(mixed, axis=0)},
        {"logits": rng.permuted(below, axis=1)},
    ]


def draw_dead_row(rng):
    mask = random_mask(rng, 5, 7, dead_row=True)
    return [{"logits": np.where(mask, rng.normal(size=(5, 7)), -np.inf)}]


WEIGHT_PARTS = (
    Part("rows", 2, Text("Query마다 Keys에 대해", "over the Keys of each Query"), draw_rows),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_logit_batches),
    Part("large", 1, Text("아주 크거나 작은 logits", "very large and very small logits"), draw_large_logits),
    Part("dead_row", 1, Text("모두 가려진 row", "a row that is masked throughout"), draw_dead_row),
)


def no_exponential(logits):
    shares = np.where(np.isneginf(logits), 0.0, logits)
    return shares / shares.sum(axis=-1, keepdims=True)


def all_to_the_largest(logits):
    highest = logits.max(axis=-1, keepdims=True)
    return np.where(
        np.isneginf(highest), 0.0, 1.0 * (np.arange(logits.shape[-1]) == logits.argmax(-1)[..., None])
    )


def logits_overwritten(logits):
    highest = logits.max(axis=-1, keepdims=True)
    logits -= np.where(np.isneginf(highest), 0.0, highest)
    np.exp(logits, out=logits)
    total = logits.sum(axis=-1, keepdims=True)
    logits /= np.where(total == 0, 1.0, total)
    return logits


def rows_of_one_matrix(logits):
    result = np.zeros_like(logits)
    for i, row in enumerate(logits):
        highest = row.max()
        if highest > -np.inf:
            exponentials = np.exp(row - highest)
            result[i] = exponentials / exponentials.sum()
    return result


def softmax_by_loops(logits):
    weights = np.zeros(logits.shape)
    for row in np.ndindex(logits.shape[:-1]):
        highest = max(logits[row])
        if highest > -np.inf:
            exponentials = [np.exp(x - highest) for x in logits[row]]
            weights[row] = [x / sum(exponentials) for x in exponentials]
    return weights


def softmax_by_logsumexp(logits):
    highest = np.nan_to_num(logits.max(axis=-1, keepdims=True), neginf=0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(logits - highest), axis=-1, keepdims=True)) + highest
    return np.exp(logits - np.where(np.isneginf(total), 0.0, total))


def softmax_mended(logits):
    with np.errstate(invalid="ignore"):
        shifted = np.exp(logits - np.max(logits, -1)[..., None])
        return np.nan_to_num(shifted / shifted.sum(-1)[..., None], nan=0.0)


def softmax_in_torch(logits):
    import torch

    return torch.softmax(torch.as_tensor(logits), dim=-1).nan_to_num(0.0)


def logits_clipped(logits):
    exponentials = np.exp(np.clip(logits, -700.0, 700.0))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def shared_along_the_first_axis(logits):
    exponentials = np.exp(logits - logits.max())
    return exponentials / exponentials.sum(axis=0)


def exponentials_shared_along_the_first_axis(logits):
    return np.exp(logits) / sum(np.exp(logits))


def rows_with_a_masked_place_emptied(logits):
    return np.where(np.isneginf(logits).any(axis=-1, keepdims=True), 0.0, softmax(logits))


def every_nan_replaced(logits):
    exponentials = np.exp(logits)
    return np.nan_to_num(exponentials / exponentials.sum(axis=-1, keepdims=True))


ALONG_THE_FIRST_AXIS = Text(
    "첫 축을 따라 나누었습니다 (axis=0; Python의 sum도 첫 축을 더합니다). Key 축은 마지막 축입니다: axis=-1, keepdims=True.",
    "The weights are shared along the first axis (axis=0, which Python's sum adds up, too). The Keys are the last one: "
    "axis=-1, keepdims=True.",
)

SOFTMAX = Task(
    name="softmax",
    reference=softmax,
    parts=WEIGHT_PARTS,
    see="computation.html#softmax-over-keys",
    mistakes=(
        Mistake(
            logits_clipped,
            Text(
                "logits를 np.clip으로 잘랐습니다. ±10000 근처의 차이가 사라지고, −∞도 유한한 수가 됩니다. 자르지 말고 row의 최댓값을 빼세요.",
                "The logits are cut off by np.clip: differences around ±10000 are lost, and −∞ becomes a number. Subtract the row's "
                "maximum instead.",
            ),
            frozenset({"large", "dead_row"}),
        ),
        Mistake(
            rows_with_a_masked_place_emptied,
            Text(
                "가려진 자리가 하나라도 있는 row를 모두 0으로 만들었습니다. weights가 모두 0인 것은 전부 가려진 row뿐입니다 (any가 아니라 all).",
                "Every row with a masked place became 0. Only a row that is masked throughout has weights 0 (all, not any).",
            ),
            frozenset({"rows", "large", "dead_row"}),
        ),
        Mistake(
            variant(softmax, "never_divided", (" / np.where(total == 0, 1.0, total)", "")),
            Text(
                "exponential을 row의 합으로 나누지 않았습니다. 나누어야 row의 합이 1입니다.",
                "The exponentials are not divided by their row's sum, which makes each row sum to 1.",
            ),
            everywhere(WEIGHT_PARTS),
        ),
        Mistake(
            variant(
                softmax,
                "maximum_from_zero",
                ("keepdims=True)\n    exp", "keepdims=True, initial=0.0)\n    exp"),
            ),
            Text(
                "뺀 수가 0보다 작아지지 않습니다 (initial=0). 모든 logits가 −10000 근처이면 exp가 모두 0이 됩니다. row의 최댓값 자체를 빼세요.",
                "What is subtracted never falls below 0 (initial=0). Where all logits lie around −10000, exp vanishes: subtract the "
                "row's maximum itself.",
            ),
            frozenset({"large"}),
        ),
        Mistake(
            every_nan_replaced,
            Text(
                "NaN을 나중에 0으로 바꾸었습니다. 큰 logits에서는 exp가 넘친 자리까지 0이 됩니다. 먼저 row의 최댓값을 빼세요.",
                "NaN is turned into 0 afterwards. With large logits that hides where exp has overflowed. Subtract the row's maximum first.",
            ),
            frozenset({"large"}),
        ),
        Mistake(
            variant(
                softmax,
                "softmax_over_queries",
                ("logits.max(axis=-1, keepdims=True)", "logits.max(axis=-2, keepdims=True)"),
                ("sum(axis=-1", "sum(axis=-2"),
            ),
            Text(
                "Softmax가 Query 축을 따라 계산되었습니다. 한 Query의 비중을 Keys 사이에 나누므로 Key 축(axis=-1)입니다.",
                "Softmax runs over the Queries here. One Query's weight is shared among the Keys: axis=-1.",
            ),
            everywhere(WEIGHT_PARTS),
        ),
        Mistake(
            variant(
                softmax,
                "softmax_over_everything",
                ("logits.max(axis=-1, keepdims=True)", "logits.max()"),
                ("sum(axis=-1, keepdims=True)", "sum()"),
            ),
            Text(
                "행렬 전체의 합이 1이 되었습니다. row마다 합이 1이어야 합니다 (axis=-1, keepdims=True).",
                "The whole matrix sums to 1. Each row has to (axis=-1, keepdims=True).",
            ),
            everywhere(WEIGHT_PARTS),
        ),
        *(
            Mistake(answer, ALONG_THE_FIRST_AXIS, everywhere(WEIGHT_PARTS))
            for answer in (
                variant(
                    softmax,
                    "softmax_along_the_first_axis",
                    ("max(axis=-1", "max(axis=0"),
                    ("sum(axis=-1", "sum(axis=0"),
                ),
                shared_along_the_first_axis,
                exponentials_shared_along_the_first_axis,
            )
        ),
        Mistake(
            variant(
                softmax,
                "asked_of_an_array",
                (
                    "    exponentials =",
                    "    if highest == -np.inf:\n        return np.zeros_like(logits)\n    exponentials =",
                ),
            ),
            COMPARED_AS_A_WHOLE,
            everywhere(WEIGHT_PARTS),
        ),
        Mistake(
            variant(
                softmax,
                "masked_as_zero",
                ("    highest =", "    logits = np.where(np.isneginf(logits), 0.0, logits)\n    highest ="),
            ),
            Text(
                "−∞를 0으로 바꾸었습니다. exp(0) = 1이라 가려진 Key가 비중을 얻습니다. exp(−∞)는 그대로 0입니다.",
                "−∞ is replaced by 0, and exp(0) = 1 gives a masked Key weight. exp(−∞) is 0 as it stands.",
            ),
            frozenset({"rows", "large", "dead_row"}),
        ),
        Mistake(
            variant(
                softmax,
                "maximum_from_a_large_number",
                ("np.where(np.isneginf(highest), 0.0, highest)", "np.maximum(highest, -1e9)"),
            ),
            Text(
                "뺀 수가 −1e9 같은 수보다 작아지지 않습니다. 더 작은 logits에서는 exp가 모두 0이 됩니다. −∞일 때만 다른 수로 바꾸세요.",
                "What is subtracted never falls below a number such as −1e9. With smaller logits, exp vanishes: put another number "
                "only where it is −∞.",
            ),
            frozenset({"large"}),
        ),
        Mistake(
            variant(softmax, "second_axis", ("max(axis=-1", "max(axis=1"), ("sum(axis=-1", "sum(axis=1")),
            SECOND_AXIS_FOR_THE_LAST,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                softmax,
                "no_maximum_subtracted",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
            ),
            Text(
                "exp(10000)은 overflow이고, exp(-10000)은 0입니다. row의 최댓값을 먼저 빼면 결과는 같고 안전합니다.",
                "exp(10000) overflows and exp(-10000) is 0. Subtract the row's maximum first: the result is the same.",
            ),
            frozenset({"large"}),
        ),
        Mistake(
            variant(softmax, "maximum_of_everything", ("logits.max(axis=-1, keepdims=True)", "logits.max()")),
            Text(
                "배열 전체의 최댓값을 뺐습니다. 다른 row는 모두 0으로 사라질 수 있으니 row마다 자기 최댓값을 빼세요.",
                "The maximum of the whole array is subtracted, and other rows may vanish. Subtract each row's own.",
            ),
            frozenset({"large"}),
        ),
        Mistake(
            variant(
                softmax,
                "dead_row_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "모두 가려진 row가 NaN이 되었습니다. 최댓값을 빼면 −∞ − (−∞)이고, 합으로 나누면 0 / 0입니다. 볼 Key가 없는 Query의 weights는 0입니다.",
                "A row that is masked throughout became NaN: −∞ − (−∞) where its maximum is subtracted, or 0 / 0 where its sum divides. A Query without a Key has weights 0.",
            ),
            frozenset({"dead_row"}),
        ),
        Mistake(
            variant(
                softmax,
                "dead_row_uniform",
                ("    highest =", "    logits = np.where(np.isneginf(logits), -1e9, logits)\n    highest ="),
            ),
            Text(
                "모두 가려진 row가 고르게 나뉘어, 볼 수 없는 Values의 평균을 읽습니다. 그 weights는 0이어야 합니다.",
                "A row that is masked throughout became uniform and reads the mean of forbidden Values. It has to be 0.",
            ),
            frozenset({"large", "dead_row"}),
        ),
        Mistake(
            variant(
                softmax,
                "half_precision_weights",
                ("    highest =", "    logits = logits.astype(np.float16)\n    highest ="),
            ),
            HALF_PRECISION_AROUND_10000,
            everywhere(WEIGHT_PARTS),
        ),
        Mistake(
            no_exponential,
            Text(
                "exponential 없이 합으로만 나누었습니다. 음수 logit은 음수 비중이 됩니다.",
                "This divides by the sum without the exponential: a negative logit gives a negative weight.",
            ),
            everywhere(WEIGHT_PARTS),
        ),
        Mistake(
            all_to_the_largest,
            Text(
                "가장 큰 Key 하나만 골랐습니다 (argmax). Softmax는 다른 Keys에도 비중을 남깁니다.",
                "Only the largest Key is chosen (argmax). Softmax leaves weight to the others.",
            ),
            everywhere(WEIGHT_PARTS),
        ),
        Mistake(
            logits_overwritten,
            Text(
                "입력 logits를 제자리에서 바꾸었습니다 (-=, out=). 새 배열에 계산하세요.",
                "The input logits are changed in place (-=, out=). Compute into a new array.",
            ),
            everywhere(WEIGHT_PARTS),
        ),
        Mistake(
            variant(softmax, "axis_lost", ("sum(axis=-1, keepdims=True)", "sum(axis=-1)")),
            AXIS_LOST,
            everywhere(WEIGHT_PARTS),
        ),
        Mistake(
            variant(
                softmax,
                "softmax_unguarded",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            SOFTMAX_UNGUARDED,
            frozenset({"large", "dead_row"}),
        ),
        Mistake(
            variant(
                softmax,
                "maximum_of_everything_unguarded",
                ("logits.max(axis=-1, keepdims=True)", "logits.max()"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "배열 전체의 최댓값을 뺐습니다. 그보다 훨씬 작은 row는 모두 0으로 사라져 0/0이 되고, 모두 가려진 row도 그렇습니다. "
                "row마다 자기 최댓값을 빼고, 합이 0인 row를 살피세요.",
                "The maximum of the whole array is subtracted. Rows far below it vanish to 0/0, and so does a row that is masked "
                "throughout. Subtract each row's own maximum, and look for rows whose sum is 0.",
            ),
            frozenset({"large", "dead_row"}),
        ),
        Mistake(
            variant(
                softmax, "first_logit_subtracted", ("logits.max(axis=-1, keepdims=True)", "logits[..., :1]")
            ),
            NOT_THE_MAXIMUM_SUBTRACTED,
            frozenset({"large"}),
        ),
        Mistake(
            variant(
                softmax,
                "mean_subtracted",
                ("logits.max(axis=-1, keepdims=True)", "logits.mean(axis=-1, keepdims=True)"),
            ),
            NOT_THE_MAXIMUM_SUBTRACTED,
            frozenset({"large"}),
        ),
        Mistake(
            rows_of_one_matrix,
            Text(
                "for로 첫 축을 돌면 행렬 하나일 때만 row가 나옵니다. batch가 있으면 행렬마다 하나의 Softmax가 됩니다. axis=-1로 모든 row를 한 번에 계산하세요.",
                "A loop over the first axis meets rows in a single matrix only. With batch axes, each matrix becomes one Softmax. Compute all rows at once, with axis=-1.",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                softmax,
                "softmax_squeezed",
                (
                    "return exponentials / np.where(total == 0, 1.0, total)",
                    "return np.squeeze(exponentials / np.where(total == 0, 1.0, total))",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(softmax_by_loops, softmax_by_logsumexp, softmax_mended, softmax_in_torch),
)


# --- Task 4: attention ----------------------------------------------------------------------------------------


def attention(q, k, v, mask=None, scale=None):
    """q (..., n_q, d_k), k (..., n_k, d_k), v (..., n_k, d_v), mask (..., n_q, n_k) -> O (..., n_q, d_v)"""
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    logits = q @ np.swapaxes(k, -1, -2) * scale
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isneginf(highest), 0.0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1.0, total) @ v


def draw_plain(rng):
    return [random_qkv(rng)]


def draw_attention_batches(rng):
    return [
        {"q": rng.normal(size=(2, 5, 3)), "k": rng.normal(size=(2, 7, 3)), "v": rng.normal(size=(2, 7, 11))},
        {
            "q": rng.normal(size=(2, 3, 5, 13)),
            "k": rng.normal(size=(3, 11, 13)),
            "v": rng.normal(size=(11, 7)),
        },
        # The batch axes of the output are not those of Q; one is 1 long.
        {"q": rng.normal(size=(5, 3)), "k": rng.normal(size=(2, 1, 7, 3)), "v": rng.normal(size=(7, 11))},
        {"q": rng.normal(size=(5, 3)), "k": rng.normal(size=(7, 3)), "v": rng.normal(size=(2, 7, 11))},
    ]


def draw_masked(rng):
    each_batch = random_mask(rng, 2, 7)[:, None, :]
    padded = {"q": rng.normal(size=(2, 5, 3)), "k": rng.normal(size=(7, 3)), "v": rng.normal(size=(7, 11))}
    return [masked_qkv(rng), {**padded, "mask": each_batch}]


def draw_dead_query(rng):
    return [{**random_qkv(rng), "mask": random_mask(rng, 5, 7, dead_row=True)}]


OUTPUT_PARTS = (
    Part("plain", 2, Text("mask 없이, d_v ≠ d_k", "no mask, d_v ≠ d_k"), draw_plain),
    Part("batches", 1, Text("broadcast되는 batch", "batches that broadcast"), draw_attention_batches),
    Part("masked", 2, Text("mask, broadcast되는 것도", "a mask, also one that broadcasts"), draw_masked),
    Part("dead_row", 1, Text("볼 Key가 없는 Query", "a Query that may attend to no Key"), draw_dead_query),
    Part("extremes", 1, Text("아주 크거나 작은 scores", "very large and very small scores"), extreme_qkv),
    Part("scale", 1, Text("주어진 scale", "a given scale"), scaled_qkv),
)
WITH_MASK = frozenset({"masked", "dead_row", "extremes", "scale"})


def weights_masked_afterwards(q, k, v, mask=None, scale=None):
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    logits = q @ np.swapaxes(k, -1, -2) * scale
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return (weights if mask is None else weights * mask) @ v


def weights_shared_again(q, k, v, mask=None, scale=None):
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    logits = q @ np.swapaxes(k, -1, -2) * scale
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True)) * (1.0 if mask is None else mask)
    total = shares.sum(axis=-1, keepdims=True)
    return shares / np.where(total == 0, 1.0, total) @ v


def shared_again_unguarded(q, k, v, mask=None, scale=None):
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    logits = q @ np.swapaxes(k, -1, -2) * scale
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True)) * (1.0 if mask is None else mask)
    return shares / shares.sum(axis=-1, keepdims=True) @ v


def half_precision_attention(q, k, v, mask=None, scale=None):
    return attention(*(x.astype(np.float16) for x in (q, k, v)), mask, scale)


def attention_by_loops(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    n_q, n_k = q.shape[-2], k.shape[-2]
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (q, k, v))
    allowed = np.broadcast_to(True if mask is None else mask, (*batch, n_q, n_k))
    output = np.zeros((*batch, n_q, v.shape[-1]))
    for *b, i in np.ndindex((*batch, n_q)):
        b = tuple(b)
        keys = [j for j in range(n_k) if allowed[(*b, i, j)]]
        logits = [scale * sum(q[b][i] * k[b][j]) for j in keys]
        shares = [np.exp(x - max(logits)) for x in logits]
        for share, j in zip(shares, keys, strict=True):
            output[(*b, i)] += share / sum(shares) * v[b][j]
    return output


def attention_by_einsum(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = np.einsum("...id,...jd->...ij", q, k) * scale
    allowed = np.ones_like(logits, dtype=bool) if mask is None else np.broadcast_to(mask, logits.shape)
    highest = np.max(logits, axis=-1, keepdims=True, where=allowed, initial=-1e300)
    shares = np.where(allowed, np.exp(np.where(allowed, logits - highest, 0.0)), 0.0)
    weights = shares / np.maximum(shares.sum(axis=-1, keepdims=True), 1e-300)
    return np.einsum("...ij,...jd->...id", weights, v)


def attention_in_torch(q, k, v, mask=None, scale=None):
    import torch

    q, k, v = (torch.as_tensor(x) for x in (q, k, v))
    logits = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        logits = logits.masked_fill(~torch.as_tensor(mask), -torch.inf)
    return logits.softmax(dim=-1).nan_to_num(0.0) @ v


def attention_in_steps(q, k, v, mask=None, scale=None):
    def normalise(logits):
        logits = logits - np.nan_to_num(logits.max(axis=-1, keepdims=True), neginf=0.0)
        weights = np.exp(logits)
        sums = weights.sum(axis=-1, keepdims=True)
        return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)

    if scale is None:
        scale = 1 / q.shape[-1] ** 0.5
    additive = 0.0 if mask is None else np.where(mask, 0.0, -np.inf)
    return normalise((q * scale) @ k.swapaxes(-2, -1) + additive) @ v


ATTENTION = Task(
    name="attention",
    reference=attention,
    parts=OUTPUT_PARTS,
    see="computation.html#four-operations",
    mistakes=(
        Mistake(
            variant(attention, "all_axes_reversed", ("np.swapaxes(k, -1, -2)", "k.T")),
            ALL_AXES_REVERSED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(attention, "axes_of_one_batch", ("np.swapaxes(k, -1, -2)", "np.transpose(k, (0, 2, 1))")),
            AXES_OF_ONE_BATCH,
            everywhere(OUTPUT_PARTS),
        ),
        Mistake(
            variant(
                attention,
                "matrices_do_not_fit",
                (
                    "return exponentials / np.where(total == 0, 1.0, total) @ v",
                    "return v @ (exponentials / np.where(total == 0, 1.0, total))",
                ),
            ),
            Text(
                "행렬 곱의 shape가 맞지 않습니다. scores는 (n_q, d_k) @ (d_k, n_k)이니 k의 마지막 두 축을 바꾸고 (np.swapaxes), "
                "output은 weights (n_q, n_k) @ v (n_k, d_v)입니다.",
                "Matrices don't fit. The scores are (n_q, d_k) @ (d_k, n_k): swap k's last two axes (np.swapaxes). The output is "
                "weights (n_q, n_k) @ v (n_k, d_v).",
            ),
            everywhere(OUTPUT_PARTS),
        ),
        Mistake(
            variant(attention, "scaled_by_n_k", ("np.sqrt(q.shape[-1])", "np.sqrt(k.shape[-2])")),
            SCALED_BY_N_K,
            everywhere(OUTPUT_PARTS) - {"extremes", "scale"},
        ),
        Mistake(
            variant(
                attention,
                "queries_share_weight",
                ("max(axis=-1", "max(axis=-2"),
                ("sum(axis=-1", "sum(axis=-2"),
            ),
            Text(
                "Softmax가 Query 축을 따라 계산되었습니다. n_q ≠ n_k이면 차이가 드러납니다. Key 축(axis=-1)입니다.",
                "Softmax runs over the Queries here, which n_q ≠ n_k brings to light. It runs over the Keys: axis=-1.",
            ),
            everywhere(OUTPUT_PARTS),
        ),
        Mistake(
            variant(attention, "scaled_by_d_k", ("np.sqrt(q.shape[-1])", "q.shape[-1]")),
            DIVIDED_BY_D_K,
            frozenset({"plain", "batches", "masked", "dead_row"}),
        ),
        Mistake(
            variant(attention, "scaled_by_d_v", ("q.shape[-1])", "v.shape[-1])")),
            SCALED_BY_D_V,
            frozenset({"plain", "batches", "masked", "dead_row"}),
        ),
        Mistake(
            variant(attention, "given_scale_ignored", (" if scale is None else scale", "")),
            SCALE_NOT_USED,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                attention,
                "zero_scale_taken_for_none",
                ("1 / np.sqrt(q.shape[-1]) if scale is None else scale", "scale or 1 / np.sqrt(q.shape[-1])"),
            ),
            ZERO_SCALE_TAKEN_FOR_NONE,
            frozenset({"scale"}),
        ),
        Mistake(
            weights_masked_afterwards,
            MASKED_AFTER_SOFTMAX,
            WITH_MASK,
        ),
        Mistake(
            variant(attention, "not_scaled", ("1 / np.sqrt(q.shape[-1]) if", "1.0 if")),
            NOT_SCALED,
            frozenset({"plain", "batches", "masked", "dead_row"}),
        ),
        Mistake(
            variant(
                attention,
                "large_number_added",
                ("np.where(mask, logits, -np.inf)", "logits + (1 - mask) * -1e9"),
            ),
            Text(
                "−1e9를 더하면 그보다 작은 score와 모두 가려진 row에서 가려진 Value를 읽습니다. np.where로 -np.inf를 두세요.",
                "Adding −1e9 reads masked Values where scores are smaller or a row is masked throughout. Put -np.inf with np.where.",
            ),
            frozenset({"dead_row", "extremes"}),
        ),
        Mistake(
            weights_shared_again,
            SHARED_AGAIN,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(attention, "boolean_added", ("np.where(mask, logits, -np.inf)", "logits + mask")),
            MASK_ADDED,
            WITH_MASK,
        ),
        Mistake(
            variant(attention, "weights_returned", (" @ v", "")),
            Text(
                "weights를 돌려주었습니다. output은 여기에 V를 곱한 것이고, shape는 (n_q, d_v)입니다.",
                "The weights come back. The output is weights @ v, of shape (n_q, d_v).",
            ),
            everywhere(OUTPUT_PARTS),
        ),
        Mistake(
            variant(attention, "mask_read_inverted", ("logits, -np.inf", "-np.inf, logits")),
            MASK_INVERTED,
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention,
                "mask_as_an_index",
                ("logits = np.where(mask, logits, -np.inf)", "logits[~mask] = -np.inf"),
            ),
            MASK_INDEXED,
            frozenset({"masked"}),
        ),
        Mistake(
            variant(attention, "mask_not_used", ("np.where(mask, logits, -np.inf)", "1.0 * logits")),
            MASK_NOT_USED,
            WITH_MASK,
        ),
        Mistake(
            variant(attention, "logits_times_mask", ("np.where(mask, logits, -np.inf)", "logits * mask")),
            MASK_MULTIPLIED,
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention,
                "masked_before_scaling",
                ("np.swapaxes(k, -1, -2) * scale", "np.swapaxes(k, -1, -2)"),
                ("    highest =", "    logits = logits * scale\n    highest ="),
            ),
            MASKED_BEFORE_SCALING,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(attention, "finite_fill", ("-np.inf)", "-1e9)")),
            LARGE_NUMBER_FOR_INFINITY,
            frozenset({"dead_row", "extremes"}),
        ),
        Mistake(
            variant(
                attention,
                "dead_query_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            Text(
                "볼 Key가 없는 Query의 output이 NaN입니다. 그 Query는 아무것도 읽지 않으므로 0입니다.",
                "The output of a Query that may attend to no Key is NaN. It reads nothing: 0.",
            ),
            frozenset({"dead_row"}),
        ),
        Mistake(
            variant(
                attention,
                "exponential_overflows",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
            ),
            EXPONENTIAL_OVERFLOWS,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                attention,
                "mask_required",
                (
                    "    if mask is not None:\n        logits = np.where(mask, logits, -np.inf)",
                    "    logits = np.where(~mask, -np.inf, logits)",
                ),
            ),
            MASK_REQUIRED,
            frozenset({"plain", "batches", "extremes", "scale"}),
        ),
        Mistake(
            variant(
                attention,
                "mask_of_none",
                (
                    "    if mask is not None:\n        logits = np.where(mask, logits, -np.inf)",
                    "    logits = np.where(mask, logits, -np.inf)",
                ),
            ),
            MASK_OF_NONE,
            frozenset({"plain", "batches", "extremes", "scale"}),
        ),
        Mistake(
            variant(
                attention,
                "first_batch_for_all",
                (
                    "    scale =",
                    "    k, v = k.reshape(-1, *k.shape[-2:])[0], v.reshape(-1, *v.shape[-2:])[0]\n    scale =",
                ),
            ),
            FIRST_BATCH_FOR_ALL,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(attention, "queries_overwritten", ("    scale =", "    q *="), (" * scale", "")),
            QUERIES_OVERWRITTEN,
            everywhere(OUTPUT_PARTS),
        ),
        Mistake(
            half_precision_attention,
            HALF_PRECISION,
            everywhere(OUTPUT_PARTS),
        ),
        Mistake(
            variant(
                attention,
                "output_transposed",
                (
                    "return exponentials / np.where(total == 0, 1.0, total) @ v",
                    "return np.swapaxes(exponentials / np.where(total == 0, 1.0, total) @ v, -1, -2)",
                ),
            ),
            OUTPUT_TRANSPOSED,
            everywhere(OUTPUT_PARTS),
        ),
        Mistake(
            variant(attention, "axis_lost", ("sum(axis=-1, keepdims=True)", "sum(axis=-1)")),
            AXIS_LOST,
            everywhere(OUTPUT_PARTS),
        ),
        Mistake(
            variant(attention, "truth_of_the_mask", ("if mask is not None", "if mask")),
            TRUTH_OF_AN_ARRAY,
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention,
                "softmax_unguarded",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
                ("np.where(total == 0, 1.0, total)", "total"),
            ),
            SOFTMAX_UNGUARDED,
            frozenset({"dead_row", "extremes"}),
        ),
        Mistake(
            variant(
                attention,
                "scaled_twice",
                (
                    "1 / np.sqrt(q.shape[-1]) if scale is None else scale",
                    "(1.0 if scale is None else scale) / np.sqrt(q.shape[-1])",
                ),
            ),
            SCALED_TWICE,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                attention,
                "divided_by_scale",
                (
                    "1 / np.sqrt(q.shape[-1]) if scale is None else scale",
                    "np.sqrt(q.shape[-1]) if scale is None else scale",
                ),
                ("np.swapaxes(k, -1, -2) * scale", "np.swapaxes(k, -1, -2) / scale"),
            ),
            DIVIDED_BY_SCALE,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                attention,
                "scaled_twice_after_the_mask",
                ("1 / np.sqrt(q.shape[-1]) if scale is None else scale", "1.0 if scale is None else scale"),
                ("np.swapaxes(k, -1, -2) * scale", "np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])"),
                ("    highest =", "    logits = logits * scale\n    highest ="),
            ),
            Text(
                f"{SCALED_TWICE.ko} 게다가 mask 뒤에 곱하면 scale=0일 때 0 × (−∞) = NaN입니다.",
                f"{SCALED_TWICE.en} And multiplied after the mask, 0 × (−∞) is NaN for scale=0.",
            ),
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                attention,
                "dead_query_reads_the_mean",
                (
                    "    highest =",
                    "    logits = np.where(np.isneginf(logits).all(axis=-1, keepdims=True), 0.0, logits)\n    highest =",
                ),
            ),
            READS_THE_MEAN,
            frozenset({"dead_row"}),
        ),
        Mistake(
            variant(
                attention,
                "finite_fill_before_scaling",
                ("np.swapaxes(k, -1, -2) * scale", "np.swapaxes(k, -1, -2)"),
                ("-np.inf)", "-1e9)"),
                ("    highest =", "    logits = logits * scale\n    highest ="),
            ),
            Text(
                "−1e9로 가린 다음 scale을 곱했습니다. scale=0이면 가린 자리도 0이 되어 읽힙니다. scale을 먼저 곱하고, 가린 자리에는 -np.inf를 두세요.",
                "The scale multiplies what −1e9 has masked. With scale=0 a masked place becomes 0 and is read. Scale first, and put -np.inf where a Key is masked.",
            ),
            frozenset({"dead_row", "extremes", "scale"}),
        ),
        Mistake(
            shared_again_unguarded,
            SHARED_AGAIN_UNGUARDED,
            frozenset({"dead_row", "extremes"}),
        ),
        Mistake(
            variant(
                attention,
                "reciprocal_of_the_scale",
                ("if scale is None else scale", "if scale is None else 1 / scale"),
            ),
            DIVIDED_BY_SCALE,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                attention,
                "attention_squeezed",
                (
                    "return exponentials / np.where(total == 0, 1.0, total) @ v",
                    "return np.squeeze(exponentials / np.where(total == 0, 1.0, total) @ v)",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
    ),
    right_answers=(attention_by_loops, attention_by_einsum, attention_in_torch, attention_in_steps),
    forbidden=("torch.nn.functional.scaled_dot_product_attention",),
)


# --- Task 5: attention_mask -----------------------------------------------------------------------------------


def attention_mask(n_q, n_k, lengths, causal=False):
    """lengths (batch,) -> booleans (batch, n_q, n_k), True = may attend"""
    keys, queries = np.arange(n_k), np.arange(n_q)
    allowed = np.broadcast_to(keys < lengths[:, None, None], (len(lengths), n_q, n_k))
    return allowed & (keys <= queries[:, None]) if causal else allowed.copy()


def draw_padding(rng):
    return [
        {"n_q": 5, "n_k": 7, "lengths": rng.permutation(np.arange(1, 7))[:3]},
        {"n_q": 3, "n_k": 11, "lengths": rng.integers(1, 11, 1)},
    ]


def draw_causal(rng):
    # Other lengths in every draw: of what is always the same, the answer could be looked up in cases.npz.
    few, many = np.sort(rng.choice([5, 7, 11, 13], 2, replace=False)).tolist()
    return [
        {"n_q": few, "n_k": many, "lengths": np.full(3, many), "causal": True},
        {"n_q": many, "n_k": few, "lengths": np.full(2, few), "causal": True},
    ]


def draw_padding_and_causal(rng):
    return [{"n_q": 5, "n_k": 7, "lengths": rng.permutation(np.array([1, 2, 3, 4]))[:3], "causal": True}]


def draw_empty_sequence(rng):
    return [{"n_q": 2, "n_k": 5, "lengths": rng.permutation(np.array([0, 2, 5]))}]


MASK_PARTS = (
    Part("padding", 1, Text("padding", "padding"), draw_padding),
    Part("causal", 1, Text("causal, n_q ≠ n_k", "causal, n_q ≠ n_k"), draw_causal),
    Part("both", 1, Text("둘 다", "both together"), draw_padding_and_causal),
    Part("empty", 1, Text("길이 0인 sequence", "a sequence of length 0"), draw_empty_sequence),
)


def query_axis_missing(n_q, n_k, lengths, causal=False):
    allowed = np.arange(n_k) < lengths[:, None]
    return allowed & (np.arange(n_k) <= n_q - 1) if causal else allowed


def mask_by_loops(n_q, n_k, lengths, causal=False):
    mask = np.zeros((len(lengths), n_q, n_k), dtype=bool)
    for b, i, j in np.ndindex(mask.shape):
        mask[b, i, j] = j < lengths[b] and (not causal or j <= i)
    return mask


def mask_by_tril(n_q, n_k, lengths, causal=False):
    past = np.tril(np.ones((n_q, n_k), dtype=bool)) if causal else np.ones((n_q, n_k), dtype=bool)
    return np.logical_and(np.arange(n_k)[None, None, :] < lengths.reshape(-1, 1, 1), past)


def mask_from_lists(n_q, n_k, lengths, causal=False):
    return [
        [[j < n and (not causal or j <= i) for j in range(n_k)] for i in range(n_q)] for n in lengths.tolist()
    ]


def mask_in_torch(n_q, n_k, lengths, causal=False):
    import torch

    padding = torch.arange(n_k) < torch.as_tensor(lengths)[:, None, None]
    past = torch.ones(n_q, n_k, dtype=torch.bool)
    return padding & (past.tril() if causal else past)


ATTENTION_MASK = Task(
    name="attention_mask",
    reference=attention_mask,
    parts=MASK_PARTS,
    see="computation.html#computation-which-masks",
    mistakes=(
        Mistake(
            variant(
                attention_mask,
                "true_means_hidden",
                (
                    "return allowed & (keys <= queries[:, None]) if causal else allowed.copy()",
                    "return ~(allowed & (keys <= queries[:, None]) if causal else allowed)",
                ),
            ),
            Text(
                "True와 False가 반대입니다. 여기서 True는 '볼 수 있음'입니다.",
                "True and False are exchanged. Here True means may attend.",
            ),
            everywhere(MASK_PARTS),
        ),
        Mistake(
            variant(attention_mask, "itself_hidden", ("keys <= queries", "keys < queries")),
            Text(
                "causal mask가 자기 위치까지 가렸습니다. Query i는 Key i를 볼 수 있습니다 (<= 와 <).",
                "The causal mask hides a position from itself. Query i may attend to Key i (<=, not <).",
            ),
            frozenset({"causal", "both"}),
        ),
        Mistake(
            variant(attention_mask, "one_key_too_many", ("keys < lengths", "keys <= lengths")),
            Text(
                "padding Key 하나가 더 열렸습니다. 길이가 n이면 Key는 0 … n−1입니다 (< 와 <=).",
                "One padding Key too many is open. Length n means Keys 0 to n−1 (<, not <=).",
            ),
            frozenset({"padding", "both", "empty"}),
        ),
        Mistake(
            variant(attention_mask, "future_instead_of_past", ("keys <= queries", "keys >= queries")),
            Text(
                "과거 대신 미래를 열었습니다. causal에서는 j <= i인 Key를 봅니다.",
                "The future is open instead of the past. Causal allows the Keys with j <= i.",
            ),
            frozenset({"causal", "both"}),
        ),
        Mistake(
            variant(attention_mask, "aligned_bottom_right", ("np.arange(n_q)", "np.arange(n_q) + n_k - n_q")),
            Text(
                "대각선을 오른쪽 아래에 맞추었습니다. 이 과제는 왼쪽 위(top-left)에 맞춥니다. Query 0은 Key 0만 봅니다.",
                "The diagonal is aligned bottom-right. This task aligns it top-left: Query 0 attends to Key 0 only.",
            ),
            frozenset({"causal", "both"}),
        ),
        Mistake(
            variant(attention_mask, "either_is_enough", ("allowed &", "allowed |")),
            Text(
                "두 mask를 '또는'으로 합쳤습니다. 둘 다 허락해야 볼 수 있습니다 (&).",
                "The masks are joined by 'or'. A Key has to be allowed by both (&).",
            ),
            frozenset({"causal", "both"}),
        ),
        Mistake(
            variant(attention_mask, "causal_alone", ("return allowed &", "return np.ones_like(allowed) &")),
            Text(
                "causal일 때 padding을 잊었습니다.",
                "With causal=True, the padding is forgotten.",
            ),
            frozenset({"both"}),
        ),
        Mistake(
            variant(
                attention_mask,
                "causal_forgotten",
                (
                    "return allowed & (keys <= queries[:, None]) if causal else allowed.copy()",
                    "return allowed.copy()",
                ),
            ),
            Text("causal 인자를 쓰지 않았습니다.", "The argument causal is not used."),
            frozenset({"causal", "both"}),
        ),
        Mistake(
            variant(attention_mask, "queries_padded", ("keys < lengths", "queries[:, None] < lengths")),
            Text(
                "Key가 아니라 Query를 가렸습니다. padding은 Key 축(마지막 축)에서 가립니다.",
                "Queries are hidden instead of Keys. Padding hides along the Key axis, the last one.",
            ),
            everywhere(MASK_PARTS),
        ),
        Mistake(
            variant(
                attention_mask, "first_length_for_all", ("lengths[:, None, None]", "lengths[:1, None, None]")
            ),
            Text(
                "모든 sequence에 첫 길이를 썼습니다. sequence마다 자기 길이가 있습니다.",
                "The first length serves all sequences. Each has its own.",
            ),
            frozenset({"padding", "both", "empty"}),
        ),
        Mistake(
            variant(
                attention_mask,
                "mask_transposed",
                (
                    "return allowed & (keys <= queries[:, None]) if causal else allowed.copy()",
                    "return np.swapaxes(allowed & (keys <= queries[:, None]) if causal else allowed, -1, -2)",
                ),
            ),
            Text(
                "마지막 두 축이 바뀌었습니다. row는 Query, column은 Key입니다: (batch, n_q, n_k).",
                "The last two axes have changed places. Rows are Queries, columns Keys: (batch, n_q, n_k).",
            ),
            everywhere(MASK_PARTS),
        ),
        Mistake(
            variant(
                attention_mask,
                "already_additive",
                (
                    "return allowed & (keys <= queries[:, None]) if causal else allowed.copy()",
                    "return np.where(allowed & (keys <= queries[:, None]) if causal else allowed, 0.0, -np.inf)",
                ),
            ),
            Text(
                "0과 −∞의 실수 mask입니다. 이 과제는 boolean을 요구합니다.",
                "This is the floating mask of 0 and −∞. The task asks for booleans.",
            ),
            everywhere(MASK_PARTS),
        ),
        Mistake(
            variant(
                attention_mask,
                "one_future_key_open",
                ("keys <= queries[:, None]", "keys <= queries[:, None] + 1"),
            ),
            Text(
                "미래의 Key 하나가 더 열렸습니다 (np.tril의 k=1). Query i는 Key i까지만 봅니다: k=0.",
                "One Key of the future is open (k=1 of np.tril). Query i attends up to Key i: k=0.",
            ),
            frozenset({"causal", "both"}),
        ),
        Mistake(
            variant(attention_mask, "always_causal", (" if causal else allowed.copy()", "")),
            Text(
                "causal=False일 때도 미래를 가렸습니다. causal=True일 때만 가립니다.",
                "The future is hidden for causal=False, too. Hide it for causal=True alone.",
            ),
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(attention_mask, "lengths_along_the_keys", ("lengths[:, None, None]", "lengths")),
            Text(
                "lengths가 Key 축에 놓였습니다. (batch,)를 (batch, 1, 1)로 만들어 비교하세요: lengths[:, None, None].",
                "The lengths lie along the Key axis. Make (batch,) into (batch, 1, 1) before you compare: lengths[:, None, None].",
            ),
            everywhere(MASK_PARTS),
        ),
        Mistake(
            query_axis_missing,
            Text(
                "Query 축이 없습니다. shape는 (batch, n_q, n_k)입니다.",
                "The Query axis is missing. The shape is (batch, n_q, n_k).",
            ),
            everywhere(MASK_PARTS),
        ),
        Mistake(
            variant(attention_mask, "empty_sequence_opened", ("lengths[:", "np.maximum(lengths, 1)[:")),
            Text(
                "길이 0인 sequence에서 Key 하나가 열렸습니다. 모두 False여야 합니다.",
                "A sequence of length 0 has a Key open. All of it has to be False.",
            ),
            frozenset({"empty"}),
        ),
        Mistake(
            variant(attention_mask, "future_alone", ("keys <= queries", "keys > queries")),
            Text(
                "미래를 True로 두었습니다. 가릴 자리를 True로 적는 mask도 있지만 (nn.MultiheadAttention), 여기서 True는 '볼 수 있음'입니다: j <= i.",
                "The future is True. There are masks in which True hides (nn.MultiheadAttention); here it means may attend: j <= i.",
            ),
            frozenset({"causal", "both"}),
        ),
        Mistake(
            variant(
                attention_mask,
                "one_row_for_all_queries",
                (
                    "np.broadcast_to(keys < lengths[:, None, None], (len(lengths), n_q, n_k))",
                    "keys < lengths[:, None, None]",
                ),
            ),
            Text(
                "Query 축의 길이가 1입니다. causal이 아닐 때도 (batch, n_q, n_k)여야 합니다: np.broadcast_to나 np.repeat.",
                "The Query axis is 1 long. Without causal, too, the shape is (batch, n_q, n_k): np.broadcast_to or np.repeat.",
            ),
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                attention_mask,
                "queries_of_padding_hidden",
                (
                    "keys < lengths[:, None, None]",
                    "(keys < lengths[:, None, None]) & (queries[:, None] < lengths[:, None, None])",
                ),
            ),
            Text(
                "길이를 넘는 Query까지 가렸습니다. 길이는 Key만 가립니다. padding인 Query의 row도 다른 row와 같습니다.",
                "Queries beyond the length are hidden as well. A length hides Keys alone: the row of a Query that is padding is like any other.",
            ),
            frozenset({"padding", "causal", "both"}),
        ),
        Mistake(
            variant(attention_mask, "padding_inverted", ("keys < lengths", "keys >= lengths")),
            Text(
                "padding을 True로 두었습니다. 길이 안의 Keys가 True입니다: j < lengths[b].",
                "The padding is True here. The Keys within the length are True: j < lengths[b].",
            ),
            everywhere(MASK_PARTS),
        ),
        Mistake(
            variant(
                attention_mask,
                "attention_mask_squeezed",
                (
                    "return allowed & (keys <= queries[:, None]) if causal else allowed.copy()",
                    "return np.squeeze(allowed & (keys <= queries[:, None]) if causal else allowed.copy())",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"padding"}),
        ),
    ),
    right_answers=(mask_by_loops, mask_by_tril, mask_from_lists, mask_in_torch),
)


# --- Task 6: in words -----------------------------------------------------------------------------------------

MASK_IN_WORDS = Written(
    name="mask_in_words",
    points=4,
    see="computation.html#masks",
    model_answer=Text(
        "가능하다. 그 Key의 logit이 −∞가 되면 exp(−∞) = 0이므로 weight가 0이고, 그 Value는 가중합에 더해지지 않는다. "
        "Score가 아무리 커도 순서는 mask 다음에 Softmax이기 때문이다. column은 그대로 남아 A는 여전히 (n_q, n_k)이고, "
        "남은 Keys가 합 1을 나누어 갖는다. Softmax를 Query 축으로 계산하면 한 Query의 비중이 1이 되지 않고, "
        "다른 Query의 score가 이 Query의 읽기를 바꾼다.",
        "Yes. Once that Key's logit is −∞, exp(−∞) = 0 makes its weight 0, and its Value adds nothing to the sum, "
        "however large the score was, because Softmax comes after the mask. The column stays, so A is still "
        "(n_q, n_k), and the other Keys share a sum of 1. With Softmax over the Queries, one Query's weights would "
        "not sum to 1, and another Query's scores would change what this one reads.",
    ),
    rubric=Text(
        "1점: −∞ → exp → weight 0의 연결. 1점: 그 Value가 더해지지 않음. 1점: shape (n_q, n_k) 유지와 나머지 합 1. "
        "1점: Query 축 Softmax가 왜 틀리는지 (row의 합, 다른 Query의 영향 중 하나).",
        "1 point: −∞ → exp → weight 0. 1 point: that Value adds nothing. 1 point: the shape (n_q, n_k) stays and the "
        "rest sums to 1. 1 point: why Softmax over the Queries is wrong (a row's sum, or another Query's influence).",
    ),
)

BANK = Bank("ps1", (SCORES, SCALE_AND_MASK, SOFTMAX, ATTENTION, ATTENTION_MASK), (MASK_IN_WORDS,))
