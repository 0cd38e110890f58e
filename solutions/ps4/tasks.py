"""Problem set 4, Torch: the bank of its tasks."""

import numpy as np
import torch
from torch import nn

from course_lib.checks import Text, Way
from course_lib.grading.bank import Bank, Mistake, Part, Task, everywhere, variant
from course_lib.grading.draws import extreme_qkv, random_mask, random_qkv, scaled_qkv
from course_lib.grading.hints import (
    DIM_LOST,
    DIVIDED_BY_D_K,
    DIVIDED_BY_SCALE,
    EXPONENTIAL_OVERFLOWS_IN_TORCH,
    FIRST_BATCH_FOR_ALL,
    FIRST_K_FOR_ALL,
    MASK_ADDED,
    MASK_INVERTED,
    MASK_MULTIPLIED_IN_TORCH,
    MASK_NOT_USED,
    MASK_REQUIRED,
    MASKED_AFTER_SOFTMAX,
    MASKED_BEFORE_SCALING,
    MEAN_SUBTRACTED,
    NOT_SCALED,
    SCALE_NOT_USED,
    SCALED_BY_D_V,
    SCALED_TWICE,
    SHARED_AGAIN,
    SOFTMAX_OVER_QUERIES_IN_TORCH,
    TRUTH_OF_AN_ARRAY,
    TWO_AXES_EXPECTED,
    ZERO_SCALE_TAKEN_FOR_NONE,
)

# What would give the answer away; the tasks ask for more than it gives.
FUSED = (
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention",
)


# --- Task 1: attention ----------------------------------------------------------------------------------------


def attention(q, k, v, mask=None, scale=None):
    """q (..., n_q, d_k), k (..., n_k, d_k), v (..., n_k, d_v) -> output (..., n_q, d_v), weights (..., n_q, n_k)"""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if mask is None:
        weights = (q @ k.mT * scale).softmax(dim=-1)
        return weights @ v, weights
    read = mask.any(dim=-2).unsqueeze(-1)
    k, v = torch.where(read, k, 0.0), torch.where(read, v, 0.0)
    alive = mask.any(dim=-1, keepdim=True)
    logits = (q @ k.mT * scale).masked_fill(~mask & alive, -torch.inf)
    weights = torch.where(alive, logits.softmax(dim=-1), 0.0)
    return weights @ v, weights


def draw_plain(rng):
    return [random_qkv(rng)]


def draw_batches(rng):
    return [
        {"q": rng.normal(size=(2, 5, 3)), "k": rng.normal(size=(2, 7, 3)), "v": rng.normal(size=(2, 7, 11))},
        {
            "q": rng.normal(size=(3, 1, 5, 11)),
            "k": rng.normal(size=(3, 1, 7, 11)),
            "v": rng.normal(size=(3, 1, 7, 2)),
        },
    ]


def draw_masked(rng):
    batch = {
        "q": rng.normal(size=(2, 5, 3)),
        "k": rng.normal(size=(2, 7, 3)),
        "v": rng.normal(size=(2, 7, 11)),
    }
    return [
        {**random_qkv(rng), "mask": random_mask(rng, 5, 7)},
        {**batch, "mask": np.stack([random_mask(rng, 5, 7) for _ in range(2)])},
        {**batch, "mask": random_mask(rng, 5, 7)},
    ]


def draw_dead_query(rng):
    # One Key is read by nobody, so that a dead Query which reads all shows whether it reads that one.
    inputs, mask = random_qkv(rng), random_mask(rng, 5, 7)
    hidden, dead = rng.integers(7), rng.integers(5)
    mask[:, hidden] = False
    mask[~mask.any(axis=1), (hidden + 1) % 7] = True
    mask[dead] = False
    return [{**inputs, "mask": mask}]


def draw_unread_keys(rng):
    # What no Query may attend to holds NaN: a padded row, say, that was never computed.
    inputs, mask = random_qkv(rng), random_mask(rng, 5, 7)
    hidden = rng.permutation(7)[:2]
    mask[:, hidden] = False
    mask[~mask.any(axis=1), np.setdiff1d(np.arange(7), hidden)[rng.integers(5)]] = True
    inputs["k"][hidden], inputs["v"][hidden] = np.nan, np.nan
    # What is read shows: here every Query reads a NaN.
    read = random_qkv(rng)
    read["v"][rng.integers(7), rng.integers(2)] = np.nan
    return [{**inputs, "mask": mask}, read]


ATTENTION_PARTS = (
    Part("plain", 1, Text("mask 없이", "no mask"), draw_plain),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_batches),
    Part("masked", 1, Text("mask", "a mask"), draw_masked),
    Part("dead", 2, Text("볼 Key가 없는 Query", "a Query that may attend to no Key"), draw_dead_query),
    Part("unread", 2, Text("아무도 보지 않는 자리의 NaN", "NaN where nobody may look"), draw_unread_keys),
    Part("extremes", 1, Text("아주 크거나 작은 scores", "very large and very small scores"), extreme_qkv),
    Part("scale", 1, Text("주어진 scale", "a given scale"), scaled_qkv),
)
WITH_MASK = everywhere(ATTENTION_PARTS) - {"plain", "batches"}

softmax_over_queries = variant(
    attention,
    "softmax_over_queries",
    ("(q @ k.mT * scale).softmax(dim=-1)", "(q @ k.mT * scale).softmax(dim=-2)"),
    ("logits.softmax(dim=-1)", "logits.softmax(dim=-2)"),
)
finite_fill = variant(
    attention,
    "finite_fill",
    ("~mask & alive, -torch.inf", "~mask, -1e9"),
    ("torch.where(alive, logits.softmax(dim=-1), 0.0)", "logits.softmax(dim=-1)"),
)
finite_fill_plainly = variant(
    attention,
    "finite_fill_plainly",
    ("    k, v = torch.where(read, k, 0.0), torch.where(read, v, 0.0)\n", ""),
    ("~mask & alive, -torch.inf", "~mask, -1e9"),
    ("torch.where(alive, logits.softmax(dim=-1), 0.0)", "logits.softmax(dim=-1)"),
)
finite_fill_mended = variant(attention, "finite_fill_mended", ("~mask & alive, -torch.inf", "~mask, -1e9"))
exponential_overflows = variant(
    attention,
    "exponential_overflows",
    (
        "(q @ k.mT * scale).softmax(dim=-1)",
        "(q @ k.mT * scale).exp() / (q @ k.mT * scale).exp().sum(dim=-1, keepdim=True)",
    ),
    ("logits.softmax(dim=-1)", "logits.exp() / logits.exp().sum(dim=-1, keepdim=True)"),
)


def mask_multiplied(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = q @ k.mT * scale
    weights = (logits if mask is None else logits * mask).softmax(dim=-1)
    return weights @ v, weights


def mask_added(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = q @ k.mT * scale
    weights = (logits if mask is None else logits + mask).softmax(dim=-1)
    return weights @ v, weights


def infinity_added_plainly(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = q @ k.mT * scale
    if mask is not None:
        logits = logits + torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(
            ~mask, -torch.inf
        )
    weights = logits.softmax(dim=-1)
    return weights @ v, weights


def nan_replaced_plainly(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = q @ k.mT * scale
    if mask is not None:
        logits = logits + torch.zeros_like(logits).masked_fill(~mask, -torch.inf)
    weights = logits.softmax(dim=-1).nan_to_num(0.0)
    return weights @ v, weights


def least_number_added(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = q @ k.mT * scale
    if mask is not None:
        logits = logits + torch.zeros_like(logits).masked_fill(~mask, torch.finfo(torch.float32).min)
    weights = logits.softmax(dim=-1)
    return weights @ v, weights


def bias_of_two_axes(q, k, v, mask=None, scale=None):
    # As in the documentation of scaled_dot_product_attention.
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    bias = torch.zeros(q.shape[-2], k.shape[-2], dtype=q.dtype)
    if mask is not None:
        bias.masked_fill_(mask.logical_not(), -torch.inf)
    weights = (q @ k.mT * scale + bias).softmax(dim=-1)
    return weights @ v, weights


def exponentials_with_guards(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    allowed = (
        torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device) if mask is None else mask
    )
    read = allowed.any(dim=-2).unsqueeze(-1)
    k, v = torch.where(read, k, 0.0), torch.where(read, v, 0.0)
    exponentials = (q @ k.mT * scale).exp() * allowed
    total = exponentials.sum(dim=-1, keepdim=True)
    weights = exponentials / torch.where(total == 0, 1.0, total)
    return weights @ v, weights


def every_nan_hidden(q, k, v, mask=None, scale=None):
    return attention(q, k.nan_to_num(), v.nan_to_num(), mask, scale)


def weights_masked_afterwards(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    weights = (q @ k.mT * scale).softmax(dim=-1)
    weights = weights if mask is None else weights * mask
    return weights @ v, weights


def half_precision(q, k, v, mask=None, scale=None):
    return attention(q.half(), k.half(), v.half(), mask, scale)


def nan_replaced_afterwards(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = q @ k.mT * scale
    if mask is not None:
        read = mask.any(dim=-2).unsqueeze(-1)
        k, v = torch.where(read, k, 0.0), torch.where(read, v, 0.0)
        logits = q @ k.mT * scale + torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(
            ~mask, -torch.inf
        )
    weights = logits.softmax(dim=-1).nan_to_num(0.0)
    return weights @ v, weights


def attention_filled_and_mended(q, k, v, mask=None, scale=None):
    # Backward of masked_fill puts 0 in the masked places, whatever comes from Softmax: mended afterwards is right here.
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if mask is not None:
        read = mask.any(dim=-2).unsqueeze(-1)
        k, v = torch.where(read, k, 0.0), torch.where(read, v, 0.0)
    logits = q @ k.mT * scale
    if mask is not None:
        logits = logits.masked_fill(~mask, -torch.inf)
    weights = logits.softmax(dim=-1).nan_to_num(0.0)
    return weights @ v, weights


def attention_by_rows(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if q.ndim > 2:
        masks = [None] * len(q) if mask is None else mask if mask.ndim == q.ndim else [mask] * len(q)
        pairs = [attention_by_rows(*entry, scale) for entry in zip(q, k, v, masks, strict=True)]
        return torch.stack([output for output, _ in pairs]), torch.stack([weights for _, weights in pairs])
    outputs, rows = [], []
    for i in range(q.shape[0]):
        keys = torch.arange(len(k), device=q.device) if mask is None else mask[i].nonzero()[:, 0]
        row = torch.zeros(len(k), dtype=q.dtype, device=q.device)
        if len(keys):
            row = row.index_add(0, keys, torch.softmax(k[keys] @ q[i] * scale, dim=0))
        rows.append(row)
        outputs.append(row[keys] @ v[keys])
    return torch.stack(outputs), torch.stack(rows)


def attention_by_einsum(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    allowed = (
        torch.ones(*q.shape[:-1], k.shape[-2], dtype=torch.bool, device=q.device)
        if mask is None
        else mask.expand(*q.shape[:-1], -1)
    )
    hidden = ~allowed.any(dim=-2)[..., None]
    k, v = k.masked_fill(hidden, 0), v.masked_fill(hidden, 0)
    logits = torch.einsum("...id,...jd->...ij", q, k) * scale
    highest = logits.masked_fill(~allowed, -torch.inf).amax(dim=-1, keepdim=True).nan_to_num(neginf=0.0)
    exponentials = torch.where(allowed, torch.where(allowed, logits - highest, 0.0).exp(), 0.0)
    total = exponentials.sum(dim=-1, keepdim=True)
    weights = exponentials / torch.where(total > 0, total, 1.0)
    return torch.einsum("...ij,...jd->...id", weights, v), weights


def attention_with_an_additive_mask(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if mask is None:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device)
    dead = ~mask.any(dim=-1, keepdim=True)
    additive = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(~(mask | dead), -torch.inf)
    seen = mask.any(dim=-2)[..., None]
    k, v = k.clone().masked_fill(~seen, 0.0), v.clone().masked_fill(~seen, 0.0)
    weights = torch.softmax(torch.matmul(q * scale, k.transpose(-1, -2)) + additive, -1)
    weights = weights.masked_fill(dead, 0.0)
    return torch.matmul(weights, v), weights


def exponentials_by_hand(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    exponentials = (q @ k.mT * scale).exp()
    if mask is not None:
        exponentials = exponentials * mask
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return weights @ v, weights


masked_fill_alone = variant(
    attention,
    "masked_fill_alone",
    ("~mask & alive", "~mask"),
    ("torch.where(alive, logits.softmax(dim=-1), 0.0)", "logits.softmax(dim=-1)"),
)


class SoftmaxOverKeys:
    def __init__(self, mask):
        self.mask = mask

    def __call__(self, logits):
        if self.mask is None:
            return torch.softmax(logits, dim=-1)
        safe = torch.where(self.mask, logits, torch.finfo(logits.dtype).min)
        return torch.softmax(safe, dim=-1) * self.mask


def attention_as_a_class(q, k, v, mask=None, scale=None):
    if mask is not None:
        padding = ~mask.any(dim=-2, keepdim=True).mT
        k, v = (x.masked_fill(padding, 0.0) for x in (k, v))
    scores = q.matmul(k.mT)
    weights = SoftmaxOverKeys(mask)(scores / k.shape[-1] ** 0.5 if scale is None else scores * scale)
    return weights.matmul(v), weights


FINITE_FILL = Text(
    "−1e9 같은 유한한 수로 채우면 그보다 작은 score와 모두 가려진 row에서 가려진 Value를 읽습니다. -torch.inf를 쓰세요.",
    "Filling with a finite number, −1e9 say, reads masked Values where scores are smaller or a row is masked "
    "throughout. Write -torch.inf.",
)
DEAD_QUERY_UNDEFINED = Text(
    "볼 Key가 없는 Query에서 Softmax가 NaN입니다. 그 weights와 output은 0입니다.",
    "For a Query that may attend to no Key, Softmax is NaN. Its weights and output are 0.",
)
DEAD_QUERY_OPENED = Text(
    "볼 Key가 없는 Query에게 모든 Keys를 열어 주었습니다. 아무것도 읽지 않으므로 결과는 0입니다.",
    "A Query that may attend to no Key was given all of them. It reads nothing: its result is 0.",
)
MASKED_PLAINLY = Text(
    "가린 자리를 −∞로 두고 Softmax만 하면 두 경우에 NaN이 됩니다. 볼 Key가 없는 Query: 그 row의 logits를 −∞로 두지 말고, Softmax 뒤에 "
    "weights를 0으로 고르세요. 아무도 보지 않는 Key: 0 × NaN은 NaN이니 K와 V의 그 rows를 먼저 0으로 고르세요.",
    "Putting −∞ into masked places and taking Softmax gives NaN in two cases. A Query that may attend to no Key: leave its "
    "logits finite, and select 0 for its weights after Softmax. A Key that nobody may see: 0 × NaN is NaN, so select 0 for "
    "its rows of K and V first.",
)
ONE_BATCH_AXIS_OF_KEYS = Text(
    "k.transpose(1, 2)는 batch 축이 꼭 하나일 때만 맞습니다. 뒤에서 세세요: k.transpose(-2, -1), 곧 k.mT.",
    "k.transpose(1, 2) is right for just one batch axis. Count from the end: k.transpose(-2, -1), or k.mT.",
)


TENSOR_OVERWRITTEN = Text(
    "입력 q를 제자리에서 바꾸려 했습니다 (*=). gradient를 구할 tensor는 제자리에서 바꿀 수 없습니다. 새 tensor에 계산하세요.",
    "The input q would be changed in place (*=). A tensor whose gradient is asked for can't be: compute a new one.",
)
HALF_PRECISION_IN_TORCH = Text(
    "float16으로 계산했습니다 (half). 자릿수가 모자라고 65504를 넘으면 inf가 됩니다. 입력의 dtype을 유지하세요.",
    "This is computed in float16 (half), which has too few digits and turns into inf above 65504. Keep the dtype "
    "of the inputs.",
)


MASK_INVERTED_IN_TORCH = Text(
    "mask를 반대로 읽었습니다. 여기서 True는 '볼 수 있음'입니다 (nn.MultiheadAttention의 boolean mask와 반대).",
    "The mask is inverted. True means may attend here, the opposite of nn.MultiheadAttention's boolean mask.",
)


UNREAD_ROWS_POISON = Text(
    "아무도 보지 않는 row의 NaN이 output에 번졌습니다. 0 × NaN은 NaN이고, mask를 곱해도 그렇습니다. K와 V의 그런 rows를 먼저 torch.where로 0으로 고르세요.",
    "NaN in a row that nobody may see spread into the output: 0 × NaN is NaN, in a product with the mask as "
    "well. Select 0 for such rows of K and V first, with torch.where.",
)


AXES_DROPPED_IN_TORCH = Text(
    "크기 1인 축이 사라졌습니다 (squeeze). batch 축은 크기가 1이어도 그대로 둡니다.",
    "Axes of length 1 are gone (squeeze). A batch axis stays, even where it is 1 long.",
)
ONE_MAXIMUM_FOR_ALL_IN_TORCH = Text(
    "최댓값 하나를 모든 row에서 뺐습니다. 그보다 훨씬 작은 row에서는 exp가 모두 0이 되어 0 / 0이 남습니다. torch.softmax는 row마다 자기 최댓값을 뺍니다.",
    "One maximum is subtracted from all rows. In a row far below it, every exp vanishes, and 0 / 0 is left. "
    "torch.softmax subtracts each row's own.",
)
ALL_AXES_REVERSED_IN_TORCH = Text(
    ".T는 batch 축까지 뒤집습니다. 마지막 두 축만 바꾸세요: k.mT.",
    ".T reverses the batch axes as well. Exchange the last two only: k.mT.",
)


def infinity_multiplied(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    logits = q @ k.mT * scale
    if mask is not None:
        logits = logits + (1 - mask.to(q.dtype)) * -torch.inf
    weights = logits.softmax(dim=-1)
    return weights @ v, weights


def shared_again(q, k, v, mask=None, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    weights = (q @ k.mT * scale).softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ v, weights


ATTENTION = Task(
    name="attention",
    reference=attention,
    parts=ATTENTION_PARTS,
    see="computation.html#computation-policy",
    way=Way(torch=True, results=2, gradients=("q", "k", "v")),
    forbidden=FUSED,
    mistakes=(
        Mistake(
            softmax_over_queries,
            SOFTMAX_OVER_QUERIES_IN_TORCH,
            everywhere(ATTENTION_PARTS),
        ),
        Mistake(
            variant(
                attention,
                "keys_reshaped",
                (
                    "    if mask is None:",
                    "    turned = (*k.shape[:-2], k.shape[-1], k.shape[-2])\n    if mask is None:",
                ),
                ("(q @ k.mT * scale).softmax", "(q @ k.reshape(turned) * scale).softmax"),
                ("(q @ k.mT * scale).masked_fill", "(q @ k.reshape(turned) * scale).masked_fill"),
            ),
            Text(
                "k를 view나 reshape로 (d_k, n_k)로 만들었습니다. shape는 같아도 수가 다른 자리에 놓입니다. 축을 바꾸는 것은 transpose입니다: k.mT.",
                "k is made (d_k, n_k) by view or reshape. The shape fits, and the numbers lie elsewhere: axes are exchanged by a "
                "transpose, k.mT.",
            ),
            everywhere(ATTENTION_PARTS),
        ),
        Mistake(
            variant(
                attention,
                "one_batch_axis_expected",
                ("(q @ k.mT * scale).softmax", "(q @ k.transpose(1, 2) * scale).softmax"),
                ("(q @ k.mT * scale).masked_fill", "(q @ k.transpose(1, 2) * scale).masked_fill"),
            ),
            ONE_BATCH_AXIS_OF_KEYS,
            everywhere(ATTENTION_PARTS),
        ),
        Mistake(
            variant(attention, "not_scaled", ("q.shape[-1] ** -0.5", "1.0")),
            NOT_SCALED,
            everywhere(ATTENTION_PARTS) - {"extremes", "scale"},
        ),
        Mistake(
            variant(
                attention,
                "second_axis",
                ("(q @ k.mT * scale).softmax(dim=-1)", "(q @ k.mT * scale).softmax(dim=1)"),
                ("logits.softmax(dim=-1)", "logits.softmax(dim=1)"),
            ),
            Text(
                "dim=1은 행렬 하나일 때만 Key 축입니다. batch가 있으면 dim=-1을 쓰세요.",
                "dim=1 is the Key axis of a single matrix only. With batch axes it is dim=-1.",
            ),
            frozenset({"batches", "masked"}),
        ),
        Mistake(
            variant(attention, "divided_by_d_k", ("** -0.5", "** -1.0")),
            DIVIDED_BY_D_K,
            everywhere(ATTENTION_PARTS) - {"extremes", "scale"},
        ),
        Mistake(
            variant(attention, "scaled_by_d_v", ("q.shape[-1] **", "v.shape[-1] **")),
            SCALED_BY_D_V,
            everywhere(ATTENTION_PARTS) - {"extremes", "scale"},
        ),
        Mistake(
            variant(attention, "scale_not_used", (" if scale is None else scale", "")),
            SCALE_NOT_USED,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                attention,
                "zero_scale_taken_for_none",
                ("q.shape[-1] ** -0.5 if scale is None else scale", "scale or q.shape[-1] ** -0.5"),
            ),
            ZERO_SCALE_TAKEN_FOR_NONE,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(attention, "mask_inverted", ("    read = mask", "    mask = ~mask\n    read = mask")),
            MASK_INVERTED_IN_TORCH,
            WITH_MASK,
        ),
        Mistake(
            variant(attention, "filled_where_visible", ("~mask & alive", "mask & alive")),
            MASK_INVERTED_IN_TORCH,
            WITH_MASK,
        ),
        Mistake(
            variant(attention, "mask_not_used", ("    if mask is None:", "    if True:")),
            MASK_NOT_USED,
            WITH_MASK,
        ),
        Mistake(
            mask_multiplied,
            MASK_MULTIPLIED_IN_TORCH,
            WITH_MASK,
        ),
        Mistake(mask_added, MASK_ADDED, WITH_MASK),
        Mistake(
            variant(attention, "first_axis_for_queries", ("mask.any(dim=-2)", "mask.any(dim=0)")),
            Text(
                "mask.any(dim=0)은 (n_q, n_k)에서만 Query 축을 봅니다. batch가 있으면 dim=-2입니다.",
                "mask.any(dim=0) goes over the Queries of (n_q, n_k) only. With batch axes they are dim=-2.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(
                attention,
                "masked_before_scaling",
                (
                    "(q @ k.mT * scale).masked_fill(~mask & alive, -torch.inf)",
                    "(q @ k.mT).masked_fill(~mask & alive, -torch.inf) * scale",
                ),
            ),
            MASKED_BEFORE_SCALING,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                attention,
                "first_batch_for_all",
                (
                    "    if mask is None:",
                    "    k, v = k.reshape(-1, *k.shape[-2:])[0], v.reshape(-1, *v.shape[-2:])[0]\n    if mask is None:",
                ),
            ),
            FIRST_BATCH_FOR_ALL,
            frozenset({"batches", "masked"}),
        ),
        Mistake(
            variant(
                attention,
                "queries_overwritten",
                ("    if mask is None:", "    q *= scale\n    if mask is None:"),
                ("(q @ k.mT * scale).softmax", "(q @ k.mT).softmax"),
                ("(q @ k.mT * scale).masked_fill", "(q @ k.mT).masked_fill"),
            ),
            TENSOR_OVERWRITTEN,
            everywhere(ATTENTION_PARTS),
        ),
        Mistake(
            half_precision,
            HALF_PRECISION_IN_TORCH,
            everywhere(ATTENTION_PARTS),
        ),
        Mistake(finite_fill, FINITE_FILL, frozenset({"dead", "extremes"})),
        Mistake(finite_fill_mended, FINITE_FILL, frozenset({"extremes"})),
        Mistake(
            variant(
                attention,
                "finite_fill_masked_afterwards",
                ("~mask & alive, -torch.inf", "~mask, -1e9"),
                ("torch.where(alive, ", "torch.where(mask, "),
            ),
            FINITE_FILL,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                attention,
                "dead_query_opened",
                ("    read = mask", "    mask = mask | ~mask.any(dim=-1, keepdim=True)\n    read = mask"),
            ),
            DEAD_QUERY_OPENED,
            frozenset({"dead"}),
        ),
        Mistake(
            every_nan_hidden,
            Text(
                "모든 NaN을 0으로 바꾸었습니다 (nan_to_num). 아무도 보지 않는 Key의 NaN만 사라져야 합니다. 읽은 NaN을 감추면 앞의 잘못도 감추어집니다.",
                "Every NaN is replaced by 0 (nan_to_num). Only that of Keys that nobody may see has to go: hiding NaN that is read "
                "hides whatever went wrong before.",
            ),
            frozenset({"unread"}),
        ),
        Mistake(
            weights_masked_afterwards,
            MASKED_AFTER_SOFTMAX,
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention,
                "dead_query_undefined",
                ("~mask & alive", "~mask"),
                ("torch.where(alive, logits.softmax(dim=-1), 0.0)", "logits.softmax(dim=-1)"),
            ),
            DEAD_QUERY_UNDEFINED,
            frozenset({"dead"}),
        ),
        Mistake(
            variant(
                attention,
                "dead_query_undefined_by_adding",
                (
                    "(q @ k.mT * scale).masked_fill(~mask & alive, -torch.inf)",
                    "q @ k.mT * scale + torch.where(mask, 0.0, -torch.inf)",
                ),
                ("torch.where(alive, logits.softmax(dim=-1), 0.0)", "logits.softmax(dim=-1)"),
            ),
            DEAD_QUERY_UNDEFINED,
            frozenset({"dead"}),
        ),
        Mistake(
            nan_replaced_afterwards,
            Text(
                "값은 맞지만 gradient가 NaN입니다. 나중에 nan_to_num이나 where로 고쳐도 backward는 NaN인 Softmax를 지나 q와 k에 닿습니다. "
                "그 row에는 처음부터 유한한 logits를 주고, weights를 0으로 고르세요.",
                "The values are right, the gradient is NaN. Mending with nan_to_num or where afterwards, backward still "
                "passes the Softmax that is NaN. Give that row finite logits from the start, and select 0 for its weights.",
            ),
            frozenset({"dead"}),
        ),
        Mistake(
            variant(
                attention,
                "unread_rows_poison",
                ("    k, v = torch.where(read, k, 0.0), torch.where(read, v, 0.0)\n", ""),
            ),
            UNREAD_ROWS_POISON,
            frozenset({"unread"}),
        ),
        Mistake(
            variant(
                attention,
                "keys_poison_the_gradient",
                (
                    "k, v = torch.where(read, k, 0.0), torch.where(read, v, 0.0)",
                    "v = torch.where(read, v, 0.0)",
                ),
            ),
            Text(
                "output은 맞지만 q의 gradient가 NaN입니다. 가려진 logit의 gradient 0에 K의 NaN이 곱해집니다. V처럼 K도 고르세요.",
                "The output is right, but the gradient of q is NaN: a masked logit's gradient of 0 is multiplied by the NaN "
                "in K. Select K as you do V.",
            ),
            frozenset({"unread"}),
        ),
        Mistake(
            exponential_overflows,
            EXPONENTIAL_OVERFLOWS_IN_TORCH,
            frozenset({"extremes"}),
        ),
        Mistake(exponentials_with_guards, EXPONENTIAL_OVERFLOWS_IN_TORCH, frozenset({"extremes"})),
        Mistake(
            variant(
                attention,
                "weights_returned_detached",
                ("        return weights @ v, weights", "        return weights @ v, weights.detach()"),
                ("0.0)\n    return weights @ v, weights", "0.0)\n    return weights @ v, weights.detach()"),
            ),
            Text(
                "돌려준 weights가 detach되어 있습니다. weights의 gradient도 q와 k에 닿아야 하므로 그대로 돌려주세요.",
                "The weights that come back are detached. Their gradient, too, has to reach q and k: return them as they are.",
            ),
            everywhere(ATTENTION_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(
                attention,
                "weights_detached",
                (
                    "weights = (q @ k.mT * scale).softmax(dim=-1)",
                    "weights = (q @ k.mT * scale).softmax(dim=-1)\n        return weights.detach() @ v, weights",
                ),
                (
                    "logits.softmax(dim=-1), 0.0)",
                    "logits.softmax(dim=-1), 0.0)\n    return weights.detach() @ v, weights",
                ),
            ),
            Text(
                "detach한 weights로 output을 구해 output의 gradient가 q와 k에 닿지 않습니다.",
                "The output is made of detached weights, so its gradient doesn't reach q and k.",
            ),
            everywhere(ATTENTION_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(
                attention,
                "output_transposed",
                ("        return weights @ v, weights", "        return (weights @ v).mT, weights"),
                ("0.0)\n    return weights @ v, weights", "0.0)\n    return (weights @ v).mT, weights"),
            ),
            Text(
                "output이 뒤집혔습니다. Query마다 한 row, shape는 (..., n_q, d_v)입니다.",
                "The output is transposed. One row a Query: (..., n_q, d_v).",
            ),
            everywhere(ATTENTION_PARTS),
        ),
        Mistake(
            variant(
                attention,
                "weights_first",
                ("        return weights @ v, weights", "        return weights, weights @ v"),
                ("0.0)\n    return weights @ v, weights", "0.0)\n    return weights, weights @ v"),
            ),
            Text(
                "두 결과의 순서가 바뀌었습니다. output이 먼저, weights가 다음입니다.",
                "The two results have changed places. The output comes first, then the weights.",
            ),
            everywhere(ATTENTION_PARTS),
        ),
        Mistake(
            variant(
                attention,
                "mask_required",
                (
                    "    if mask is None:\n        weights = (q @ k.mT * scale).softmax(dim=-1)\n        return weights @ v, weights\n",
                    "",
                ),
            ),
            MASK_REQUIRED,
            everywhere(ATTENTION_PARTS) - {"masked", "dead"},
        ),
        Mistake(
            variant(attention, "axis_lost", ("mask.any(dim=-1, keepdim=True)", "mask.any(dim=-1)")),
            DIM_LOST,
            WITH_MASK,
        ),
        Mistake(
            variant(attention, "truth_of_the_mask", ("if mask is None", "if not mask")),
            TRUTH_OF_AN_ARRAY,
            WITH_MASK,
        ),
        Mistake(
            variant(
                attention,
                "masked_plainly",
                ("    k, v = torch.where(read, k, 0.0), torch.where(read, v, 0.0)\n", ""),
                ("~mask & alive", "~mask"),
                ("torch.where(alive, logits.softmax(dim=-1), 0.0)", "logits.softmax(dim=-1)"),
            ),
            MASKED_PLAINLY,
            frozenset({"dead", "unread"}),
        ),
        Mistake(infinity_added_plainly, MASKED_PLAINLY, frozenset({"dead", "unread"})),
        Mistake(nan_replaced_plainly, MASKED_PLAINLY, frozenset({"dead", "unread"})),
        Mistake(least_number_added, FINITE_FILL, frozenset({"dead", "unread"})),
        Mistake(
            variant(
                attention,
                "mask_as_an_index",
                (
                    "    logits = (q @ k.mT * scale).masked_fill(~mask & alive, -torch.inf)",
                    "    logits = q @ k.mT * scale\n    logits[~mask & alive] = -torch.inf",
                ),
            ),
            Text(
                "logits[~mask] = …는 mask와 logits의 shape가 꼭 같을 때만 됩니다. (n_q, n_k)인 mask가 batch와 함께 올 수 있으니 masked_fill이나 "
                "torch.where를 쓰세요.",
                "logits[~mask] = … needs a mask of just the shape of the logits. One of (n_q, n_k) may come with a batch: use masked_fill "
                "or torch.where.",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            bias_of_two_axes,
            Text(
                "bias가 (n_q, n_k)라 batch마다 다른 mask를 담지 못합니다. logits에 바로 masked_fill을 쓰세요. PyTorch 문서의 이 코드는 볼 Key가 "
                "없는 Query와 아무도 보지 않는 NaN에서도 NaN이 됩니다.",
                "The bias is (n_q, n_k) and can't hold a mask for each batch entry: use masked_fill on the logits. This code of "
                "PyTorch's documentation gives NaN as well, for a Query without a Key and where NaN is that nobody may see.",
            ),
            frozenset({"masked", "dead", "unread"}),
        ),
        Mistake(
            finite_fill_plainly,
            Text(
                "−1e9 같은 유한한 수로 채우면 그보다 작은 score와 모두 가려진 row에서 가려진 Value를 읽습니다. -torch.inf를 쓰세요. 아무도 보지 않는 K와 V의 "
                "rows는 먼저 0으로 고르세요. 0 × NaN은 NaN입니다.",
                "Filling with a finite number, −1e9 say, reads masked Values where scores are smaller or a "
                "row is masked throughout: write -torch.inf. "
                "And select 0 for rows of K and V that nobody may see: 0 × NaN is NaN.",
            ),
            frozenset({"dead", "unread", "extremes"}),
        ),
        Mistake(
            exponentials_by_hand,
            Text(
                "exp를 직접 계산하고 mask를 곱했습니다. 큰 score에서 넘치고, 볼 Key가 없는 row는 0/0이며, NaN은 0을 곱해도 NaN입니다. "
                "가려진 logit을 −∞로 두고 torch.softmax를 쓰세요.",
                "The exponentials are taken by hand and multiplied by the mask. They overflow, a row without a Key is 0/0, and NaN "
                "times 0 is NaN. Put −∞ into masked logits and use torch.softmax.",
            ),
            frozenset({"dead", "unread", "extremes"}),
        ),
        Mistake(
            variant(
                attention,
                "scaled_twice",
                (
                    "q.shape[-1] ** -0.5 if scale is None else scale",
                    "q.shape[-1] ** -0.5 * (1.0 if scale is None else scale)",
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
                    "q.shape[-1] ** -0.5 if scale is None else scale",
                    "q.shape[-1] ** 0.5 if scale is None else scale",
                ),
                ("(q @ k.mT * scale).softmax", "(q @ k.mT / scale).softmax"),
                ("(q @ k.mT * scale).masked_fill", "(q @ k.mT / scale).masked_fill"),
            ),
            DIVIDED_BY_SCALE,
            frozenset({"scale"}),
        ),
        Mistake(
            variant(
                attention,
                "keys_transposed_whole",
                ("(q @ k.mT * scale).softmax", "(q @ k.T * scale).softmax"),
                ("(q @ k.mT * scale).masked_fill", "(q @ k.T * scale).masked_fill"),
            ),
            ALL_AXES_REVERSED_IN_TORCH,
            frozenset({"batches", "masked"}),
        ),
        Mistake(
            variant(
                attention,
                "unread_rows_poison_by_selecting",
                ("    k, v = torch.where(read, k, 0.0), torch.where(read, v, 0.0)\n", ""),
                ("torch.where(alive, log", "torch.where(mask, log"),
            ),
            UNREAD_ROWS_POISON,
            frozenset({"unread"}),
        ),
        Mistake(
            variant(
                attention,
                "dead_query_left_open",
                ("torch.where(alive, logits.softmax(dim=-1), 0.0)", "logits.softmax(dim=-1)"),
            ),
            DEAD_QUERY_OPENED,
            frozenset({"dead"}),
        ),
        Mistake(
            infinity_multiplied,
            Text(
                "(1 - mask)에 −∞를 곱했습니다. 0 × (−∞)는 NaN이라, 볼 수 있는 자리까지 NaN이 됩니다. masked_fill이나 torch.where로 고르세요.",
                "(1 - mask) is multiplied by −∞. 0 × (−∞) is NaN, at the places that are allowed, too. "
                "Select with masked_fill or torch.where.",
            ),
            frozenset({"masked", "dead", "unread", "extremes", "scale"}),
        ),
        Mistake(shared_again, SHARED_AGAIN, frozenset({"dead", "unread", "extremes"})),
        Mistake(
            variant(
                exponential_overflows,
                "exponential_overflows_unselected",
                ("torch.where(alive, ", "torch.where(mask, "),
            ),
            EXPONENTIAL_OVERFLOWS_IN_TORCH,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                attention,
                "dead_weights_left",
                (
                    "weights = torch.where(alive, logits.softmax(dim=-1), 0.0)\n    return weights @ v, weights",
                    "weights = logits.softmax(dim=-1)\n    return torch.where(alive, weights @ v, 0.0), weights",
                ),
            ),
            Text(
                "볼 Key가 없는 Query의 output만 0으로 두었습니다. 그 weights도 0입니다.",
                "Only the output of a Query that may attend to no Key is made 0. Its weights are 0, too.",
            ),
            frozenset({"dead"}),
        ),
        Mistake(
            variant(
                attention,
                "squeezed",
                (
                    "        return weights @ v, weights",
                    "        return (weights @ v).squeeze(), weights.squeeze()",
                ),
                (
                    "0.0)\n    return weights @ v, weights",
                    "0.0)\n    return (weights @ v).squeeze(), weights.squeeze()",
                ),
            ),
            AXES_DROPPED_IN_TORCH,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                attention,
                "values_poison_by_selecting",
                (
                    "k, v = torch.where(read, k, 0.0), torch.where(read, v, 0.0)",
                    "k = torch.where(read, k, 0.0)",
                ),
                ("torch.where(alive, log", "torch.where(mask, log"),
            ),
            UNREAD_ROWS_POISON,
            frozenset({"unread"}),
        ),
        Mistake(
            variant(
                attention,
                "one_maximum_for_all",
                (
                    "(q @ k.mT * scale).softmax(dim=-1)",
                    "((q @ k.mT * scale) - (q @ k.mT * scale).max()).exp() / ((q @ k.mT * scale) - (q @ k.mT "
                    "* scale).max()).exp().sum(dim=-1, keepdim=True)",
                ),
                (
                    "logits.softmax(dim=-1)",
                    "((logits) - (logits).max()).exp() / ((logits) - (logits).max()).exp().sum(dim=-1, keepdim=True)",
                ),
            ),
            ONE_MAXIMUM_FOR_ALL_IN_TORCH,
            frozenset({"extremes"}),
        ),
    ),
    right_answers=(
        attention_by_rows,
        attention_filled_and_mended,
        attention_by_einsum,
        attention_with_an_additive_mask,
        attention_as_a_class,
    ),
)


# --- Task 2: split_heads --------------------------------------------------------------------------------------


def split_heads(x, heads, repeat=1):
    """x (..., n, heads * d) -> (..., heads * repeat, n, d), each head `repeat` times in a row"""
    apart = x.unflatten(-1, (heads, -1)).transpose(-2, -3)
    return apart.repeat_interleave(repeat, dim=-3)


def draw_rows_of_heads(rng):
    return [{"x": rng.normal(size=(7, 15)), "heads": 3}, {"x": rng.normal(size=(3, 10)), "heads": 5}]


def draw_head_batches(rng):
    return [{"x": rng.normal(size=(2, 7, 15)), "heads": 5}, {"x": rng.normal(size=(7, 1, 5, 6)), "heads": 3}]


def draw_shared_heads(rng):
    return [
        {"x": rng.normal(size=(7, 15)), "heads": 3, "repeat": 2},
        {"x": rng.normal(size=(1, 7, 6)), "heads": 2, "repeat": 5},
    ]


SPLIT_PARTS = (
    Part("rows", 1, Text("한 sequence", "one sequence"), draw_rows_of_heads),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_head_batches),
    Part("repeat", 2, Text("나누어 쓰는 KV head", "shared KV heads"), draw_shared_heads),
)


def split_by_view(x, heads, repeat=1):
    n, d = x.shape[-2], x.shape[-1] // heads
    apart = x.reshape(*x.shape[:-1], heads, d).movedim(-2, -3)
    return (
        apart.unsqueeze(-3)
        .expand(*x.shape[:-2], heads, repeat, n, d)
        .reshape(*x.shape[:-2], heads * repeat, n, d)
    )


def split_by_chunks(x, heads, repeat=1):
    return torch.stack([head for head in x.chunk(heads, dim=-1) for _ in range(repeat)], dim=-3)


def split_by_slices(x, heads, repeat=1):
    d = x.shape[-1] // heads
    numbers = [h // repeat for h in range(heads * repeat)]
    return torch.cat([x[..., None, :, h * d : (h + 1) * d] for h in numbers], dim=-3)


def split_by_einsum(x, heads, repeat=1):
    shares = torch.eye(heads, dtype=x.dtype, device=x.device).repeat_interleave(repeat, dim=0)
    return torch.einsum("rh,...nhd->...rnd", shares, x.reshape(*x.shape[:-1], heads, -1))


COUNTED_FROM_THE_FRONT = Text(
    "축의 번호를 앞에서 세었습니다. batch 축이 있으면 다른 축이 됩니다. -2와 -3을 쓰세요.",
    "Axes are counted from the front. With batch axes these are others: use -2 and -3.",
)
THREE_AXES = Text(
    "B, T, C = x.shape는 batch 축이 꼭 하나일 때만 됩니다. batch 축이 몇 개든 되게 뒤에서 세세요: x.shape[-1], dim=-2, dim=-3.",
    "B, T, C = x.shape expects just one batch axis. Count from the end, whatever batch axes there are: x.shape[-1], dim=-2, "
    "dim=-3.",
)
ONE_BATCH_AXIS = Text(
    "transpose(1, 2)는 batch 축이 꼭 하나일 때만 맞습니다. batch 축이 몇 개든 맞게 뒤에서 세세요: -2와 -3.",
    "transpose(1, 2) is right for just one batch axis. Count from the end, whatever batch axes there are: -2 and -3.",
)

reshaped_at_once = variant(
    split_heads,
    "reshaped_at_once",
    (
        "x.unflatten(-1, (heads, -1)).transpose(-2, -3)",
        "x.reshape(*x.shape[:-2], heads, x.shape[-2], -1)",
    ),
)


def three_axes_expected(x, heads, repeat=1):
    batch, n, width = x.shape
    apart = x.view(batch, n, heads, width // heads).transpose(1, 2)
    return apart.repeat_interleave(repeat, dim=1)


def first_axis_taken_for_the_batch(x, heads, repeat=1):
    apart = x.view(x.shape[0], -1, heads, x.shape[-1] // heads).transpose(1, 2)
    return apart.repeat_interleave(repeat, dim=1)


SPLIT_HEADS = Task(
    name="split_heads",
    reference=split_heads,
    parts=SPLIT_PARTS,
    see="heads.html#heads-mha-code",
    way=Way(torch=True, gradients=("x",)),
    forbidden=FUSED,
    mistakes=(
        Mistake(
            reshaped_at_once,
            Text(
                "reshape만으로는 tokens와 heads가 뒤섞입니다. 마지막 축을 (heads, d)로 나눈 뒤 축을 옮기세요.",
                "A reshape alone mixes tokens and heads up. Split the last axis into (heads, d), then move the axis.",
            ),
            everywhere(SPLIT_PARTS),
        ),
        Mistake(
            variant(
                split_heads,
                "features_dealt_out",
                (
                    "x.unflatten(-1, (heads, -1)).transpose(-2, -3)",
                    "x.unflatten(-1, (-1, heads)).movedim(-1, -3)",
                ),
            ),
            Text(
                "features를 head마다 하나씩 돌아가며 나누었습니다. head i는 이어진 d 개의 columns를 갖습니다.",
                "Features are dealt out to the heads in turn. Head i owns d columns in a row.",
            ),
            everywhere(SPLIT_PARTS),
        ),
        Mistake(
            variant(
                split_heads,
                "heads_before_batches",
                (".transpose(-2, -3)", ".movedim(-2, 0)"),
                ("dim=-3", "dim=0"),
            ),
            Text(
                "heads 축이 batch 축보다 앞에 있습니다 (torch.stack의 기본값은 dim=0). batch 뒤, n 바로 앞에 놓으세요: dim=-3.",
                "The heads' axis stands before the batch axes (dim=0 is the default of torch.stack). It belongs behind them, "
                "right before n: dim=-3.",
            ),
            frozenset({"batches", "repeat"}),
        ),
        Mistake(
            variant(split_heads, "axes_not_moved", (".transpose(-2, -3)\n", "\n"), ("dim=-3", "dim=-2")),
            Text(
                "heads 축이 tokens 뒤에 있습니다. n 앞으로 옮겨야 head마다 (n, d) 행렬이 됩니다.",
                "The heads' axis stands behind the tokens. Moved before n, it leaves a matrix (n, d) for each head.",
            ),
            everywhere(SPLIT_PARTS),
        ),
        Mistake(
            variant(split_heads, "tokens_last", (".transpose(-2, -3)\n", ".transpose(-2, -3).mT\n")),
            Text(
                "마지막 두 축이 바뀌었습니다. (n, d) 순서여야 합니다.",
                "The last two axes have changed places: (n, d).",
            ),
            everywhere(SPLIT_PARTS),
        ),
        Mistake(
            variant(
                split_heads,
                "tiled",
                ("apart.repeat_interleave(repeat, dim=-3)", "torch.cat([apart] * repeat, dim=-3)"),
            ),
            Text(
                "heads를 통째로 이어 붙였습니다 (tile). 순서는 h0, h0, h1, h1입니다 (repeat_interleave).",
                "All heads are repeated one after another (tile). The order is h0, h0, h1, h1 (repeat_interleave).",
            ),
            frozenset({"repeat"}),
        ),
        Mistake(
            variant(
                split_heads,
                "tiled_without_batches",
                ("apart.repeat_interleave(repeat, dim=-3)", "apart.repeat(repeat, 1, 1)"),
            ),
            Text(
                "x.repeat(repeat, 1, 1)은 heads를 통째로 이어 붙이고 (순서는 h0, h0, h1, h1이어야 합니다), batch 축이 있으면 실패합니다. "
                "repeat_interleave(repeat, dim=-3)을 쓰세요.",
                "x.repeat(repeat, 1, 1) puts all heads one after another, where the order is h0, h0, h1, h1, and fails with batch axes. "
                "Use repeat_interleave(repeat, dim=-3).",
            ),
            frozenset({"batches", "repeat"}),
        ),
        Mistake(three_axes_expected, THREE_AXES, everywhere(SPLIT_PARTS)),
        Mistake(
            first_axis_taken_for_the_batch,
            Text(
                "x.view(x.shape[0], -1, …)은 첫 축을 batch로 봅니다. batch 축은 없을 수도 있고 여럿일 수도 있습니다. 마지막 축만 나누세요: "
                "x.unflatten(-1, (heads, -1)).",
                "x.view(x.shape[0], -1, …) takes the first axis for the batch. There may be none, or several: split the last axis alone, "
                "x.unflatten(-1, (heads, -1)).",
            ),
            everywhere(SPLIT_PARTS),
        ),
        Mistake(
            variant(split_heads, "repeat_not_used", ("apart.repeat_interleave(repeat, dim=-3)", "apart")),
            Text("repeat를 쓰지 않았습니다.", "repeat is not used."),
            frozenset({"repeat"}),
        ),
        Mistake(
            variant(split_heads, "tokens_repeated", ("repeat, dim=-3", "repeat, dim=-2")),
            Text("heads가 아니라 tokens를 되풀이했습니다.", "The tokens are repeated, not the heads."),
            frozenset({"repeat"}),
        ),
        Mistake(
            variant(
                split_heads, "batches_flattened", ("x.unflatten", "x.reshape(-1, *x.shape[-2:]).unflatten")
            ),
            Text(
                "batch 축을 하나로 만들었습니다. 앞의 축들은 몇 개든 그대로 남습니다.",
                "The batch axes are made one. Those before stay as they are, however many.",
            ),
            everywhere(SPLIT_PARTS),
        ),
        Mistake(
            variant(split_heads, "axes_counted_from_the_front", (".transpose(-2, -3)", ".transpose(0, 1)")),
            COUNTED_FROM_THE_FRONT,
            everywhere(SPLIT_PARTS) - {"rows"},
        ),
        Mistake(
            variant(
                split_heads,
                "all_axes_counted_from_the_front",
                (".transpose(-2, -3)", ".transpose(0, 1)"),
                ("dim=-3", "dim=0"),
            ),
            COUNTED_FROM_THE_FRONT,
            everywhere(SPLIT_PARTS) - {"rows"},
        ),
        Mistake(
            variant(
                split_heads,
                "repeated_flat",
                ("repeat_interleave(repeat, dim=-3)", "repeat_interleave(repeat)"),
            ),
            Text(
                "dim이 없으면 repeat_interleave는 모든 축을 하나로 폅니다. heads의 축을 말하세요: dim=-3.",
                "Without a dim, repeat_interleave makes all axes one. Name that of the heads: dim=-3.",
            ),
            everywhere(SPLIT_PARTS),
        ),
        Mistake(
            variant(split_heads, "one_batch_axis_expected", (".transpose(-2, -3)", ".transpose(1, 2)")),
            ONE_BATCH_AXIS,
            everywhere(SPLIT_PARTS),
        ),
        Mistake(
            variant(
                split_heads,
                "squeezed_heads",
                (
                    "return apart.repeat_interleave(repeat, dim=-3)",
                    "return apart.repeat_interleave(repeat, dim=-3).squeeze()",
                ),
            ),
            AXES_DROPPED_IN_TORCH,
            frozenset({"batches", "repeat"}),
        ),
        Mistake(
            variant(split_heads, "first_axis_repeated", ("dim=-3", "dim=0")),
            Text(
                "맨 앞의 축을 되풀이했습니다 (dim=0). batch가 있으면 heads의 축은 dim=-3입니다.",
                "The first axis is repeated (dim=0). With batch axes that of the heads is dim=-3.",
            ),
            frozenset({"repeat"}),
        ),
        Mistake(
            variant(
                split_heads,
                "heads_in_front",
                ("x.unflatten(-1, (heads, -1)).transpose(-2, -3)", "torch.stack(x.chunk(heads, dim=-1))"),
            ),
            Text(
                "heads를 맨 앞에 쌓았습니다. batch가 있으면 heads의 축은 n 바로 앞입니다: torch.stack(…, dim=-3).",
                "The heads are stacked in front. With batch axes theirs stands just before n: torch.stack(…, dim=-3).",
            ),
            frozenset({"batches", "repeat"}),
        ),
        Mistake(
            variant(
                split_heads,
                "split_by_count",
                (
                    "x.unflatten(-1, (heads, -1)).transpose(-2, -3)",
                    "torch.stack(x.split(heads, dim=-1), dim=-3)",
                ),
            ),
            Text(
                "x.split(heads)는 폭이 heads인 조각을 만듭니다. split에는 조각의 폭 d를, chunk에는 조각의 수를 줍니다.",
                "x.split(heads) makes pieces that are heads wide. Give split the width d of a piece, or "
                "chunk their number.",
            ),
            frozenset({"rows", "batches", "repeat"}),
        ),
        Mistake(
            variant(split_heads, "two_axes_expected", ("    apart", "    n, width = x.shape\n    apart")),
            TWO_AXES_EXPECTED,
            frozenset({"batches", "repeat"}),
        ),
    ),
    right_answers=(split_by_view, split_by_chunks, split_by_slices, split_by_einsum),
)


# --- Task 3: merge_heads --------------------------------------------------------------------------------------


def merge_heads(x, keep=None):
    """x (..., heads, n, d), keep (heads,) or None -> (..., n, heads * d): side by side; 0 for a head that is off"""
    if keep is not None:
        x = torch.where(keep[:, None, None], x, 0.0)
    return x.transpose(-2, -3).flatten(-2)


def draw_separate_heads(rng):
    return [{"x": rng.normal(size=(3, 7, 5))}, {"x": rng.normal(size=(5, 3, 2))}]


def draw_separate_batches(rng):
    return [{"x": rng.normal(size=(2, 3, 7, 5))}, {"x": rng.normal(size=(2, 1, 3, 5, 7))}]


def draw_heads_off(rng):
    # A head that is off may hold anything, NaN included.
    x, keep = rng.normal(size=(5, 7, 3)), rng.permutation([True, True, True, False, False])
    broken = rng.normal(size=(2, 3, 7, 5))
    off = rng.integers(3)
    broken[:, off] = np.nan
    shown = rng.normal(size=(3, 7, 5))
    shown[(off + 1) % 3, rng.integers(7), rng.integers(5)] = np.nan  # of a head that is on
    return [
        {"x": x, "keep": keep},
        {"x": broken, "keep": np.arange(3) != off},
        {"x": shown, "keep": np.arange(3) != off},
    ]


MERGE_PARTS = (
    Part("heads", 1, Text("한 sequence", "one sequence"), draw_separate_heads),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_separate_batches),
    Part("off", 1, Text("꺼진 heads", "heads that are off"), draw_heads_off),
)


def merge_by_unbinding(x, keep=None):
    kept = [True] * x.shape[-3] if keep is None else keep.tolist()
    heads = x.unbind(dim=-3)
    return torch.cat(
        [head if on else torch.zeros_like(head) for head, on in zip(heads, kept, strict=True)], dim=-1
    )


def merge_by_reshaping(x, keep=None):
    *batch, heads, n, d = x.shape
    if keep is not None:
        x = x.masked_fill(~keep.view(heads, 1, 1), 0.0)
    return x.movedim(-3, -2).contiguous().view(*batch, n, heads * d)


def merge_by_loops(x, keep=None):
    def features(h, i):
        off = keep is not None and not keep[h]
        return 0.0 * x[..., h, i, :].nan_to_num() if off else x[..., h, i, :]

    rows = [torch.cat([features(h, i) for h in range(x.shape[-3])], dim=-1) for i in range(x.shape[-2])]
    return torch.stack(rows, dim=-2)


def merge_by_einsum(x, keep=None):
    merged = torch.einsum("...hnd->...nhd", x).reshape(*x.shape[:-3], x.shape[-2], -1)
    return merged if keep is None else merged.masked_fill(~keep.repeat_interleave(x.shape[-1]), 0.0)


def every_nan_of_heads_hidden(x, keep=None):
    return merge_heads(x.nan_to_num(), keep)


def four_axes_expected(x, keep=None):
    batch, heads, n, d = x.shape
    if keep is not None:
        x = torch.where(keep[:, None, None], x, 0.0)
    return x.transpose(1, 2).contiguous().view(batch, n, heads * d)


MERGE_HEADS = Task(
    name="merge_heads",
    reference=merge_heads,
    parts=MERGE_PARTS,
    see="heads.html#heads-mha-code",
    way=Way(torch=True, gradients=("x",)),
    forbidden=FUSED,
    mistakes=(
        Mistake(
            variant(
                merge_heads,
                "reshaped_at_once",
                ("x.transpose(-2, -3).flatten(-2)", "x.reshape(*x.shape[:-3], x.shape[-2], -1)"),
            ),
            Text(
                "reshape만으로는 여러 tokens의 값이 한 row에 섞입니다. 먼저 heads 축을 n 뒤로 옮기세요.",
                "A reshape alone mixes the numbers of several tokens in one row. Move the heads' axis behind n first.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge_heads, "viewed_without_copy", (".flatten(-2)", ".view(*x.shape[:-3], x.shape[-2], -1)")
            ),
            Text(
                "축을 옮긴 tensor는 메모리에 이어져 있지 않아 view가 실패합니다. reshape나 flatten을 쓰세요.",
                "A tensor whose axes were moved doesn't lie in one piece, and view fails. Use reshape or flatten.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge_heads,
                "features_woven",
                ("x.transpose(-2, -3).flatten(-2)", "x.movedim(-3, -1).flatten(-2)"),
            ),
            Text(
                "heads의 features를 하나씩 번갈아 놓았습니다. head 하나의 d 개를 먼저, 다음 head를 그 뒤에 놓으세요.",
                "The heads' features are woven into each other. Put the d of one head first, the next head after it.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(merge_heads, "heads_averaged", ("x.transpose(-2, -3).flatten(-2)", "x.mean(dim=-3)")),
            Text(
                "heads를 평균했습니다. 나란히 이어 붙이고, 섞는 일은 W_O가 합니다.",
                "The heads are averaged. Put them side by side; mixing is what W_O does.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(merge_heads, "heads_summed", ("x.transpose(-2, -3).flatten(-2)", "x.sum(dim=-3)")),
            Text(
                "heads를 더했습니다. 나란히 이어 붙여 폭을 heads · d로 만드세요.",
                "The heads are summed. Put them side by side, heads · d wide.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(merge_heads, "tokens_lined_up", ("x.transpose(-2, -3).flatten(-2)", "x.flatten(-3, -2)")),
            Text(
                "heads를 token 축으로 이어 붙였습니다. token의 수는 그대로 n입니다.",
                "The heads are joined along the tokens. There are still n tokens.",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(merge_heads, "axes_counted_from_the_front", ("x.transpose(-2, -3)", "x.transpose(0, 1)")),
            COUNTED_FROM_THE_FRONT,
            frozenset({"batches", "off"}),
        ),
        Mistake(
            variant(
                merge_heads, "keep_inverted", ("keep[:, None, None], x, 0.0", "keep[:, None, None], 0.0, x")
            ),
            Text(
                "keep을 반대로 읽었습니다. True인 heads가 남습니다.",
                "keep is read the wrong way round. The heads that are True stay.",
            ),
            frozenset({"off"}),
        ),
        Mistake(
            variant(
                merge_heads,
                "heads_multiplied",
                ("torch.where(keep[:, None, None], x, 0.0)", "x * keep[:, None, None]"),
            ),
            Text(
                "keep을 곱했습니다. 꺼진 head의 NaN은 0을 곱해도 NaN입니다. torch.where로 고르세요.",
                "This multiplies by keep. NaN in a head that is off stays NaN when multiplied by 0. Select with torch.where.",
            ),
            frozenset({"off"}),
        ),
        Mistake(
            every_nan_of_heads_hidden,
            Text(
                "모든 NaN을 0으로 바꾸었습니다 (nan_to_num). 켜 둔 head의 NaN은 보여야 합니다. 꺼진 head의 자리만 torch.where로 고르세요.",
                "Every NaN is replaced by 0 (nan_to_num). NaN in a head that is on has to show: select only the places of heads that are "
                "off, with torch.where.",
            ),
            frozenset({"off"}),
        ),
        Mistake(
            four_axes_expected,
            Text(
                "B, heads, T, d = x.shape는 batch 축이 꼭 하나일 때만 됩니다. batch 축이 몇 개든 되게 뒤에서 세세요: transpose(-2, -3).flatten(-2).",
                "B, heads, T, d = x.shape expects just one batch axis. Count from the end, whatever batch axes there are: "
                "transpose(-2, -3).flatten(-2).",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(
                merge_heads,
                "heads_removed",
                ("torch.where(keep[:, None, None], x, 0.0)", "x[..., keep, :, :]"),
            ),
            Text(
                "꺼진 heads를 뺐습니다. 폭은 언제나 heads · d이고, 꺼진 head의 자리에는 0을 둡니다.",
                "Heads that are off are left out. The result is heads · d wide throughout, with 0 in their places.",
            ),
            frozenset({"off"}),
        ),
        Mistake(
            variant(merge_heads, "keep_not_used", ("torch.where(keep[:, None, None], x, 0.0)", "1.0 * x")),
            Text("keep을 쓰지 않았습니다.", "keep is not used."),
            frozenset({"off"}),
        ),
        Mistake(
            variant(
                merge_heads,
                "keep_required",
                ("    if keep is not None:\n        x =", "    x ="),
            ),
            Text(
                "keep=None일 때 실패합니다. 주지 않으면 모든 heads가 남습니다.",
                "This fails for keep=None. Where it is not given, all heads stay.",
            ),
            everywhere(MERGE_PARTS) - {"off"},
        ),
        Mistake(
            variant(merge_heads, "first_head_alone", ("x.transpose(-2, -3).flatten(-2)", "x[..., 0, :, :]")),
            Text("첫 head만 남았습니다.", "Only the first head is left."),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(merge_heads, "tokens_last", (".flatten(-2)", ".flatten(-2).mT")),
            Text(
                "결과가 뒤집혔습니다. shape는 (..., n, heads · d)입니다.",
                "The result is transposed: it is (..., n, heads · d).",
            ),
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(merge_heads, "keep_meets_the_features", ("keep[:, None, None]", "keep")),
            Text(
                "keep의 축이 heads가 아니라 마지막 축과 맞물립니다. keep[:, None, None]은 (heads, n, d)에 맞습니다.",
                "keep meets the last axis, not that of the heads. keep[:, None, None] fits (heads, n, d).",
            ),
            frozenset({"off"}),
        ),
        Mistake(
            variant(
                merge_heads,
                "heads_overwritten",
                ("x = torch.where(keep[:, None, None], x, 0.0)", "x[..., ~keep, :, :] = 0.0"),
            ),
            Text(
                "입력 x를 제자리에서 바꾸려 했습니다 (x[...] = 0). gradient를 구할 tensor는 제자리에서 바꿀 수 없습니다. torch.where로 고르세요.",
                "The input x would be changed in place (x[...] = 0). A tensor whose gradient is asked for can't be: select with torch.where.",
            ),
            frozenset({"off"}),
        ),
        Mistake(
            variant(merge_heads, "truth_of_keep", ("if keep is not None", "if keep")),
            TRUTH_OF_AN_ARRAY,
            frozenset({"off"}),
        ),
        Mistake(
            variant(merge_heads, "one_batch_axis_expected", ("x.transpose(-2, -3)", "x.transpose(1, 2)")),
            ONE_BATCH_AXIS,
            everywhere(MERGE_PARTS),
        ),
        Mistake(
            variant(merge_heads, "squeezed_rows", ("flatten(-2)", "flatten(-2).squeeze()")),
            AXES_DROPPED_IN_TORCH,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(merge_heads, "flattened_from_the_front", ("flatten(-2)", "flatten(1)")),
            Text(
                "flatten(1)은 batch가 없을 때만 heads와 d를 합칩니다. 마지막 두 축은 flatten(-2)로 합칩니다.",
                "flatten(1) joins heads and d without batch axes only. flatten(-2) joins the last two.",
            ),
            frozenset({"batches", "off"}),
        ),
        Mistake(
            variant(
                merge_heads,
                "first_axis_joined",
                ("x.transpose(-2, -3).flatten(-2)", "torch.cat(tuple(x), dim=-1)"),
            ),
            Text(
                "맨 앞의 축을 heads로 보고 이어 붙였습니다. batch가 있으면 heads의 축은 뒤에서 셋째입니다: x.unbind(-3).",
                "The first axis is taken for the heads. With batch axes theirs is the third from the end: "
                "x.unbind(-3).",
            ),
            frozenset({"batches", "off"}),
        ),
    ),
    right_answers=(merge_by_unbinding, merge_by_reshaping, merge_by_loops, merge_by_einsum),
)


# --- Task 4: controlled_weights -------------------------------------------------------------------------------


def controlled_weights(q, k, q_gain=None, k_gain=None, softcap=None, mask=None):
    """q (..., n_q, d_k), k (..., n_k, d_k), q_gain and k_gain (d_k,), mask (n_q, n_k) -> A (..., n_q, n_k)"""
    if q_gain is not None:
        q = q_gain * q * ((q**2).mean(dim=-1, keepdim=True) + 1e-6).rsqrt()
        k = k_gain * k * ((k**2).mean(dim=-1, keepdim=True) + 1e-6).rsqrt()
    logits = q @ k.mT / q.shape[-1] ** 0.5
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    if mask is not None:
        alive = mask.any(dim=-1, keepdim=True)
        logits = logits.masked_fill(~mask & alive, -torch.inf)
    weights = logits.softmax(dim=-1)
    return weights if mask is None else torch.where(alive, weights, 0.0)


def random_qk(rng, *batch):
    return {"q": rng.normal(size=(*batch, 5, 3)), "k": rng.normal(size=(*batch, 7, 3))}


def random_gains(rng):
    return {"q_gain": rng.uniform(0.5, 2.0, 3), "k_gain": rng.uniform(0.5, 2.0, 3)}


def draw_scaling_alone(rng):
    return [random_qk(rng), random_qk(rng, 2), random_qk(rng, 2, 1)]


def draw_normed(rng):
    # Lengths far apart: only a norm makes such vectors alike.
    inputs = random_qk(rng, 2)
    sizes = 10.0 ** rng.permutation([-2.5, -2.0, -1.0, 0.0, 1.0])[:, None]
    return [
        {**random_qk(rng), **random_gains(rng)},
        {**inputs, "q": sizes * inputs["q"], **random_gains(rng)},
    ]


def draw_capped(rng):
    return [{**random_qk(rng), "softcap": 0.5}, {**random_qk(rng, 2), "softcap": 2.0}]


def draw_all_controls(rng):
    inputs = {**random_qk(rng, 2), **random_gains(rng), "softcap": 0.5}
    inputs["q"][rng.integers(2)] *= 3e-3
    return [
        {**inputs, "mask": random_mask(rng, 5, 7)},
        {**random_qk(rng), "softcap": 0.5, "mask": random_mask(rng, 5, 7)},
    ]


def draw_dead_row(rng):
    return [{**random_qk(rng), "mask": random_mask(rng, 5, 7, dead_row=True)}]


def draw_zero_vectors(rng):
    inputs = {**random_qk(rng), **random_gains(rng)}
    inputs["q"][rng.integers(5)], inputs["k"][rng.integers(7)] = 0.0, 0.0
    return [inputs]


def draw_far_scores(rng):
    # Half of the scores lie at the upper cap, half at the lower: nothing between them is left.
    q = rng.integers(1, 4, (5, 3)).astype(float)
    k = 1e4 * rng.permutation([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0])[:, None] * np.ones((7, 3))
    # And the one Key that is allowed lies below any number that stands for -inf.
    below, mask = np.zeros((7, 3)), np.zeros((5, 7), dtype=bool)
    allowed = rng.integers(7)
    below[allowed], mask[:, allowed] = -1e36, True
    return [{"q": q, "k": k, "softcap": 1.5}, {"q": q, "k": k}, {"q": q, "k": below, "mask": mask}]


CONTROL_PARTS = (
    Part("scaling", 1, Text("scaling만", "scaling alone"), draw_scaling_alone),
    Part("norm", 1, Text("QK norm", "QK norm"), draw_normed),
    Part("cap", 1, Text("soft-cap", "soft-cap"), draw_capped),
    Part("together", 1, Text("모두 함께, mask와", "all together, with a mask"), draw_all_controls),
    Part("dead", 1, Text("볼 Key가 없는 Query", "a Query that may attend to no Key"), draw_dead_row),
    Part("zero", 1, Text("0인 vector", "vectors of zeros"), draw_zero_vectors),
    Part("far", 1, Text("아주 큰 scores", "very large scores"), draw_far_scores),
)
WITH_A_MASK = frozenset({"together", "dead", "far"})


def control_masked_afterwards(q, k, q_gain=None, k_gain=None, softcap=None, mask=None):
    weights = controlled_weights(q, k, q_gain, k_gain, softcap)
    return weights if mask is None else weights * mask


def half_precision_control(q, k, q_gain=None, k_gain=None, softcap=None, mask=None):
    return controlled_weights(q.half(), k.half(), q_gain, k_gain, softcap, mask)


control_nan_replaced = variant(
    controlled_weights,
    "control_nan_replaced",
    (
        "alive = mask.any(dim=-1, keepdim=True)",
        "additive = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(~mask, -torch.inf)",
    ),
    ("logits.masked_fill(~mask & alive, -torch.inf)", "logits + additive"),
    ("logits.softmax(dim=-1)", "logits.softmax(dim=-1).nan_to_num(0.0)"),
    ("weights if mask is None else torch.where(alive, weights, 0.0)", "weights"),
)


def controlled_by_functions(q, k, q_gain=None, k_gain=None, softcap=None, mask=None):
    def rms(x, gain):
        return x if gain is None else nn.functional.rms_norm(x, x.shape[-1:], weight=gain, eps=1e-6)

    scores = torch.einsum("...id,...jd->...ij", rms(q, q_gain), rms(k, k_gain)) * k.shape[-1] ** -0.5
    scores = scores if softcap is None else (scores / softcap).tanh() * softcap
    if mask is None:
        return nn.functional.softmax(scores, dim=-1)
    dead = ~mask.any(dim=-1, keepdim=True)
    additive = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(~(mask | dead), -torch.inf)
    return nn.functional.softmax(scores + additive, dim=-1).masked_fill(dead, 0.0)


def controlled_by_hand(q, k, q_gain=None, k_gain=None, softcap=None, mask=None):
    d_k = q.shape[-1]
    if q_gain is not None:
        q = q / torch.sqrt((q * q).sum(dim=-1, keepdim=True) / d_k + 1e-6) * q_gain
        k = k / torch.sqrt((k * k).sum(dim=-1, keepdim=True) / d_k + 1e-6) * k_gain
    logits = (q[..., :, None, :] * k[..., None, :, :]).sum(dim=-1) / d_k**0.5
    if softcap:
        logits = softcap * (1 - 2 / (torch.exp((2 * logits / softcap).clamp(max=700)) + 1))
    allowed = torch.ones_like(logits, dtype=torch.bool) if mask is None else mask.expand(logits.shape)
    highest = logits.masked_fill(~allowed, -torch.inf).amax(dim=-1, keepdim=True).detach()
    shares = torch.where(allowed, logits - highest.nan_to_num(neginf=0.0), -torch.inf).exp()
    total = shares.sum(dim=-1, keepdim=True)
    return shares / torch.where(total > 0, total, 1.0)


class RMSNorm(nn.Module):
    def __init__(self, gain):
        super().__init__()
        self.gain = gain

    def forward(self, x):
        return self.gain * (x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt())


def controlled_by_modules(q, k, q_gain=None, k_gain=None, softcap=None, mask=None):
    if q_gain is not None and k_gain is not None:
        q, k = RMSNorm(q_gain)(q), RMSNorm(k_gain)(k)
    logits = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-2, -1))
    if softcap is not None:
        logits = logits.div(softcap).tanh().mul(softcap)
    alive = None if mask is None else mask.any(dim=-1, keepdim=True)
    if mask is not None:
        logits = torch.where(mask | ~alive, logits, -torch.inf)
    weights = torch.exp(logits - torch.logsumexp(logits, dim=-1, keepdim=True))
    return weights if mask is None else weights * alive


def controlled_row_by_row(q, k, q_gain=None, k_gain=None, softcap=None, mask=None):
    if q.ndim > 2:
        return torch.stack(
            [controlled_row_by_row(*pair, q_gain, k_gain, softcap, mask) for pair in zip(q, k, strict=True)]
        )
    rows = []
    for i, query in enumerate(q):
        logits = []
        for key in k:
            if q_gain is not None:
                a = q_gain * query / (query.pow(2).mean() + 1e-6) ** 0.5
                b = k_gain * key / (key.pow(2).mean() + 1e-6) ** 0.5
            else:
                a, b = query, key
            logit = a.dot(b) / len(a) ** 0.5
            logits.append(logit if softcap is None else softcap * (logit / softcap).tanh())
        row = torch.stack(logits)
        if mask is not None and not mask[i].any():
            rows.append(torch.zeros_like(row))
        else:
            rows.append((row if mask is None else row.masked_fill(~mask[i], -torch.inf)).softmax(dim=0))
    return torch.stack(rows)


normed_without_gains = variant(
    controlled_weights,
    "normed_without_gains",
    (
        "    if q_gain is not None:\n",
        "    q_gain, k_gain = (1.0, 1.0) if q_gain is None else (q_gain, k_gain)\n    if True:\n",
    ),
)


ANOTHER_EPSILON = Text(
    "norm의 epsilon이 1e-6이 아닙니다. 짧은 vector에서는 이 수가 결과를 정합니다. F.rms_norm이라면 eps=1e-6을 주세요.",
    "The norm's epsilon is not 1e-6. With short vectors this number decides what comes out. Pass eps=1e-6 to F.rms_norm, "
    "if that is what you use.",
)
KEYS_NOT_NORMED = Text(
    "Query만 norm했습니다. Key의 크기도 score에 곱해지므로 둘 다 norm합니다.",
    "Only the Query is normed. A Key's length multiplies the score as well: norm both.",
)


CONTROLLED_WEIGHTS = Task(
    name="controlled_weights",
    reference=controlled_weights,
    parts=CONTROL_PARTS,
    rtol=1e-4,  # the gradient of a short vector is long, and its small entries are differences in float32
    atol=1e-4,
    see="score-control.html#three-places",
    way=Way(torch=True, gradients=("q", "k")),
    forbidden=FUSED,
    mistakes=(
        Mistake(
            normed_without_gains,
            Text(
                "gain이 없을 때도 norm했습니다. q_gain이 None이면 q와 k를 그대로 씁니다.",
                "This norms where no gains are given, too. With q_gain None, q and k stay as they are.",
            ),
            everywhere(CONTROL_PARTS) - {"norm", "zero"},
        ),
        Mistake(
            variant(
                controlled_weights,
                "norm_over_positions",
                ("(q**2).mean(dim=-1", "(q**2).mean(dim=-2"),
                ("(k**2).mean(dim=-1", "(k**2).mean(dim=-2"),
            ),
            Text(
                "norm이 위치 축을 따라 계산되었습니다. Query와 Key마다 자기 d_k 개에 대해 구합니다 (dim=-1).",
                "The norm runs over positions. Each Query and Key has its own, over its d_k numbers: dim=-1.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "length_instead_of_rms",
                ("(q**2).mean(", "(q**2).sum("),
                ("(k**2).mean(", "(k**2).sum("),
            ),
            Text(
                "vector의 길이로 나누었습니다 (L2). 이 과제의 RMSNorm은 제곱의 합이 아니라 평균을 씁니다.",
                "This divides by the vector's length (L2). The RMSNorm of this task takes the mean of the squares.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "mean_subtracted",
                (
                    "q = q_gain * q * ((q**2)",
                    "q, k = q - q.mean(-1, keepdim=True), k - k.mean(-1, keepdim=True)\n        q = q_gain * q * ((q**2)",
                ),
            ),
            MEAN_SUBTRACTED,
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "keys_not_normed",
                ("k = k_gain * k * ((k**2).mean(dim=-1, keepdim=True) + 1e-6).rsqrt()", "k = k_gain * k"),
            ),
            KEYS_NOT_NORMED,
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "keys_left_as_they_are",
                ("k = k_gain * k * ((k**2).mean(dim=-1, keepdim=True) + 1e-6).rsqrt()", "k = 1.0 * k"),
            ),
            KEYS_NOT_NORMED,
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights, "gains_not_used", ("q_gain * q * (", "q * ("), ("k_gain * k * (", "k * (")
            ),
            Text(
                "학습되는 gain을 곱하지 않았습니다.",
                "The learned gains are not multiplied.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(controlled_weights, "one_gain_for_both", ("k_gain * k", "q_gain * k")),
            Text(
                "Key에도 q_gain을 곱했습니다. Query와 Key는 서로 다른 gain을 배웁니다.",
                "q_gain multiplies the Keys, too. Queries and Keys learn a gain each.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "scale_dropped_with_the_norm",
                (
                    "q @ k.mT / q.shape[-1] ** 0.5",
                    "q @ k.mT / (q.shape[-1] ** 0.5 if q_gain is None else 1.0)",
                ),
            ),
            Text(
                "QK norm을 쓸 때 √d_k로 나누지 않았습니다. RMSNorm한 vector의 dot product도 d_k에 따라 커지므로 scaling은 남습니다.",
                "With QK norm the division by √d_k is dropped. Dot products of RMS-normed vectors grow with d_k still: scale them.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "norm_without_epsilon",
                ("(q**2).mean(dim=-1, keepdim=True) + 1e-6)", "(q**2).mean(dim=-1, keepdim=True))"),
                ("(k**2).mean(dim=-1, keepdim=True) + 1e-6)", "(k**2).mean(dim=-1, keepdim=True))"),
            ),
            Text(
                "제곱 평균에 1e-6을 더하지 않았거나 그보다 작은 수를 더했습니다. 아주 짧은 vector는 너무 커지고, 아무것도 더하지 않으면 0인 vector는 0 / 0 "
                "= NaN이 됩니다.",
                "1e-6 is not added to the mean square, or less than that is. A very short vector then grows "
                "too long, and one of zeros gives 0 / 0 = NaN where nothing is added.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "scores_normed",
                (
                    "q = q_gain * q * ((q**2).mean(dim=-1, keepdim=True) + 1e-6).rsqrt()",
                    "q = q_gain * q",
                ),
                ("k = k_gain * k * ((k**2).mean(dim=-1, keepdim=True) + 1e-6).rsqrt()", "k = k_gain * k"),
                (
                    "    if softcap is not None:",
                    "    if q_gain is not None:\n"
                    "        logits = logits * ((logits**2).mean(dim=-1, keepdim=True) + 1e-6).rsqrt()\n"
                    "    if softcap is not None:",
                ),
            ),
            Text(
                "dot product 뒤의 score를 norm했습니다. QK norm은 dot product 앞에서 Query와 Key에 합니다.",
                "The scores are normed, after the dot product. QK norm acts on Query and Key before it.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(controlled_weights, "cap_not_multiplied", ("softcap * torch.tanh", "torch.tanh")),
            Text(
                "tanh 뒤에 cap을 다시 곱하지 않아 score가 (−1, 1)에 갇혔습니다.",
                "The cap isn't multiplied back after tanh, which leaves scores in (−1, 1).",
            ),
            frozenset({"cap", "together", "far"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "clamped",
                ("softcap * torch.tanh(logits / softcap)", "logits.clamp(-softcap, softcap)"),
            ),
            Text(
                "score를 잘랐습니다 (clamp). soft-cap은 cap · tanh(a / cap)으로 부드럽게 눌러 순서를 지킵니다.",
                "The scores are cut off (clamp). Soft-cap presses them smoothly, cap · tanh(a / cap), and keeps their order.",
            ),
            frozenset({"cap", "together"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "capped_before_scaling",
                ("q @ k.mT / q.shape[-1] ** 0.5", "q @ k.mT"),
                (
                    "    if mask is not None:",
                    "    logits = logits / q.shape[-1] ** 0.5\n    if mask is not None:",
                ),
            ),
            Text(
                "scaling 앞에서 cap을 씌웠습니다. 순서는 scaling, soft-cap, mask, Softmax입니다.",
                "The cap comes before the scaling. The order is scaling, soft-cap, mask, Softmax.",
            ),
            frozenset({"cap", "together", "far"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "capped_after_the_mask",
                (
                    "    if softcap is not None:\n        logits = softcap * torch.tanh(logits / softcap)\n",
                    "",
                ),
                (
                    "    weights =",
                    "    if softcap is not None:\n        logits = softcap * torch.tanh(logits / softcap)\n    weights =",
                ),
            ),
            Text(
                "mask 뒤에 cap을 씌워 −∞가 −cap이 되었습니다. 가려진 Key가 비중을 얻습니다.",
                "The cap comes after the mask and turns −∞ into −cap: a masked Key gets weight.",
            ),
            frozenset({"together"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "always_fifty",
                (
                    "logits = softcap * torch.tanh(logits / softcap)",
                    "logits = 50.0 * torch.tanh(logits / 50.0)",
                ),
            ),
            Text("주어진 softcap 대신 늘 50을 썼습니다.", "The cap is always 50, whatever softcap says."),
            frozenset({"cap", "together", "far"}),
        ),
        Mistake(
            variant(controlled_weights, "softmax_over_queries", ("softmax(dim=-1)", "softmax(dim=-2)")),
            SOFTMAX_OVER_QUERIES_IN_TORCH,
            everywhere(CONTROL_PARTS),
        ),
        Mistake(
            variant(
                controlled_weights,
                "controls_required",
                ("    if q_gain is not None:\n        q =", "    if True:\n        q ="),
            ),
            Text(
                "gain이 없을 때 실패합니다. None이면 norm하지 않습니다.",
                "This fails where no gains are given. With None, nothing is normed.",
            ),
            everywhere(CONTROL_PARTS) - {"norm", "zero"},
        ),
        Mistake(
            variant(
                controlled_weights,
                "queries_overwritten",
                ("        q = q_gain * q *", "        q *= q_gain\n        q = q *"),
            ),
            TENSOR_OVERWRITTEN,
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            half_precision_control,
            HALF_PRECISION_IN_TORCH,
            everywhere(CONTROL_PARTS),
        ),
        Mistake(
            variant(controlled_weights, "divided_by_d_k", ("q.shape[-1] ** 0.5", "q.shape[-1]")),
            DIVIDED_BY_D_K,
            everywhere(CONTROL_PARTS) - {"far"},
        ),
        Mistake(
            variant(
                controlled_weights,
                "first_keys_for_all",
                ("    logits = q @ k.mT", "    k = k.reshape(-1, *k.shape[-2:])[0]\n    logits = q @ k.mT"),
            ),
            FIRST_K_FOR_ALL,
            frozenset({"scaling", "norm", "cap", "together"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "exponential_overflows",
                ("logits.softmax(dim=-1)", "logits.exp() / logits.exp().sum(dim=-1, keepdim=True)"),
            ),
            EXPONENTIAL_OVERFLOWS_IN_TORCH,
            frozenset({"far"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "mask_inverted",
                ("        alive =", "        mask = ~mask\n        alive ="),
            ),
            MASK_INVERTED,
            WITH_A_MASK,
        ),
        Mistake(
            variant(
                controlled_weights,
                "mask_not_used",
                ("    if mask is not None:\n", "    mask = None\n    if mask is not None:\n"),
            ),
            MASK_NOT_USED,
            WITH_A_MASK,
        ),
        Mistake(
            variant(
                controlled_weights,
                "mask_multiplied",
                ("logits.masked_fill(~mask & alive, -torch.inf)", "logits * mask"),
            ),
            MASK_MULTIPLIED_IN_TORCH,
            WITH_A_MASK,
        ),
        Mistake(
            control_masked_afterwards,
            MASKED_AFTER_SOFTMAX,
            WITH_A_MASK,
        ),
        Mistake(
            variant(
                controlled_weights,
                "dead_query_undefined",
                ("~mask & alive", "~mask"),
                ("weights if mask is None else torch.where(alive, weights, 0.0)", "weights"),
            ),
            Text(
                "볼 Key가 없는 Query에서 Softmax가 NaN입니다. 그 weights는 0입니다.",
                "For a Query that may attend to no Key, Softmax is NaN. Its weights are 0.",
            ),
            frozenset({"dead"}),
        ),
        Mistake(
            control_nan_replaced,
            Text(
                "값은 맞지만 gradient가 NaN입니다. 나중에 고쳐도 backward는 NaN인 Softmax를 지납니다. "
                "그 row에는 처음부터 유한한 logits를 주고, weights를 0으로 고르세요.",
                "The values are right, the gradient is NaN: mended afterwards, backward still passes the Softmax that is NaN. "
                "Give that row finite logits from the start, and select 0 for its weights.",
            ),
            frozenset({"dead"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "dead_query_uniform",
                ("~mask & alive, -torch.inf", "~mask, -1e9"),
                ("weights if mask is None else torch.where(alive, weights, 0.0)", "weights"),
            ),
            FINITE_FILL,
            frozenset({"dead", "far"}),
        ),
        Mistake(
            variant(controlled_weights, "finite_fill_mended", ("~mask & alive, -torch.inf", "~mask, -1e9")),
            FINITE_FILL,
            frozenset({"far"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "finite_fill_masked_afterwards",
                ("~mask & alive, -torch.inf", "~mask, -1e9"),
                ("torch.where(alive, weights, 0.0)", "torch.where(mask, weights, 0.0)"),
            ),
            FINITE_FILL,
            frozenset({"far"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "dead_query_opened",
                ("        alive =", "        mask = mask | ~mask.any(dim=-1, keepdim=True)\n        alive ="),
            ),
            DEAD_QUERY_OPENED,
            frozenset({"dead"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "mask_added",
                ("logits.masked_fill(~mask & alive, -torch.inf)", "logits + mask"),
            ),
            MASK_ADDED,
            WITH_A_MASK,
        ),
        Mistake(
            variant(
                controlled_weights,
                "capped_without_a_cap",
                (
                    "    if softcap is not None:",
                    "    softcap = 50.0 if softcap is None else softcap\n    if softcap is not None:",
                ),
            ),
            Text(
                "softcap이 None인데도 50으로 cap을 씌웠습니다. None이면 cap이 없습니다.",
                "With softcap None, a cap of 50 is put on. None means no cap.",
            ),
            everywhere(CONTROL_PARTS) - {"cap", "together"},
        ),
        Mistake(
            variant(controlled_weights, "not_divided_by_the_cap", ("tanh(logits / softcap)", "tanh(logits)")),
            Text(
                "tanh 안에서 cap으로 나누지 않았습니다. cap · tanh(a / cap)이어야 작은 score가 그대로 남습니다.",
                "Inside tanh there is no division by the cap. With cap · tanh(a / cap), small scores stay as they are.",
            ),
            frozenset({"cap", "together"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "one_plus_gain",
                ("q_gain * q *", "(1 + q_gain) * q *"),
                ("k_gain * k *", "(1 + k_gain) * k *"),
            ),
            Text(
                "1 + gain을 곱했습니다 (Gemma의 방식). 이 과제의 식은 gain을 그대로 곱합니다.",
                "This multiplies by 1 + gain, as Gemma does. The formula of this task multiplies by the gain as it is.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "gain_before_the_norm",
                ("(q**2).mean(", "((q_gain * q) ** 2).mean("),
                ("(k**2).mean(", "((k_gain * k) ** 2).mean("),
            ),
            Text(
                "gain을 norm 앞에서 곱했습니다. norm이 gain의 크기를 도로 지웁니다. norm한 다음에 곱하세요.",
                "The gain is multiplied before the norm, which takes its size away again. Multiply it after the norm.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "norm_over_everything",
                ("(q**2).mean(dim=-1, keepdim=True)", "(q**2).mean()"),
                ("(k**2).mean(dim=-1, keepdim=True)", "(k**2).mean()"),
            ),
            Text(
                "모든 Queries의 제곱을 한 수로 평균했습니다. vector마다 자기 d_k 개에 대해 구합니다: mean(dim=-1, keepdim=True).",
                "The mean is one number over all Queries. Each vector has its own, over its d_k numbers: mean(dim=-1, keepdim=True).",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "epsilon_of_layer_norm",
                ("(q**2).mean(dim=-1, keepdim=True) + 1e-6", "(q**2).mean(dim=-1, keepdim=True) + 1e-5"),
                ("(k**2).mean(dim=-1, keepdim=True) + 1e-6", "(k**2).mean(dim=-1, keepdim=True) + 1e-5"),
            ),
            ANOTHER_EPSILON,
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "smaller_epsilon",
                ("(q**2).mean(dim=-1, keepdim=True) + 1e-6", "(q**2).mean(dim=-1, keepdim=True) + 1e-8"),
                ("(k**2).mean(dim=-1, keepdim=True) + 1e-6", "(k**2).mean(dim=-1, keepdim=True) + 1e-8"),
            ),
            ANOTHER_EPSILON,
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "mask_required",
                ("    if mask is not None:\n        alive", "    if True:\n        alive"),
            ),
            MASK_REQUIRED,
            everywhere(CONTROL_PARTS) - {"together", "dead"},
        ),
        Mistake(
            variant(
                controlled_weights,
                "axis_of_the_norm_lost",
                ("(q**2).mean(dim=-1, keepdim=True)", "(q**2).mean(dim=-1)"),
                ("(k**2).mean(dim=-1, keepdim=True)", "(k**2).mean(dim=-1)"),
            ),
            DIM_LOST,
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(controlled_weights, "axis_lost", ("mask.any(dim=-1, keepdim=True)", "mask.any(dim=-1)")),
            DIM_LOST,
            WITH_A_MASK,
        ),
        Mistake(
            variant(
                controlled_weights,
                "truth_of_the_mask",
                ("    if mask is not None:\n        alive", "    if mask:\n        alive"),
            ),
            TRUTH_OF_AN_ARRAY,
            WITH_A_MASK,
        ),
        Mistake(
            variant(
                controlled_weights,
                "length_without_epsilon",
                ("(q**2).mean(dim=-1, keepdim=True) + 1e-6)", "(q**2).sum(dim=-1, keepdim=True))"),
                ("(k**2).mean(dim=-1, keepdim=True) + 1e-6)", "(k**2).sum(dim=-1, keepdim=True))"),
            ),
            Text(
                "vector의 길이로 나누었고 (L2), 0인 vector는 0 / 0 = NaN입니다. RMSNorm은 제곱의 합이 아니라 평균을 쓰고, 거기에 1e-6을 더합니다.",
                "This divides by the vector's length (L2), and a vector of zeros gives 0 / 0 = NaN. RMSNorm takes the mean of the "
                "squares, not their sum, and adds 1e-6 to it.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "epsilon_outside_the_root",
                (
                    "q_gain * q * ((q**2).mean(dim=-1, keepdim=True) + 1e-6).rsqrt()",
                    "q_gain * q / ((q**2).mean(dim=-1, keepdim=True).sqrt() + 1e-6)",
                ),
                (
                    "k_gain * k * ((k**2).mean(dim=-1, keepdim=True) + 1e-6).rsqrt()",
                    "k_gain * k / ((k**2).mean(dim=-1, keepdim=True).sqrt() + 1e-6)",
                ),
            ),
            Text(
                "1e-6을 제곱근 밖에서 더했습니다. 안에서 더해야 짧은 vector에서 식과 같고, 0에서 제곱근의 gradient가 유한합니다.",
                "1e-6 is added outside the root. Inside, short vectors follow the formula, and the root's gradient is finite at 0.",
            ),
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "squeezed_weights",
                (
                    "return weights if mask is None else torch.where(alive, weights, 0.0)",
                    "return (weights if mask is None else torch.where(alive, weights, 0.0)).squeeze()",
                ),
            ),
            AXES_DROPPED_IN_TORCH,
            frozenset({"scaling"}),
        ),
        Mistake(
            variant(controlled_weights, "not_scaled_at_all", (" / q.shape[-1] ** 0.5", "")),
            NOT_SCALED,
            frozenset({"scaling", "norm", "cap", "together", "dead", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "softcap_not_used",
                (
                    "    if softcap is not None:\n        logits = softcap * torch.tanh(logits / softcap)\n",
                    "",
                ),
            ),
            Text("softcap을 쓰지 않았습니다.", "softcap is not used."),
            frozenset({"cap", "together", "far"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "tanh_overflows",
                (
                    "torch.tanh(logits / softcap)",
                    "((2 * logits / softcap).exp() - 1) / ((2 * logits / softcap).exp() + 1)",
                ),
            ),
            Text(
                "tanh를 exp로 직접 계산했습니다. 큰 score에서 ∞ / ∞ = NaN이 됩니다. torch.tanh를 쓰세요.",
                "tanh is computed from exp, and ∞ / ∞ = NaN for a large score. Use torch.tanh.",
            ),
            frozenset({"far"}),
        ),
        Mistake(
            variant(controlled_weights, "keys_all_transposed", ("q @ k.mT", "q @ k.T")),
            ALL_AXES_REVERSED_IN_TORCH,
            frozenset({"scaling", "norm", "cap", "together"}),
        ),
        Mistake(
            variant(controlled_weights, "truth_of_the_gains", ("if q_gain is not None", "if q_gain")),
            TRUTH_OF_AN_ARRAY,
            frozenset({"norm", "together", "zero"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "one_maximum_for_all",
                (
                    "weights = logits.softmax(dim=-1)",
                    "weights = (logits - logits.max()).exp()\n    weights = weights / weights.sum(dim=-1, keepdim=True)",
                ),
            ),
            ONE_MAXIMUM_FOR_ALL_IN_TORCH,
            frozenset({"far"}),
        ),
        Mistake(
            variant(
                controlled_weights,
                "exponential_overflows_unselected",
                (
                    "weights = logits.softmax(dim=-1)",
                    "weights = logits.exp() / logits.exp().sum(dim=-1, keepdim=True)",
                ),
                ("torch.where(alive, weights, 0.0)", "torch.where(mask, weights, 0.0)"),
            ),
            EXPONENTIAL_OVERFLOWS_IN_TORCH,
            frozenset({"far"}),
        ),
    ),
    right_answers=(controlled_by_functions, controlled_by_hand, controlled_by_modules, controlled_row_by_row),
)


# --- Task 5: MultiHeadAttention -------------------------------------------------------------------------------


class MultiHeadAttention(nn.Module):
    """Heads that read `memory` with the Queries of `x`; `heads // kv_heads` Query heads share a Key and Value head."""

    def __init__(self, d_model, heads, kv_heads, d_k):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.w_q = nn.Linear(d_model, heads * d_k, bias=False)
        self.w_k = nn.Linear(d_model, kv_heads * d_k, bias=False)
        self.w_v = nn.Linear(d_model, kv_heads * d_k, bias=False)
        self.w_o = nn.Linear(heads * d_k, d_model, bias=False)

    def forward(self, x, memory, mask=None):
        """x (..., n_q, d_model), memory (..., n_k, d_model), mask (..., n_q, n_k) -> (..., n_q, d_model)"""
        repeat = self.heads // self.kv_heads
        q = split_heads(self.w_q(x), self.heads)
        k = split_heads(self.w_k(memory), self.kv_heads, repeat)
        v = split_heads(self.w_v(memory), self.kv_heads, repeat)
        mask = None if mask is None else mask.unsqueeze(-3)
        output, _ = attention(q, k, v, mask)
        return self.w_o(merge_heads(output))


D_MODEL, D_K = 5, 2
WEIGHTS = ("w_q.weight", "w_k.weight", "w_v.weight", "w_o.weight")


def random_module(rng, heads, kv_heads, *batch):
    """Sizes, parameters as torch keeps them (out, in), and inputs; in float32, as a new module is."""
    shapes = {
        "w_q.weight": (heads * D_K, D_MODEL),
        "w_k.weight": (kv_heads * D_K, D_MODEL),
        "w_v.weight": (kv_heads * D_K, D_MODEL),
        "w_o.weight": (D_MODEL, heads * D_K),
        "x": (*batch, 7, D_MODEL),
        "memory": (*batch, 11, D_MODEL),
    }
    sizes = {"d_model": D_MODEL, "heads": heads, "kv_heads": kv_heads, "d_k": D_K}
    spread = {name: 0.4 if name in WEIGHTS else 1.0 for name in shapes}
    return sizes | {
        name: (spread[name] * rng.normal(size=shape)).astype(np.float32) for name, shape in shapes.items()
    }


def draw_module(rng):
    return [random_module(rng, 3, 3)]


def draw_shared_module(rng):
    return [random_module(rng, 6, 2)]


def draw_module_batches(rng):
    return [random_module(rng, 4, 2, 3), random_module(rng, 4, 1, 3, 1)]


def draw_masked_module(rng):
    one, masks = random_module(rng, 2, 2), np.stack([random_mask(rng, 7, 11) for _ in range(3)])
    hidden = rng.integers(11)
    mask = masks[0].copy()
    mask[:, hidden] = False
    mask[~mask.any(axis=1), (hidden + 1) % 11] = True
    one["memory"][hidden] = 1e3
    batch = random_module(rng, 4, 2, 3)
    return [{**one, "mask": mask}, {**batch, "mask": masks}, {**batch, "mask": masks[0]}]


def draw_dead_module(rng):
    return [{**random_module(rng, 3, 3), "mask": random_mask(rng, 7, 11, dead_row=True)}]


def draw_extreme_module(rng):
    # Queries and Keys above 0, and tokens that differ by their size alone: the largest wins by far in every precision.
    inputs = random_module(rng, 2, 2)
    for name in ("w_q.weight", "w_k.weight", "x"):
        inputs[name] = np.abs(inputs[name]) + np.float32(0.2)
    sizes = 1e4 * rng.permutation(np.arange(-5.0, 6.0))[:, None]
    # And the one token that is allowed has a score below any number that stands for -inf.
    far_below, mask = np.zeros((11, D_MODEL), dtype=np.float32), np.zeros((7, 11), dtype=bool)
    allowed = rng.integers(11)
    far_below[allowed], mask[:, allowed] = -1e20, True
    return [
        {**inputs, "memory": (sizes * np.ones((11, D_MODEL))).astype(np.float32)},
        {**inputs, "memory": far_below, "mask": mask},
    ]


MODULE_PARTS = (
    Part("mha", 1, Text("MHA", "MHA"), draw_module),
    Part("gqa", 1, Text("GQA", "GQA"), draw_shared_module),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_module_batches),
    Part("masked", 2, Text("mask", "a mask"), draw_masked_module),
    Part("dead", 1, Text("볼 Key가 없는 Query", "a Query that may attend to no Key"), draw_dead_module),
    Part("extremes", 1, Text("아주 큰 scores", "very large scores"), draw_extreme_module),
)


class ModuleOfEinsums(nn.Module):
    def __init__(self, d_model, heads, kv_heads, d_k):
        super().__init__()
        self.shape = (kv_heads, heads // kv_heads, d_k)
        self.w_q = nn.Linear(d_model, heads * d_k, bias=False)
        self.w_k = nn.Linear(d_model, kv_heads * d_k, bias=False)
        self.w_v = nn.Linear(d_model, kv_heads * d_k, bias=False)
        self.w_o = nn.Linear(heads * d_k, d_model, bias=False)

    def forward(self, x, memory, mask=None):
        groups, members, d_k = self.shape
        q = self.w_q(x).unflatten(-1, (groups, members, d_k))
        k = self.w_k(memory).unflatten(-1, (groups, d_k))
        v = self.w_v(memory).unflatten(-1, (groups, d_k))
        logits = torch.einsum("...igmd,...jgd->...gmij", q, k) / d_k**0.5
        if mask is not None:
            hidden = ~mask[..., None, None, :, :]
            logits = logits.masked_fill(hidden, torch.finfo(logits.dtype).min)
        weights = logits.softmax(dim=-1)
        if mask is not None:
            weights = weights.masked_fill(hidden, 0.0)
        return self.w_o(torch.einsum("...gmij,...jgd->...igmd", weights, v).flatten(-3))


class ModuleOfHeads(nn.Module):
    def __init__(self, d_model, heads, kv_heads, d_k):
        super().__init__()
        self.heads, self.repeat, self.d_k = heads, heads // kv_heads, d_k
        sizes = {"w_q": (d_model, heads * d_k), "w_o": (heads * d_k, d_model)}
        sizes |= dict.fromkeys(("w_k", "w_v"), (d_model, kv_heads * d_k))
        for name, (d_in, d_out) in sizes.items():
            self.add_module(name, nn.Linear(d_in, d_out, bias=False))

    def forward(self, x, memory, mask=None):
        q, k, v = self.w_q(x), self.w_k(memory), self.w_v(memory)
        outputs = []
        for head in range(self.heads):
            own, shared = (slice(i * self.d_k, (i + 1) * self.d_k) for i in (head, head // self.repeat))
            output, _ = attention(q[..., own], k[..., shared], v[..., shared], mask)
            outputs.append(output)
        return self.w_o(torch.cat(outputs, dim=-1))


class Projection(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in).normal_())

    def forward(self, x):
        return x @ self.weight.T


class ModuleOfParameters(nn.Module):
    def __init__(self, d_model, heads, kv_heads, d_k):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.w_q, self.w_o = Projection(d_model, heads * d_k), Projection(heads * d_k, d_model)
        self.w_k, self.w_v = (Projection(d_model, kv_heads * d_k) for _ in range(2))

    def forward(self, x, memory, mask=None):
        q = split_by_chunks(self.w_q(x), self.heads)
        repeat = self.heads // self.kv_heads
        k, v = (split_by_chunks(w(memory), self.kv_heads, repeat) for w in (self.w_k, self.w_v))
        mask = mask if mask is None else mask[..., None, :, :].expand(*q.shape[:-1], -1)
        return self.w_o(merge_by_unbinding(attention_by_einsum(q, k, v, mask)[0]))


class ModuleThatSums(nn.Module):
    def __init__(self, d_model, heads, kv_heads, d_k):
        super().__init__()
        self.heads, self.kv_heads, self.d_k = heads, kv_heads, d_k
        self.w_q = nn.Linear(d_model, heads * d_k, bias=False)
        self.w_k = nn.Linear(d_model, kv_heads * d_k, bias=False)
        self.w_v = nn.Linear(d_model, kv_heads * d_k, bias=False)
        self.w_o = nn.Linear(heads * d_k, d_model, bias=False)

    def forward(self, x, memory, mask=None):
        total = 0.0
        groups = [h * self.kv_heads // self.heads for h in range(self.heads)]
        for head, group in enumerate(groups):
            own = slice(head * self.d_k, (head + 1) * self.d_k)
            shared = slice(group * self.d_k, (group + 1) * self.d_k)
            logits = x @ self.w_q.weight[own].T @ (memory @ self.w_k.weight[shared].T).mT * self.d_k**-0.5
            weights = SoftmaxOverKeys(mask)(logits)
            total = total + weights @ memory @ self.w_v.weight[shared].T @ self.w_o.weight[:, own].T
        return total


class ThreeAxesExpected(MultiHeadAttention):
    def forward(self, x, memory, mask=None):
        _batch, _n_q, _d_model = x.shape
        return super().forward(x, memory, mask)


class NotAModule:
    def __init__(self, d_model, heads, kv_heads, d_k):
        self.heads, self.kv_heads = heads, kv_heads
        self.w_q = nn.Linear(d_model, heads * d_k, bias=False)
        self.w_k = nn.Linear(d_model, kv_heads * d_k, bias=False)
        self.w_v = nn.Linear(d_model, kv_heads * d_k, bias=False)
        self.w_o = nn.Linear(heads * d_k, d_model, bias=False)

    def __call__(self, x, memory, mask=None):
        return MultiHeadAttention.forward(self, x, memory, mask)


HEADS_RESHAPED = Text(
    "heads를 view나 reshape만으로 나누어 tokens와 섞였습니다. 마지막 축을 (heads, d_k)로 나눈 뒤 축을 옮기세요 (과제 2의 split_heads).",
    "The heads are split by a view or reshape alone, which mixes them up with tokens. Split the last axis into (heads, d_k), "
    "then move the axis (split_heads of task 2).",
)
MODULE_WITH_MASK = frozenset({"masked", "dead", "extremes"})


MULTI_HEAD_ATTENTION = Task(
    name="MultiHeadAttention",
    reference=MultiHeadAttention,
    parts=MODULE_PARTS,
    see="heads.html#mha",
    rtol=1e-3,
    atol=1e-4,
    way=Way(
        kind="class",
        build=("d_model", "heads", "kv_heads", "d_k"),
        state=WEIGHTS,
        torch=True,
        gradients=("x", "memory", *WEIGHTS),
    ),
    forbidden=FUSED,
    mistakes=(
        Mistake(
            variant(
                MultiHeadAttention,
                "WithBias",
                (
                    "self.w_q = nn.Linear(d_model, heads * d_k, bias=False)",
                    "self.w_q = nn.Linear(d_model, heads * d_k)",
                ),
            ),
            Text(
                "parameters의 이름이나 shape가 다릅니다. nn.Linear의 기본값은 bias가 있습니다. bias=False로 두고, w_k와 w_v의 "
                "폭은 kv_heads · d_k입니다.",
                "Names or shapes of the parameters are different. By default nn.Linear has a bias: set bias=False. w_k and w_v "
                "are kv_heads · d_k wide.",
            ),
            everywhere(MODULE_PARTS),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "NoOutputProjection",
                ("self.w_o(merge_heads(output))", "merge_heads(output)"),
            ),
            Text(
                "w_o를 쓰지 않았습니다. 이어 붙인 heads를 섞어 d_model로 되돌립니다.",
                "w_o is not used. It mixes the heads that stand side by side and leads back to d_model.",
            ),
            everywhere(MODULE_PARTS),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "TiledHeads",
                (
                    "k = split_heads(self.w_k(memory), self.kv_heads, repeat)",
                    "k = torch.cat([split_heads(self.w_k(memory), self.kv_heads)] * repeat, dim=-3)",
                ),
                (
                    "v = split_heads(self.w_v(memory), self.kv_heads, repeat)",
                    "v = torch.cat([split_heads(self.w_v(memory), self.kv_heads)] * repeat, dim=-3)",
                ),
            ),
            Text(
                "KV heads를 통째로 이어 붙였습니다 (tile). 이웃한 Query heads가 한 KV head를 나누어 씁니다: h0, h0, h1, h1.",
                "All KV heads are repeated one after another (tile). Neighbouring Query heads share one: h0, h0, h1, h1.",
            ),
            frozenset({"gqa", "batches", "masked"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "HeadsReshaped",
                (
                    "q = split_heads(self.w_q(x), self.heads)",
                    "q = self.w_q(x).reshape(*x.shape[:-2], self.heads, x.shape[-2], -1)",
                ),
            ),
            HEADS_RESHAPED,
            everywhere(MODULE_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "AllHeadsReshaped",
                (
                    "q = split_heads(self.w_q(x), self.heads)",
                    "q = reshaped_at_once(self.w_q(x), self.heads)",
                ),
                ("k = split_heads", "k = reshaped_at_once"),
                ("v = split_heads", "v = reshaped_at_once"),
            ),
            HEADS_RESHAPED,
            everywhere(MODULE_PARTS),
        ),
        Mistake(ThreeAxesExpected, THREE_AXES, everywhere(MODULE_PARTS)),
        Mistake(
            variant(
                MultiHeadAttention,
                "NotScaled",
                ("attention(q, k, v, mask)", "attention(q, k, v, mask, 1.0)"),
            ),
            NOT_SCALED,
            everywhere(MODULE_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "FiniteFill",
                ("attention(q, k, v, mask)", "finite_fill_plainly(q, k, v, mask)"),
            ),
            FINITE_FILL,
            frozenset({"dead", "extremes"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "FiniteFillMended",
                ("attention(q, k, v, mask)", "finite_fill_mended(q, k, v, mask)"),
            ),
            FINITE_FILL,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention, "MaskAdded", ("attention(q, k, v, mask)", "mask_added(q, k, v, mask)")
            ),
            MASK_ADDED,
            MODULE_WITH_MASK,
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "RepeatedByKvHeads",
                ("repeat = self.heads // self.kv_heads", "repeat = self.kv_heads"),
            ),
            Text(
                "KV head마다 되풀이한 횟수가 다릅니다. KV head 하나를 나누어 쓰는 Query heads는 heads // kv_heads 개입니다.",
                "Each KV head is repeated a wrong number of times. heads // kv_heads Query heads share one of them.",
            ),
            everywhere(MODULE_PARTS) - {"batches"},
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "KeysAsWideAsQueries",
                (
                    "self.w_k = nn.Linear(d_model, kv_heads * d_k, bias=False)",
                    "self.w_k = nn.Linear(d_model, heads * d_k, bias=False)",
                ),
                (
                    "self.w_v = nn.Linear(d_model, kv_heads * d_k, bias=False)",
                    "self.w_v = nn.Linear(d_model, heads * d_k, bias=False)",
                ),
            ),
            Text(
                "w_k와 w_v를 w_q만큼 넓게 만들었습니다. KV heads는 kv_heads 개뿐이므로 폭은 kv_heads · d_k입니다.",
                "w_k and w_v are as wide as w_q. There are only kv_heads KV heads: they are kv_heads · d_k wide.",
            ),
            frozenset({"gqa", "batches", "masked"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "MemoryNotUsed",
                ("self.w_k(memory)", "self.w_k(x)"),
                ("self.w_v(memory)", "self.w_v(x)"),
            ),
            Text(
                "Keys와 Values를 x에서 만들었습니다 (self-attention). 이 module은 memory를 읽습니다: w_k(memory), w_v(memory).",
                "Keys and Values are made of x (self-attention). This module reads the memory: w_k(memory), w_v(memory).",
            ),
            everywhere(MODULE_PARTS),
        ),
        Mistake(
            NotAModule,
            Text(
                "class가 nn.Module이 아니어서 parameters에 값을 넣을 수 없습니다. class MultiHeadAttention(nn.Module)로 쓰고 __init__에서 "
                "super().__init__()을 부르세요.",
                "The class is no nn.Module, so its parameters can't be filled. Write class MultiHeadAttention(nn.Module), and call "
                "super().__init__() in __init__.",
            ),
            everywhere(MODULE_PARTS),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "OutputReshaped",
                ("merge_heads(output)", "output.reshape(*x.shape[:-1], -1)"),
            ),
            Text(
                "heads를 reshape만으로 이어 붙여 tokens와 섞였습니다.",
                "The heads are joined by a reshape alone, which mixes them up with tokens.",
            ),
            everywhere(MODULE_PARTS),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "ScaledByTheModel",
                ("attention(q, k, v, mask)", "attention(q, k, v, mask, x.shape[-1] ** -0.5)"),
            ),
            Text(
                "√d_model로 나누었습니다. head 하나의 dot product는 d_k만큼 깁니다.",
                "This divides by √d_model. A head's dot product is d_k long.",
            ),
            everywhere(MODULE_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "ScaledByDk",
                ("attention(q, k, v, mask)", "attention(q, k, v, mask, 1 / q.shape[-1])"),
            ),
            DIVIDED_BY_D_K,
            everywhere(MODULE_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "SoftmaxOverQueries",
                ("attention(q, k, v, mask)", "softmax_over_queries(q, k, v, mask)"),
            ),
            SOFTMAX_OVER_QUERIES_IN_TORCH,
            everywhere(MODULE_PARTS),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "ExponentialOverflows",
                ("attention(q, k, v, mask)", "exponential_overflows(q, k, v, mask)"),
            ),
            EXPONENTIAL_OVERFLOWS_IN_TORCH,
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "MaskMultiplied",
                ("attention(q, k, v, mask)", "mask_multiplied(q, k, v, mask)"),
            ),
            MASK_MULTIPLIED_IN_TORCH,
            MODULE_WITH_MASK,
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "MaskedAfterSoftmax",
                ("attention(q, k, v, mask)", "weights_masked_afterwards(q, k, v, mask)"),
            ),
            MASKED_AFTER_SOFTMAX,
            MODULE_WITH_MASK,
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "ScaledByAllHeads",
                ("attention(q, k, v, mask)", "attention(q, k, v, mask, (self.heads * q.shape[-1]) ** -0.5)"),
            ),
            Text(
                "모든 heads의 폭 √(heads · d_k)로 나누었습니다. head 하나의 √d_k입니다.",
                "This divides by the width of all heads, √(heads · d_k). It is √d_k, that of one.",
            ),
            everywhere(MODULE_PARTS) - {"extremes"},
        ),
        Mistake(
            variant(MultiHeadAttention, "MaskWithoutHeads", ("mask.unsqueeze(-3)", "mask")),
            Text(
                "mask의 heads 축이 없거나 맨 앞에 있습니다. (batch, n_q, n_k)의 batch가 heads 자리에 놓입니다: mask.unsqueeze(-3).",
                "The mask has no axis for the heads, or has it in front, so that the batch of (batch, n_q, "
                "n_k) takes their place: mask.unsqueeze(-3).",
            ),
            frozenset({"masked"}),
        ),
        Mistake(
            variant(MultiHeadAttention, "MaskOfOneBatchAxis", ("mask.unsqueeze(-3)", "mask.unsqueeze(1)")),
            Text(
                "mask.unsqueeze(1)은 (batch, n_q, n_k)에만 맞습니다. (n_q, n_k)도 오므로 뒤에서 세세요: mask.unsqueeze(-3).",
                "mask.unsqueeze(1) fits (batch, n_q, n_k) only. Masks (n_q, n_k) come too: count from the end, mask.unsqueeze(-3).",
            ),
            MODULE_WITH_MASK,
        ),
        Mistake(
            variant(MultiHeadAttention, "MaskInverted", ("mask.unsqueeze(-3)", "~mask.unsqueeze(-3)")),
            Text(
                "mask를 반대로 읽었습니다. True는 '볼 수 있음'입니다 (nn.MultiheadAttention과 반대).",
                "The mask is inverted. True means may attend, the opposite of nn.MultiheadAttention.",
            ),
            MODULE_WITH_MASK,
        ),
        Mistake(
            variant(MultiHeadAttention, "MaskNotUsed", ("attention(q, k, v, mask)", "attention(q, k, v)")),
            MASK_NOT_USED,
            MODULE_WITH_MASK,
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "KeysAndValuesExchanged",
                ("split_heads(self.w_k(memory)", "split_heads(self.w_v(memory)"),
                ("v = split_heads(self.w_v(memory)", "v = split_heads(self.w_k(memory)"),
            ),
            Text(
                "w_k와 w_v가 바뀌었습니다.",
                "w_k and w_v have changed places.",
            ),
            everywhere(MODULE_PARTS),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "DeadQueryUndefined",
                ("attention(q, k, v, mask)", "masked_fill_alone(q, k, v, mask)"),
            ),
            Text(
                "볼 Key가 없는 Query의 output이 NaN입니다. 그 heads는 0을 내고, 0은 w_o를 지나도 0입니다.",
                "The output of a Query that may attend to no Key is NaN. Its heads give 0, which w_o leaves 0.",
            ),
            frozenset({"dead"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "DeadQueryUniform",
                ("mask.unsqueeze(-3)", "(mask | ~mask.any(dim=-1, keepdim=True)).unsqueeze(-3)"),
            ),
            DEAD_QUERY_OPENED,
            frozenset({"dead"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "MaskRequired",
                ("None if mask is None else mask.unsqueeze(-3)", "mask.unsqueeze(-3)"),
            ),
            MASK_REQUIRED,
            everywhere(MODULE_PARTS) - {"masked", "dead"},
        ),
        Mistake(
            variant(MultiHeadAttention, "WithoutSuper", ("        super().__init__()\n", "")),
            Text(
                "__init__이 nn.Module의 __init__을 부르지 않았습니다. 맨 처음에 super().__init__()을 쓰세요.",
                "__init__ doesn't call that of nn.Module. Begin with super().__init__().",
            ),
            everywhere(MODULE_PARTS),
        ),
        Mistake(
            variant(
                MultiHeadAttention, "WeightsNotSplitOff", ("output, _ = attention", "output = attention")
            ),
            Text(
                "attention은 (output, weights) 둘을 돌려줍니다. output만 merge_heads에 넘기세요: output, _ = attention(...).",
                "attention gives two results, (output, weights). Pass the output on alone: output, _ = attention(...).",
            ),
            everywhere(MODULE_PARTS),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "TiledKeys",
                (
                    "k = split_heads(self.w_k(memory), self.kv_heads, repeat)",
                    "k = torch.cat([split_heads(self.w_k(memory), self.kv_heads)] * repeat, dim=-3)",
                ),
            ),
            Text(
                "Keys의 heads만 통째로 이어 붙였습니다 (tile). Values처럼 이웃한 Query heads가 한 KV head를 나누어 씁니다: h0, h0, h1, h1.",
                "The Keys' heads are repeated one after another (tile), those of the Values are not. In "
                "both, neighbouring Query heads share one: h0, h0, h1, h1.",
            ),
            frozenset({"gqa", "batches", "masked"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "TiledValues",
                (
                    "v = split_heads(self.w_v(memory), self.kv_heads, repeat)",
                    "v = torch.cat([split_heads(self.w_v(memory), self.kv_heads)] * repeat, dim=-3)",
                ),
            ),
            Text(
                "Values의 heads만 통째로 이어 붙였습니다 (tile). Keys처럼 이웃한 Query heads가 한 KV head를 나누어 씁니다: h0, h0, h1, h1.",
                "The Values' heads are repeated one after another (tile), those of the Keys are not. In "
                "both, neighbouring Query heads share one: h0, h0, h1, h1.",
            ),
            frozenset({"gqa", "batches", "masked"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "KvHeadsNotRepeated",
                (
                    "k = split_heads(self.w_k(memory), self.kv_heads, repeat)",
                    "k = split_heads(self.w_k(memory), self.kv_heads)",
                ),
                (
                    "v = split_heads(self.w_v(memory), self.kv_heads, repeat)",
                    "v = split_heads(self.w_v(memory), self.kv_heads)",
                ),
            ),
            Text(
                "KV heads를 되풀이하지 않아 Query heads와 수가 다릅니다. KV head마다 heads // kv_heads 번 되풀이하세요.",
                "The KV heads are not repeated, so that there are fewer than Query heads. Repeat each heads "
                "// kv_heads times.",
            ),
            frozenset({"gqa", "batches", "masked"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "RolesExchanged",
                ("self.w_q(x)", "self.w_q(memory)"),
                ("self.w_k(memory)", "self.w_k(x)"),
                ("self.w_v(memory)", "self.w_v(x)"),
            ),
            Text(
                "x와 memory의 자리가 바뀌었습니다. Queries는 x에서, Keys와 Values는 memory에서 만듭니다.",
                "x and memory have changed places. The Queries are made of x, Keys and Values of memory.",
            ),
            frozenset({"mha", "gqa", "batches", "masked", "dead", "extremes"}),
        ),
        Mistake(
            variant(MultiHeadAttention, "QueriesOfTheMemory", ("self.w_q(x)", "self.w_q(memory)")),
            Text(
                "Queries까지 memory에서 만들어 x를 쓰지 않습니다. Queries는 x에서 만듭니다: w_q(x).",
                "The Queries are made of memory as well, and x isn't used. They are made of x: w_q(x).",
            ),
            frozenset({"mha", "gqa", "batches", "masked", "dead", "extremes"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "Squeezed",
                ("self.w_o(merge_heads(output))", "self.w_o(merge_heads(output)).squeeze()"),
            ),
            AXES_DROPPED_IN_TORCH,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "TruthOfTheMask",
                ("None if mask is None else mask.unsqueeze(-3)", "mask.unsqueeze(-3) if mask else None"),
            ),
            TRUTH_OF_AN_ARRAY,
            frozenset({"masked", "dead", "extremes"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "WeightsDetached",
                (
                    "output, _ = attention(q, k, v, mask)",
                    "_, weights = attention(q, k, v, mask)\n        output = weights.detach() @ v",
                ),
            ),
            Text(
                "weights를 detach하여 gradient가 x에도 w_q와 w_k에도 닿지 않습니다.",
                "The weights are detached, so that no gradient gets to x, nor to w_q and w_k.",
            ),
            frozenset({"mha", "gqa", "batches", "masked", "dead", "extremes"}),
        ),
        Mistake(
            variant(
                MultiHeadAttention,
                "ResidualAdded",
                ("self.w_o(merge_heads(output))", "x + self.w_o(merge_heads(output))"),
            ),
            Text(
                "x를 더했습니다 (residual). 이 module의 결과는 더하기 전의 것입니다.",
                "x is added (a residual connection). This module's result is what comes before that.",
            ),
            frozenset({"mha", "gqa", "batches", "masked", "dead", "extremes"}),
        ),
        Mistake(
            variant(MultiHeadAttention, "ValuesOfTheInput", ("self.w_v(memory)", "self.w_v(x)")),
            Text(
                "Values를 x에서 만들었습니다. Keys와 Values는 같은 memory에서 나옵니다: w_v(memory).",
                "The Values are made of x. Keys and Values come from the same memory: w_v(memory).",
            ),
            frozenset({"mha", "gqa", "batches", "masked", "dead", "extremes"}),
        ),
    ),
    right_answers=(ModuleOfEinsums, ModuleOfHeads, ModuleOfParameters, ModuleThatSums),
)

BANK = Bank(
    "ps4",
    (ATTENTION, SPLIT_HEADS, MERGE_HEADS, CONTROLLED_WEIGHTS, MULTI_HEAD_ATTENTION),
    modules=("torch",),
)
