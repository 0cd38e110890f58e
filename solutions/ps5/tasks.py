"""Problem set 5, Attention and FFN: the bank of its tasks."""

import math
from fractions import Fraction

import numpy as np

from course_lib.checks import Text
from course_lib.grading.bank import Bank, Mistake, Part, Task, Written, everywhere, variant
from course_lib.grading.hints import (
    ALL_AXES_REVERSED,
    AXES_OF_LENGTH_1_DROPPED,
    AXIS_LOST,
    COMPARED_AS_A_WHOLE,
    DIVIDED_BY_D_K,
    EXPONENTIAL_OVERFLOWS,
    HALF_PRECISION,
    MEAN_SUBTRACTED,
    NOT_SCALED,
    ONE_MAXIMUM_FOR_ALL,
    SCALED_BY_D_V,
    SOFTMAX_OVER_QUERIES,
    TRUTH_OF_AN_ARRAY,
)

# --- Task 1: layer_cost ---------------------------------------------------------------------------------------


def layer_cost(n, d_model, heads, kv_heads=None, d_k=None, d_ff=None, gated=False):
    """n (...) -> whole numbers (..., 4): parameters and FLOPs of Attention, parameters and FLOPs of the FFN"""
    kv_heads = heads if kv_heads is None else kv_heads
    d_k = d_model // heads if d_k is None else d_k
    d_ff = 4 * d_model if d_ff is None else d_ff
    attention = 2 * d_model * (heads + kv_heads) * d_k
    feed_forward = (3 if gated else 2) * d_model * d_ff
    products = 4 * n**2 * heads * d_k
    counts = (attention, 2 * n * attention + products, feed_forward, 2 * n * feed_forward)
    return np.stack(np.broadcast_arrays(*counts), axis=-1)


def random_lengths(rng, shape):
    """Token counts of one size or another, no two of them alike."""
    return rng.permutation(np.arange(5, 29))[: np.prod(shape, dtype=int)].reshape(shape)


def draw_vanilla_layer(rng):
    heads, width = (int(rng.choice(primes)) for primes in ((3, 5), (7, 11)))
    return [
        {"n": random_lengths(rng, (3,)), "d_model": heads * width, "heads": heads},
        {"n": random_lengths(rng, (2, 3)), "d_model": 5 * width, "heads": 5},
        {"n": random_lengths(rng, (2, 1)), "d_model": 3 * width, "heads": 3},
    ]


def draw_shared_kv_heads(rng):
    groups, width = (int(rng.choice(primes)) for primes in ((3, 5), (7, 11)))
    return [
        {"n": random_lengths(rng, (3,)), "d_model": 2 * groups * width, "heads": 2 * groups, "kv_heads": 2},
        {"n": random_lengths(rng, (2,)), "d_model": groups * width, "heads": groups, "kv_heads": 1},
    ]


def draw_given_widths(rng):
    d_ff = int(rng.choice([43, 53, 61]))
    return [{"n": random_lengths(rng, (3,)), "d_model": 17, "heads": 3, "d_k": 11, "d_ff": d_ff}]


def draw_gated_layer(rng):
    # With 8/3 of d_model, 56, three matrices would be as large as the two of the default.
    d_ff = int(rng.choice([53, 59, 61]))
    return [
        {"n": random_lengths(rng, (3,)), "d_model": 21, "heads": 3, "d_ff": d_ff, "gated": True},
        {"n": random_lengths(rng, (2,)), "d_model": 35, "heads": 5, "gated": True},
    ]


def draw_large_layer(rng):
    n = 2 * rng.permutation(np.arange(4096, 32768))[:2] + 1
    return [{"n": n, "d_model": 4096, "heads": 32, "kv_heads": 8, "d_ff": 14336, "gated": True}]


COST_PARTS = (
    Part("vanilla", 2, Text("기본 크기, 여러 길이", "default sizes, several lengths"), draw_vanilla_layer),
    Part(
        "shared",
        1,
        Text("Query head보다 적은 KV head", "fewer KV heads than Query heads"),
        draw_shared_kv_heads,
    ),
    Part("widths", 1, Text("주어진 d_k와 d_ff", "given d_k and d_ff"), draw_given_widths),
    Part("gated", 1, Text("SwiGLU", "SwiGLU"), draw_gated_layer),
    Part("large", 1, Text("실제 모델의 크기", "the sizes of a real model"), draw_large_layer),
)


def cost_of_matrices(n, d_model, heads, kv_heads=None, d_k=None, d_ff=None, gated=False):
    kv_heads, d_k, d_ff = kv_heads or heads, d_k or d_model // heads, d_ff or 4 * d_model
    w_q, w_o = (d_model, heads * d_k), (heads * d_k, d_model)
    w_k = w_v = (d_model, kv_heads * d_k)
    w_up, w_down = (d_model, d_ff), (d_ff, d_model)
    rows = []
    for tokens in np.ravel(n).tolist():
        row = []
        for matrices in ([w_q, w_k, w_v, w_o], [w_up, w_down] + [w_up] * gated):
            row += [sum(a * b for a, b in matrices), sum(2 * tokens * a * b for a, b in matrices)]
        row[1] += heads * (2 * tokens * d_k * tokens + 2 * tokens * tokens * d_k)
        rows.append(row)
    return np.array(rows).reshape(*np.shape(n), 4)


def cost_in_float64(n, d_model, heads, kv_heads=None, d_k=None, d_ff=None, gated=False):
    n, result = n.astype(float), np.empty((*n.shape, 4))
    inner = heads * (d_k or d_model / heads)
    share = (kv_heads or heads) / heads
    result[..., 0] = round(2 * d_model * inner * (1 + share))
    result[..., 1] = 2 * n * result[..., 0] + 4 * n * n * inner
    result[..., 2] = (2 + gated) * d_model * (d_ff or 4 * d_model)
    result[..., 3] = 2 * n * result[..., 2]
    return np.round(result)


def cost_in_lists(n, d_model, heads, kv_heads=None, d_k=None, d_ff=None, gated=False):
    if np.ndim(n):
        return [cost_in_lists(m, d_model, heads, kv_heads, d_k, d_ff, gated) for m in n]
    kv_heads = kv_heads if kv_heads is not None else heads
    d_k = d_k if d_k is not None else d_model // heads
    projections = heads * d_model * d_k + 2 * kv_heads * d_model * d_k + heads * d_k * d_model
    ffn = (3 if gated else 2) * d_model * (d_ff if d_ff is not None else 4 * d_model)
    n = int(n)
    return [projections, n * (2 * projections + 4 * n * heads * d_k), ffn, 2 * n * ffn]


def cost_in_torch(n, d_model, heads, kv_heads=None, d_k=None, d_ff=None, gated=False):
    import torch

    n = torch.as_tensor(n)
    inner = heads * (d_k or d_model // heads)
    attention = torch.full_like(n, 2 * d_model * (inner + inner // heads * (kv_heads or heads)))
    ffn = torch.full_like(n, (2 + int(gated)) * d_model * (d_ff or 4 * d_model))
    return torch.stack([attention, 2 * n * (attention + 2 * n * inner), ffn, 2 * n * ffn], dim=-1)


SHAPES_APART = Text(
    "parameters는 수 하나, FLOPs는 n의 shape이라 그대로는 쌓이지 않습니다. np.broadcast_arrays로 shape를 맞추고 쌓으세요.",
    "Parameters are one number each, FLOPs have the shape of n: they don't stack as they are. Bring them to one shape with "
    "np.broadcast_arrays first.",
)


def sizes_of_the_lecture(n, d_model, heads, kv_heads=None, d_k=None, d_ff=None, gated=False):
    return layer_cost(n, d_model, heads)


EVERY_HEAD_FULL_WIDTH = Text(
    "head마다 폭을 d_model로 잡았습니다. d_k가 없으면 폭을 나누어 d_model / heads씩 갖습니다.",
    "Each head has the whole width d_model here. Where d_k is not given, heads share it: d_model / heads each.",
)
KV_HEADS_REQUIRED = Text(
    "kv_heads가 None일 때 실패합니다. 주어지지 않으면 heads와 같습니다 (MHA).",
    "This fails where kv_heads is None. Not given, it equals heads (MHA).",
)


D_K_REQUIRED = Text(
    "d_k가 None일 때 실패합니다. 주어지지 않으면 d_model // heads입니다.",
    "This fails where d_k is None. Not given, it is d_model // heads.",
)
D_K_OF_KV_HEADS = Text(
    "d_k를 d_model // kv_heads로 구했습니다. 주어지지 않으면 d_model // heads입니다.",
    "d_k is taken as d_model // kv_heads. Not given, it is d_model // heads.",
)
NONE_IN_A_PRODUCT = Text(
    "None으로 계산했습니다. 주어지지 않은 인자에 기본값을 넣지 않았거나, 부른 함수에 return이 없습니다.",
    "None is computed with. Either an argument that was not given has no default yet, or a function that is "
    "called returns nothing.",
)


LAYER_COST = Task(
    name="layer_cost",
    reference=layer_cost,
    parts=COST_PARTS,
    see="attention-and-ffn.html#parameters-and-flops",
    rtol=0,
    atol=0,
    mistakes=(
        Mistake(
            sizes_of_the_lecture,
            Text(
                "4d²와 8d²는 기본 크기에서만 맞습니다. 주어진 kv_heads, d_k, d_ff, gated로 행렬을 하나씩 세세요.",
                "4d² and 8d² hold for the default sizes only. Count matrix by matrix, with the kv_heads, d_k, d_ff and gated that are given.",
            ),
            frozenset({"shared", "widths", "gated", "large"}),
        ),
        Mistake(
            variant(
                layer_cost,
                "one_flop_each",
                ("2 * n * attention + products", "n * attention + products // 2"),
                ("2 * n * feed_forward", "n * feed_forward"),
            ),
            Text(
                "곱셈과 덧셈을 묶어 1 FLOP으로 세었습니다. 여기서는 multiply-add 하나가 2 FLOPs입니다.",
                "A multiplication and its addition count as one FLOP here. A multiply-add is 2 FLOPs.",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(
                layer_cost,
                "output_projection_forgotten",
                ("2 * d_model * (heads + kv_heads) * d_k", "d_model * (heads + 2 * kv_heads) * d_k"),
            ),
            Text(
                "W_O가 빠졌습니다. Attention의 행렬은 W_Q, W_K, W_V, W_O 넷입니다.",
                "W_O is missing. Attention has four matrices: W_Q, W_K, W_V and W_O.",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(layer_cost, "every_head_full_width", ("d_model // heads if", "d_model if")),
            EVERY_HEAD_FULL_WIDTH,
            frozenset({"vanilla", "shared", "gated", "large"}),
        ),
        Mistake(
            variant(layer_cost, "products_of_one_head", ("n**2 * heads * d_k", "n**2 * d_k")),
            Text(
                "QKᵀ와 AV를 head 하나만 세었습니다. heads 개가 모두 계산합니다.",
                "QKᵀ and AV are counted for a single head. All heads compute them.",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(layer_cost, "scores_without_mixture", ("4 * n**2", "2 * n**2")),
            Text(
                "n² 항이 QKᵀ 하나뿐입니다. AV도 같은 양의 multiply-add를 씁니다.",
                "The n² term holds QKᵀ alone. AV takes as many multiply-adds again.",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(
                layer_cost,
                "ffn_of_one_token",
                ("feed_forward, 2 * n * feed_forward", "feed_forward, 2 * feed_forward"),
            ),
            Text(
                "FFN의 FLOPs를 token 하나만 세었습니다. FFN은 n개 token에 각각 쓰입니다.",
                "The FFN's FLOPs are those of a single token. It is applied to each of the n tokens.",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(layer_cost, "projections_of_one_token", ("2 * n * attention", "2 * attention")),
            Text(
                "projection의 FLOPs를 token 하나만 세었습니다. n개 token을 모두 projection합니다.",
                "The FLOPs of the projections are those of a single token. Each of the n tokens is projected.",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(layer_cost, "products_forgotten", (" + products", "")),
            Text(
                "projection만 세었습니다. QKᵀ와 AV가 쓰는, n²에 비례하는 항이 빠졌습니다.",
                "Only the projections are counted. QKᵀ and AV, which grow with n², are missing.",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(
                layer_cost,
                "kv_heads_not_used",
                ("kv_heads = heads if kv_heads is None else kv_heads", "kv_heads = heads"),
            ),
            Text(
                "kv_heads를 쓰지 않았습니다. W_K와 W_V의 column 수는 kv_heads · d_k입니다.",
                "kv_heads is not used. W_K and W_V have kv_heads · d_k columns.",
            ),
            frozenset({"shared", "large"}),
        ),
        Mistake(
            variant(layer_cost, "products_of_kv_heads", ("n**2 * heads", "n**2 * kv_heads")),
            Text(
                "QKᵀ와 AV를 KV head 수만큼만 세었습니다. K와 V를 나누어 써도 Query head마다 자기 행렬을 계산합니다.",
                "QKᵀ and AV are counted once a KV head. Sharing K and V, every Query head still computes its own.",
            ),
            frozenset({"shared", "large"}),
        ),
        Mistake(
            variant(layer_cost, "all_heads_shared", ("(heads + kv_heads)", "(2 * kv_heads)")),
            Text(
                "W_Q와 W_O까지 줄였습니다. kv_heads는 W_K와 W_V의 폭만 정합니다.",
                "W_Q and W_O are made smaller too. kv_heads sets the width of W_K and W_V alone.",
            ),
            frozenset({"shared", "large"}),
        ),
        Mistake(
            variant(
                layer_cost,
                "given_d_k_not_used",
                ("d_k = d_model // heads if d_k is None else d_k", "d_k = d_model // heads"),
            ),
            Text(
                "주어진 d_k를 쓰지 않았습니다. heads · d_k는 d_model과 다를 수 있습니다.",
                "The given d_k is not used. heads · d_k may differ from d_model.",
            ),
            frozenset({"widths"}),
        ),
        Mistake(
            variant(layer_cost, "products_as_wide_as_the_model", ("n**2 * heads * d_k", "n**2 * d_model")),
            Text(
                "n² 항에 d_model을 썼습니다. QKᵀ와 AV의 폭은 heads · d_k이고, 주어진 d_k에서는 d_model이 아닙니다.",
                "The n² term uses d_model. QKᵀ and AV are heads · d_k wide, which is not d_model for a given d_k.",
            ),
            frozenset({"widths"}),
        ),
        Mistake(
            variant(
                layer_cost,
                "given_d_ff_not_used",
                ("d_ff = 4 * d_model if d_ff is None else d_ff", "d_ff = 4 * d_model"),
            ),
            Text(
                "주어진 d_ff 대신 늘 4 · d_model을 썼습니다.",
                "4 · d_model is used throughout, also where d_ff is given.",
            ),
            frozenset({"widths", "gated", "large"}),
        ),
        Mistake(
            variant(layer_cost, "gate_forgotten", ("(3 if gated else 2)", "2")),
            Text(
                "SwiGLU의 행렬은 gate, up, down 셋입니다. 둘만 세었습니다.",
                "SwiGLU has three matrices: gate, up and down. Two are counted.",
            ),
            frozenset({"gated", "large"}),
        ),
        Mistake(
            variant(layer_cost, "gate_without_flops", ("2 * n * feed_forward", "4 * n * d_model * d_ff")),
            Text(
                "gate 행렬의 parameters는 세었지만 FLOPs는 빠졌습니다. 행렬마다 token당 2 FLOPs × parameters입니다.",
                "The gate's parameters are counted, its FLOPs are not. Each matrix takes 2 FLOPs a parameter and token.",
            ),
            frozenset({"gated", "large"}),
        ),
        Mistake(
            variant(layer_cost, "one_matrix_of_the_ffn", ("(3 if gated else 2)", "(2 if gated else 1)")),
            Text(
                "FFN의 행렬 하나가 빠졌습니다. 넓히는 up과 되돌리는 down이 있습니다.",
                "A matrix of the FFN is missing: one goes up to d_ff, another comes down again.",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(layer_cost, "lengths_added_up", ("    products =", "    n = n.sum()\n    products =")),
            Text(
                "길이들을 더해 한 값으로 만들었습니다. n의 원소마다 한 줄, shape는 (..., 4)입니다.",
                "The lengths are added up. Each entry of n has its own line of counts: (..., 4).",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(
                layer_cost,
                "lengths_in_32_bits",
                ("n**2", "n.astype(np.int32) ** 2"),
            ),
            Text(
                "32 bit 정수가 넘쳤습니다. 길이의 제곱은 2³¹을 쉽게 넘습니다. int64를 쓰세요.",
                "A 32-bit integer overflowed: the square of a length soon passes 2³¹. Use int64.",
            ),
            frozenset({"large"}),
        ),
        Mistake(
            variant(layer_cost, "counts_in_float32", ("axis=-1)", "axis=-1).astype(np.float32)")),
            Text(
                "float32는 2²⁴ 까지의 정수만 정확합니다. 개수는 정수로 세세요.",
                "float32 holds whole numbers exactly up to 2²⁴ only. Count in integers.",
            ),
            frozenset({"large"}),
        ),
        Mistake(
            variant(
                layer_cost,
                "kv_heads_required",
                ("    kv_heads = heads if kv_heads is None else kv_heads\n", ""),
            ),
            KV_HEADS_REQUIRED,
            frozenset({"vanilla", "widths", "gated"}),
        ),
        Mistake(
            variant(
                layer_cost,
                "stacked_unbroadcast",
                ("np.stack(np.broadcast_arrays(*counts), axis=-1)", "np.stack(counts, axis=-1)"),
            ),
            SHAPES_APART,
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(
                layer_cost,
                "gathered_unbroadcast",
                ("np.stack(np.broadcast_arrays(*counts), axis=-1)", "np.array(counts)"),
            ),
            SHAPES_APART,
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(
                layer_cost,
                "stacked_in_front",
                ("np.broadcast_arrays(*counts), axis=-1", "np.broadcast_arrays(*counts)"),
            ),
            Text(
                "네 개수를 첫 축에 쌓았습니다. 마지막 축에 쌓아 (..., 4)로 만드세요: axis=-1.",
                "The four counts are stacked along the first axis. Stack them along the last, axis=-1: (..., 4).",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(
                layer_cost,
                "parameters_before_flops",
                (
                    "(attention, 2 * n * attention + products, feed_forward, 2 * n * feed_forward)",
                    "(attention, feed_forward, 2 * n * attention + products, 2 * n * feed_forward)",
                ),
            ),
            Text(
                "순서가 다릅니다. Attention의 parameters와 FLOPs가 먼저, FFN의 parameters와 FLOPs가 다음입니다.",
                "The order differs: parameters and FLOPs of Attention come first, then parameters and FLOPs of the FFN.",
            ),
            everywhere(COST_PARTS),
        ),
        Mistake(
            variant(
                layer_cost,
                "projections_as_wide_as_the_model",
                ("2 * d_model * (heads + kv_heads) * d_k", "2 * d_model * (d_model + kv_heads * d_k)"),
            ),
            Text(
                "W_Q와 W_O를 d_model × d_model로 세었습니다. 폭은 heads · d_k이고, 주어진 d_k에서는 d_model이 아닙니다.",
                "W_Q and W_O count as d_model × d_model. They are heads · d_k wide, which is not d_model for a given d_k.",
            ),
            frozenset({"widths"}),
        ),
        Mistake(
            variant(
                layer_cost,
                "narrower_with_a_gate",
                ("4 * d_model if d_ff", "(8 * d_model // 3 if gated else 4 * d_model) if d_ff"),
            ),
            Text(
                "gated=True일 때 d_ff를 8/3 · d_model로 줄였습니다. 그렇게 만드는 모델이 많지만, 이 과제의 기본값은 늘 4 · d_model입니다.",
                "With gated=True, d_ff became 8/3 · d_model. Many models are built so, but the default of this task is 4 · d_model throughout.",
            ),
            frozenset({"gated"}),
        ),
        Mistake(
            variant(layer_cost, "d_k_required", ("    d_k = d_model // heads if d_k is None else d_k\n", "")),
            D_K_REQUIRED,
            frozenset({"vanilla", "shared", "gated", "large"}),
        ),
        Mistake(
            variant(layer_cost, "d_ff_required", ("    d_ff = 4 * d_model if d_ff is None else d_ff\n", "")),
            Text(
                "d_ff가 None일 때 실패합니다. 주어지지 않으면 4 · d_model입니다.",
                "This fails where d_ff is None. Not given, it is 4 · d_model.",
            ),
            frozenset({"vanilla", "shared", "gated"}),
        ),
        Mistake(
            variant(
                layer_cost,
                "defaults_left_out",
                ("    kv_heads = heads if kv_heads is None else kv_heads\n", ""),
                ("    d_k = d_model // heads if d_k is None else d_k\n", ""),
                ("    d_ff = 4 * d_model if d_ff is None else d_ff\n", ""),
            ),
            NONE_IN_A_PRODUCT,
            frozenset({"vanilla", "shared", "widths", "gated", "large"}),
        ),
        Mistake(
            variant(layer_cost, "d_k_of_the_kv_heads", ("d_model // heads if", "d_model // kv_heads if")),
            D_K_OF_KV_HEADS,
            frozenset({"shared", "large"}),
        ),
        Mistake(
            variant(
                layer_cost,
                "counts_in_32_bits",
                ("    attention =", "    n = n.astype(np.int32)\n    attention ="),
            ),
            Text(
                "32 bit 정수가 넘쳤습니다. FLOPs는 2³¹을 쉽게 넘습니다. int64로 세세요.",
                "A 32-bit integer overflowed: FLOPs soon pass 2³¹. Count in int64.",
            ),
            frozenset({"large"}),
        ),
        Mistake(
            variant(
                layer_cost,
                "layer_cost_squeezed",
                (
                    "return np.stack(np.broadcast_arrays(*counts), axis=-1)",
                    "return np.squeeze(np.stack(np.broadcast_arrays(*counts), axis=-1))",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"vanilla"}),
        ),
    ),
    right_answers=(cost_of_matrices, cost_in_float64, cost_in_lists, cost_in_torch),
)


# --- Task 2: break_even ---------------------------------------------------------------------------------------


def break_even(d_ff, d_model, heads, kv_heads=None, d_k=None, gated=False):
    """d_ff (...) -> (...): the length n > 0 at which Attention and FFN take equal FLOPs, 0 where there is none"""
    kv_heads = heads if kv_heads is None else kv_heads
    d_k = d_model // heads if d_k is None else d_k
    projections = 2 * d_model * (heads + kv_heads) * d_k
    feed_forward = (3 if gated else 2) * d_model * d_ff
    return np.maximum((feed_forward - projections) / (2 * heads * d_k), 0.0)


def draw_vanilla_ratio(rng):
    heads, width = (int(rng.choice(primes)) for primes in ((3, 5), (7, 11)))
    d_model = heads * width
    ratios = rng.permutation(np.array([3, 5, 7]))
    return [
        {"d_ff": ratios * d_model, "d_model": d_model, "heads": heads},
        {"d_ff": rng.integers(2 * d_model + 5, 6 * d_model, (2, 3)), "d_model": d_model, "heads": heads},
        {"d_ff": rng.integers(2 * d_model + 5, 6 * d_model, (2, 1)), "d_model": d_model, "heads": heads},
    ]


def draw_shared_ratio(rng):
    width = int(rng.choice([7, 11, 13]))
    d_ff = rng.integers(12 * width + 1, 40 * width, 3)
    return [{"d_ff": d_ff, "d_model": 6 * width, "heads": 6, "kv_heads": int(rng.choice([2, 3]))}]


def draw_wide_heads(rng):
    # Each length ends in a fraction: 3 * 11 divides none of the differences.
    d_ff = 33 * rng.integers(5, 17, 3) + rng.integers(1, 33, 3)
    return [{"d_ff": d_ff, "d_model": 17, "heads": 3, "d_k": 11}]


def draw_gated_ratio(rng):
    width = int(rng.choice([7, 11, 13]))
    # One FFN is narrower than 2 · d_model, where two matrices would cost less than the projections.
    halves = np.concatenate([rng.integers(3 * width, 4 * width, 1), rng.integers(6 * width, 15 * width, 2)])
    d_ff = 2 * rng.permutation(halves) + 1
    return [{"d_ff": d_ff, "d_model": 4 * width, "heads": 4, "gated": True}]


def draw_no_length(rng):
    width = int(rng.choice([7, 11, 13]))
    d_ff = rng.permutation(np.array([4 * width, 6 * width, 20 * width]) + rng.integers(1, width, 3))
    # With heads as wide as 33 together, an FFN of more than 2 · d_model = 34 still costs less than the projections.
    wide = rng.permutation([int(rng.integers(36, 50)), int(rng.integers(50, 66)), 99])
    return [
        {"d_ff": d_ff, "d_model": 5 * width, "heads": 5},
        {"d_ff": wide, "d_model": 17, "heads": 3, "d_k": 11},
    ]


RATIO_PARTS = (
    Part("vanilla", 1, Text("기본 크기", "default sizes"), draw_vanilla_ratio),
    Part(
        "shared", 1, Text("Query head보다 적은 KV head", "fewer KV heads than Query heads"), draw_shared_ratio
    ),
    Part("widths", 1, Text("주어진 d_k", "a given d_k"), draw_wide_heads),
    Part("gated", 1, Text("SwiGLU", "SwiGLU"), draw_gated_ratio),
    Part("none", 1, Text("같아지는 길이가 없는 경우", "no length at which they are equal"), draw_no_length),
)


def twice_the_model(d_ff, d_model, heads, kv_heads=None, d_k=None, gated=False):
    return np.full(d_ff.shape, 2.0 * d_model)


def break_even_by_bisection(d_ff, d_model, heads, kv_heads=None, d_k=None, gated=False):
    kv_heads, d_k = kv_heads or heads, d_k or d_model // heads

    def difference(n, width):
        attention = n * 4 * d_model * (heads + kv_heads) * d_k + n * n * 4 * heads * d_k
        return attention - n * (6 if gated else 4) * d_model * width

    lengths = []
    for width in d_ff.ravel():
        low, high = 1e-9, 1e9
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if difference(middle, width) < 0 else (low, middle)
        lengths.append(high if high > 1e-6 else 0.0)
    return np.array(lengths).reshape(d_ff.shape)


def break_even_in_fractions(d_ff, d_model, heads, kv_heads=None, d_k=None, gated=False):
    d_k = Fraction(d_model, heads) if d_k is None else d_k
    ratio = Fraction(heads if kv_heads is None else kv_heads, heads)
    result = np.zeros(d_ff.shape)
    for index in np.ndindex(d_ff.shape):
        ffn = Fraction(3 if gated else 2, 2) * d_model * int(d_ff[index]) / (heads * d_k)
        result[index] = max(ffn - d_model * (1 + ratio), 0)
    return result


def break_even_selected(d_ff, d_model, heads, kv_heads=None, d_k=None, gated=False):
    inner = d_model if d_k is None else heads * d_k
    share = 1.0 if kv_heads is None else kv_heads / heads
    length = d_model * ((1.5 if gated else 1.0) * d_ff / inner - 1.0 - share)
    return np.where(length > 0, length, 0.0)


def break_even_in_torch(d_ff, d_model, heads, kv_heads=None, d_k=None, gated=False):
    import torch

    d_k = d_k or d_model / heads
    matrices = 3 if gated else 2
    per_token = 2 * matrices * d_model * torch.as_tensor(d_ff, dtype=torch.float64)
    projections = 4 * d_model * d_k * (heads + (kv_heads or heads))
    return torch.relu(per_token - projections) / (4 * heads * d_k)


BREAK_EVEN = Task(
    name="break_even",
    reference=break_even,
    parts=RATIO_PARTS,
    see="attention-and-ffn.html#parameters-and-flops",
    mistakes=(
        Mistake(
            twice_the_model,
            Text(
                "2 · d_model은 d_ff = 4 · d_model인 dense FFN의 답입니다. 주어진 크기로 식을 다시 푸세요.",
                "2 · d_model is the answer for a dense FFN with d_ff = 4 · d_model. Solve for the sizes that are given.",
            ),
            everywhere(RATIO_PARTS),
        ),
        Mistake(
            variant(break_even, "projections_forgotten", ("(feed_forward - projections)", "feed_forward")),
            Text(
                "Attention에서 QKᵀ와 AV만 세었습니다. 네 projection의 FLOPs도 Attention의 것입니다.",
                "Of Attention, only QKᵀ and AV are counted. The FLOPs of its four projections belong to it as well.",
            ),
            everywhere(RATIO_PARTS),
        ),
        Mistake(
            variant(
                break_even,
                "output_projection_left_out",
                ("2 * d_model * (heads + kv_heads) * d_k", "d_model * (heads + 2 * kv_heads) * d_k"),
            ),
            Text(
                "W_O의 FLOPs가 빠졌습니다. projection은 Q, K, V, O 넷입니다.",
                "The FLOPs of W_O are missing. There are four projections: Q, K, V and O.",
            ),
            everywhere(RATIO_PARTS),
        ),
        Mistake(
            variant(break_even, "mixture_left_out", ("(2 * heads * d_k)", "(heads * d_k)")),
            Text(
                "n² 항의 크기가 반입니다. QKᵀ와 AV가 각각 2n² · heads · d_k FLOPs를 씁니다.",
                "The n² term is half as large as it should be. QKᵀ and AV take 2n² · heads · d_k FLOPs each.",
            ),
            everywhere(RATIO_PARTS),
        ),
        Mistake(
            variant(
                break_even,
                "flops_of_mixed_units",
                ("(2 * heads * d_k)", "(4 * heads * d_k)"),
            ),
            Text(
                "한쪽은 multiply-add를 1로, 다른 쪽은 2 FLOPs로 세었습니다. 두 sublayer를 같은 단위로 세세요.",
                "One side counts a multiply-add as 1, the other as 2 FLOPs. Count both sublayers in one unit.",
            ),
            everywhere(RATIO_PARTS),
        ),
        Mistake(
            variant(
                break_even,
                "kv_heads_left_out",
                ("kv_heads = heads if kv_heads is None else kv_heads", "kv_heads = heads"),
            ),
            Text(
                "kv_heads를 쓰지 않았습니다. W_K, W_V의 FLOPs가 줄면 같아지는 길이는 길어집니다.",
                "kv_heads is not used. With fewer FLOPs in W_K and W_V, the two are equal at a greater length.",
            ),
            frozenset({"shared"}),
        ),
        Mistake(
            variant(break_even, "products_per_kv_head", ("2 * heads * d_k)", "2 * kv_heads * d_k)")),
            Text(
                "n² 항에 KV head 수를 썼습니다. QKᵀ와 AV는 Query head마다 계산합니다.",
                "The n² term uses the number of KV heads. Every Query head computes its own QKᵀ and AV.",
            ),
            frozenset({"shared"}),
        ),
        Mistake(
            variant(
                break_even,
                "given_d_k_left_out",
                ("d_k = d_model // heads if d_k is None else d_k", "d_k = d_model // heads"),
            ),
            Text(
                "주어진 d_k를 쓰지 않았습니다.",
                "The given d_k is not used.",
            ),
            frozenset({"widths", "none"}),
        ),
        Mistake(
            variant(break_even, "products_at_model_width", ("(2 * heads * d_k)", "(2 * d_model)")),
            Text(
                "n² 항의 폭으로 d_model을 썼습니다. QKᵀ와 AV의 폭은 heads · d_k입니다.",
                "The n² term is taken d_model wide. QKᵀ and AV are heads · d_k wide.",
            ),
            frozenset({"widths", "none"}),
        ),
        Mistake(
            variant(break_even, "gate_left_out", ("(3 if gated else 2)", "2")),
            Text(
                "gated=True이면 FFN의 행렬은 둘이 아니라 셋입니다.",
                "With gated=True the FFN has three matrices, not two.",
            ),
            frozenset({"gated"}),
        ),
        Mistake(
            variant(
                break_even,
                "negative_lengths",
                (
                    "np.maximum((feed_forward - projections) / (2 * heads * d_k), 0.0)",
                    "(feed_forward - projections) / (2 * heads * d_k)",
                ),
            ),
            Text(
                "음수 길이가 나왔습니다. projection만으로 이미 FFN보다 비싸면 같아지는 길이가 없으므로 0을 둡니다.",
                "A length is negative. Where the projections alone cost more than the FFN, there is none: put 0.",
            ),
            frozenset({"none"}),
        ),
        Mistake(
            variant(break_even, "distance_of_the_two", ("np.maximum((", "abs(("), (" d_k), 0.0)", " d_k))")),
            Text(
                "차이의 절댓값을 썼습니다. Attention이 처음부터 더 비싸면 같아지는 길이가 없으므로 0을 둡니다.",
                "The size of the difference is used. Where Attention costs more from the start, there is no length: put 0.",
            ),
            frozenset({"none"}),
        ),
        Mistake(
            variant(
                break_even,
                "whole_lengths",
                ("(feed_forward - projections) / (2", "(feed_forward - projections) // (2"),
            ),
            Text(
                "정수로 내림했습니다 (//). 두 식이 같아지는 지점 자체를 실수로 돌려주세요.",
                "The length is rounded down (//). Return the very point at which the two are equal, a real number.",
            ),
            frozenset({"widths", "gated"}),
        ),
        Mistake(
            variant(
                break_even,
                "heads_must_be_shared",
                ("    kv_heads = heads if kv_heads is None else kv_heads\n", ""),
            ),
            Text(
                "kv_heads가 None일 때 실패합니다. 주어지지 않으면 heads와 같습니다.",
                "This fails where kv_heads is None. Not given, it equals heads.",
            ),
            frozenset({"vanilla", "widths", "gated", "none"}),
        ),
        Mistake(
            variant(break_even, "max_of_python", ("np.maximum(", "max(")),
            COMPARED_AS_A_WHOLE,
            everywhere(RATIO_PARTS),
        ),
        Mistake(
            variant(
                break_even,
                "nan_where_there_is_none",
                (
                    "np.maximum((feed_forward - projections) / (2 * heads * d_k), 0.0)",
                    "np.where(feed_forward < projections, np.nan, (feed_forward - projections) / (2 * heads * d_k))",
                ),
            ),
            Text(
                "그런 길이가 없는 자리에 NaN을 두었습니다. 그런 자리에는 0을 둡니다.",
                "NaN stands where there is no such length. The task wants 0.",
            ),
            frozenset({"none"}),
        ),
        Mistake(
            variant(
                break_even,
                "rounded",
                (
                    "np.maximum((feed_forward - projections) / (2 * heads * d_k), 0.0)",
                    "np.rint(np.maximum((feed_forward - projections) / (2 * heads * d_k), 0.0))",
                ),
            ),
            Text(
                "길이를 반올림했습니다. 두 식이 같아지는 지점 자체를 실수로 돌려주세요.",
                "The length is rounded. Return the very point at which the two are equal, a real number.",
            ),
            frozenset({"widths", "gated"}),
        ),
        Mistake(
            variant(
                break_even,
                "rounded_up",
                (
                    "np.maximum((feed_forward - projections) / (2 * heads * d_k), 0.0)",
                    "np.ceil(np.maximum((feed_forward - projections) / (2 * heads * d_k), 0.0))",
                ),
            ),
            Text(
                "정수로 올림했습니다. 두 식이 같아지는 지점 자체를 실수로 돌려주세요.",
                "The length is rounded up. Return the very point at which the two are equal, a real number.",
            ),
            frozenset({"widths", "gated"}),
        ),
        Mistake(
            variant(
                break_even,
                "infinite_where_there_is_none",
                (
                    "np.maximum((feed_forward - projections) / (2 * heads * d_k), 0.0)",
                    "np.where(feed_forward < projections, np.inf, (feed_forward - projections) / (2 * heads * d_k))",
                ),
            ),
            Text(
                "그런 길이가 없는 자리에 ∞를 두었습니다. 그런 자리에는 0을 둡니다.",
                "∞ stands where there is no such length. The task wants 0.",
            ),
            frozenset({"none"}),
        ),
        Mistake(
            variant(
                break_even,
                "sides_exchanged",
                ("(feed_forward - projections)", "(projections - feed_forward)"),
            ),
            Text(
                "부호가 반대입니다. FFN의 FLOPs에서 projection의 FLOPs를 뺀 나머지가 n² 항과 같아야 합니다.",
                "The sign is wrong. What is left of the FFN's FLOPs without the projections' has to equal the n² term.",
            ),
            everywhere(RATIO_PARTS),
        ),
        Mistake(
            variant(break_even, "products_of_a_single_head", ("(2 * heads * d_k)", "(2 * d_k)")),
            Text(
                "n² 항을 head 하나만 세었습니다. heads 개가 모두 QKᵀ와 AV를 계산합니다.",
                "The n² term counts a single head. All heads compute QKᵀ and AV.",
            ),
            everywhere(RATIO_PARTS),
        ),
        Mistake(
            variant(break_even, "heads_as_wide_as_the_model", ("d_model // heads if", "d_model if")),
            EVERY_HEAD_FULL_WIDTH,
            everywhere(RATIO_PARTS) - {"widths"},
        ),
        Mistake(
            variant(
                break_even, "d_k_must_be_given", ("    d_k = d_model // heads if d_k is None else d_k\n", "")
            ),
            D_K_REQUIRED,
            frozenset({"vanilla", "shared", "gated", "none"}),
        ),
        Mistake(
            variant(
                break_even,
                "no_defaults",
                ("    kv_heads = heads if kv_heads is None else kv_heads\n", ""),
                ("    d_k = d_model // heads if d_k is None else d_k\n", ""),
            ),
            NONE_IN_A_PRODUCT,
            frozenset({"vanilla", "shared", "widths", "gated", "none"}),
        ),
        Mistake(
            variant(break_even, "d_k_by_kv_heads", ("d_model // heads if", "d_model // kv_heads if")),
            D_K_OF_KV_HEADS,
            frozenset({"shared"}),
        ),
        Mistake(
            variant(
                break_even,
                "break_even_squeezed",
                (
                    "return np.maximum((feed_forward - projections) / (2 * heads * d_k), 0.0)",
                    "return np.squeeze(np.maximum((feed_forward - projections) / (2 * heads * d_k), 0.0))",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"vanilla"}),
        ),
    ),
    right_answers=(
        break_even_by_bisection,
        break_even_in_fractions,
        break_even_selected,
        break_even_in_torch,
    ),
)


# --- Task 3: cache_bytes --------------------------------------------------------------------------------------


def cache_bytes(lengths, layers, heads, d_k, kv_heads=None, d_c=None, d_rope=0, itemsize=2, window=None):
    """lengths (..., batch) -> whole numbers (...): bytes that the KV caches of a batch take together"""
    kv_heads = heads if kv_heads is None else kv_heads
    kept = lengths if window is None else np.minimum(lengths, window)
    numbers = 2 * kv_heads * d_k if d_c is None else d_c + d_rope
    return kept.sum(axis=-1) * layers * numbers * itemsize


def draw_full_caches(rng):
    sizes = {"heads": 3, "d_k": int(rng.choice([11, 13]))}
    return [
        {"lengths": random_lengths(rng, (5,)), "layers": 7, **sizes},
        {"lengths": random_lengths(rng, (2, 5)), "layers": 7, **sizes},
        {"lengths": random_lengths(rng, (2, 1, 5)), "layers": 7, **sizes},
    ]


def draw_shared_caches(rng):
    kv_heads = int(rng.choice([2, 3]))
    return [{"lengths": random_lengths(rng, (5,)), "layers": 7, "heads": 6, "d_k": 11, "kv_heads": kv_heads}]


def draw_latent_caches(rng):
    latent = {"d_c": int(rng.choice([17, 19])), "d_rope": int(rng.choice([5, 7]))}
    sizes = {"layers": 3, "heads": 13, "d_k": 7}
    return [
        {"lengths": random_lengths(rng, (5,)), **sizes, **latent},
        {"lengths": random_lengths(rng, (3,)), **sizes, "d_c": 23},
    ]


def draw_windows(rng):
    lengths = np.concatenate([rng.integers(5, 11, 2), rng.integers(17, 29, 3)])
    sizes = {"layers": 3, "heads": 5, "d_k": 7, "window": int(rng.choice([11, 13]))}
    return [
        {"lengths": rng.permutation(lengths), **sizes},
        {"lengths": rng.permutation(lengths), **sizes, "d_c": 17, "d_rope": 3},
    ]


def draw_real_caches(rng):
    # 2 bytes a number is the default; one byte is how caches are kept to save room. The sum of the lengths is odd, and
    # 63 times that no whole number of float32.
    lengths = 2 * rng.integers(45000, 65536, 3) + 1
    sizes = {"layers": 126, "heads": 128, "d_k": 128, "kv_heads": 8}
    return [{"lengths": lengths, **sizes, "itemsize": 1}, {"lengths": lengths, **sizes, "itemsize": 4}]


CACHE_PARTS = (
    Part(
        "mha", 1, Text("MHA, 길이가 다른 sequence", "MHA, sequences of different lengths"), draw_full_caches
    ),
    Part("gqa", 1, Text("GQA", "GQA"), draw_shared_caches),
    Part("mla", 1, Text("MLA", "MLA"), draw_latent_caches),
    Part("window", 1, Text("window", "a window"), draw_windows),
    Part("sizes", 1, Text("실제 크기, 다른 itemsize", "real sizes, another itemsize"), draw_real_caches),
)


def cache_by_loops(lengths, layers, heads, d_k, kv_heads=None, d_c=None, d_rope=0, itemsize=2, window=None):
    totals = np.zeros(lengths.shape[:-1], dtype=np.int64)
    for *batch, sequence in np.ndindex(lengths.shape):
        tokens = int(lengths[(*batch, sequence)])
        tokens = tokens if window is None else min(tokens, window)
        for _ in range(layers):
            if d_c is not None:
                totals[tuple(batch)] += tokens * (d_c + d_rope) * itemsize
            else:
                for _ in range(heads if kv_heads is None else kv_heads):
                    totals[tuple(batch)] += tokens * d_k * itemsize + tokens * d_k * itemsize
    return totals


def cache_of_arrays(lengths, layers, heads, d_k, kv_heads=None, d_c=None, d_rope=0, itemsize=2, window=None):
    dtype = {1: np.int8, 2: np.float16, 4: np.float32}[itemsize]
    shapes = [(d_c,), (d_rope,)] if d_c else 2 * [(kv_heads or heads, d_k)]
    token = layers * sum(np.empty(shape, dtype=dtype).nbytes for shape in shapes)
    return np.where(lengths > (window or np.inf), window or 0, lengths).sum(-1) * token


def cache_by_einsum(lengths, layers, heads, d_k, kv_heads=None, d_c=None, d_rope=0, itemsize=2, window=None):
    width = d_c + d_rope if d_c is not None else (kv_heads or heads) * (d_k + d_k)
    kept = np.clip(lengths, 0, window)
    return np.einsum("...b,->...", kept, np.int64(layers * width * itemsize))


def cache_in_torch(lengths, layers, heads, d_k, kv_heads=None, d_c=None, d_rope=0, itemsize=2, window=None):
    import torch

    kept = torch.as_tensor(lengths).clamp(max=window) if window else torch.as_tensor(lengths)
    width = d_c + d_rope if d_c else 2 * d_k * (kv_heads or heads)
    return (kept * layers * width * itemsize).sum(dim=-1)


CACHE_BYTES = Task(
    name="cache_bytes",
    reference=cache_bytes,
    parts=CACHE_PARTS,
    see="attention-and-ffn.html#kv-cache",
    rtol=0,
    atol=0,
    mistakes=(
        Mistake(
            variant(cache_bytes, "keys_alone", ("2 * kv_heads * d_k if", "kv_heads * d_k if")),
            Text(
                "Keys만 세었습니다. 다음 token은 Values도 읽으므로 둘 다 남겨야 합니다.",
                "Only Keys are counted. The next token reads Values as well, so both are kept.",
            ),
            frozenset({"mha", "gqa", "window", "sizes"}),
        ),
        Mistake(
            variant(
                cache_bytes, "queries_kept", ("2 * kv_heads * d_k if", "(heads + 2 * kv_heads) * d_k if")
            ),
            Text(
                "Queries까지 세었습니다. 지난 Query는 다시 쓰이지 않으므로 cache에 없습니다.",
                "Queries are counted too. A past Query is never used again, so it is not in the cache.",
            ),
            frozenset({"mha", "gqa", "window", "sizes"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "padded_to_the_longest",
                ("kept.sum(axis=-1)", "kept.max(axis=-1) * kept.shape[-1]"),
            ),
            Text(
                "모든 sequence를 가장 긴 것의 길이로 세었습니다. 남는 것은 padding이 아니라 각자의 tokens입니다.",
                "Every sequence counts as long as the longest. What is kept are each one's own tokens, no padding.",
            ),
            everywhere(CACHE_PARTS),
        ),
        Mistake(
            variant(cache_bytes, "one_layer", ("* layers ", "")),
            Text(
                "layer 하나만 세었습니다. layer마다 자기 Keys와 Values가 있습니다.",
                "A single layer is counted. Each layer has Keys and Values of its own.",
            ),
            everywhere(CACHE_PARTS),
        ),
        Mistake(
            variant(cache_bytes, "one_head", ("2 * kv_heads * d_k if", "2 * d_k if")),
            Text(
                "head 하나만 세었습니다. KV head마다 d_k 개씩 남습니다.",
                "A single head is counted. Each KV head leaves d_k numbers.",
            ),
            frozenset({"mha", "gqa", "window", "sizes"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "cache_of_all_heads",
                ("kv_heads = heads if kv_heads is None else kv_heads", "kv_heads = heads"),
            ),
            Text(
                "Query head 수로 세었습니다. GQA의 cache에는 kv_heads 개의 K와 V만 있습니다.",
                "The Query heads are counted. The cache of GQA holds K and V of kv_heads heads only.",
            ),
            frozenset({"gqa", "sizes"}),
        ),
        Mistake(
            variant(
                cache_bytes, "latent_for_each_head", ("else d_c + d_rope", "else heads * (d_c + d_rope)")
            ),
            Text(
                "MLA의 압축된 vector를 head마다 세었습니다. 모든 head가 하나를 나누어 씁니다.",
                "The compressed vector of MLA is counted once a head. All heads share one.",
            ),
            frozenset({"mla", "window"}),
        ),
        Mistake(
            variant(cache_bytes, "latent_twice", ("else d_c + d_rope", "else 2 * d_c + d_rope")),
            Text(
                "압축된 vector를 K와 V로 두 번 세었습니다. 둘 다 같은 d_c 개에서 되살립니다.",
                "The compressed vector is counted for K and for V. Both are restored from the same d_c numbers.",
            ),
            frozenset({"mla", "window"}),
        ),
        Mistake(
            variant(cache_bytes, "rotary_part_forgotten", ("else d_c + d_rope", "else d_c")),
            Text(
                "rotary Key의 d_rope 개가 빠졌습니다. 위치에 따라 도는 부분은 압축하지 않고 따로 남깁니다.",
                "The d_rope numbers of the rotary Key are missing. What turns with the position is kept beside.",
            ),
            frozenset({"mla", "window"}),
        ),
        Mistake(
            variant(cache_bytes, "rotary_part_per_head", ("else d_c + d_rope", "else d_c + heads * d_rope")),
            Text(
                "rotary Key를 head마다 세었습니다. MLA에서는 모든 head가 하나를 나누어 씁니다.",
                "The rotary Key is counted once a head. In MLA all heads share one.",
            ),
            frozenset({"mla", "window"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "latent_not_used",
                ("2 * kv_heads * d_k if d_c is None else d_c + d_rope", "2 * kv_heads * d_k"),
            ),
            Text(
                "d_c를 쓰지 않았습니다. d_c가 주어지면 K와 V 대신 압축된 vector를 남깁니다.",
                "d_c is not used. Where it is given, a compressed vector is kept instead of K and V.",
            ),
            frozenset({"mla", "window"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "window_not_used",
                ("lengths if window is None else np.minimum(lengths, window)", "lengths"),
            ),
            Text(
                "window를 쓰지 않았습니다. 마지막 window 개보다 오래된 tokens는 다시 읽히지 않습니다.",
                "window is not used. Tokens older than the last window of them are never read again.",
            ),
            frozenset({"window"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "window_of_the_batch",
                ("lengths if window is None else np.minimum(lengths, window)", "lengths"),
                (
                    "kept.sum(axis=-1)",
                    "(kept.sum(-1) if window is None else np.minimum(kept.sum(-1), window))",
                ),
            ),
            Text(
                "window를 batch 전체의 합에 적용했습니다. sequence마다 자기 window가 있습니다.",
                "The window is applied to the sum of the batch. Each sequence has a window of its own.",
            ),
            frozenset({"window"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "always_the_window",
                ("np.minimum(lengths, window)", "np.full_like(lengths, window)"),
            ),
            Text(
                "window보다 짧은 sequence도 window만큼 세었습니다. 남은 tokens보다 많이 남길 수는 없습니다.",
                "A sequence shorter than the window counts as a whole window. It has fewer tokens to keep.",
            ),
            frozenset({"window"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "lengths_cut",
                ("np.minimum(lengths, window)", "np.minimum(lengths, window, out=lengths)"),
            ),
            Text(
                "입력 lengths를 제자리에서 바꾸었습니다 (out=). 새 배열에 계산하세요.",
                "The input lengths are changed in place (out=). Compute into a new array.",
            ),
            frozenset({"window"}),
        ),
        Mistake(
            variant(cache_bytes, "always_two_bytes", ("numbers * itemsize", "numbers * 2")),
            Text(
                "itemsize 대신 늘 2 bytes로 세었습니다.",
                "A number always counts 2 bytes here, whatever itemsize says.",
            ),
            frozenset({"sizes"}),
        ),
        Mistake(
            variant(cache_bytes, "bits", ("numbers * itemsize", "numbers * itemsize * 8")),
            Text("bits를 세었습니다. 과제는 bytes를 묻습니다.", "These are bits. The task asks for bytes."),
            everywhere(CACHE_PARTS),
        ),
        Mistake(
            variant(cache_bytes, "each_sequence_alone", ("kept.sum(axis=-1)", "kept")),
            Text(
                "sequence마다 따로 돌려주었습니다. batch 축(마지막 축)을 더해 한 값으로 만드세요.",
                "Each sequence has a number of its own here. Sum over the batch, the last axis.",
            ),
            everywhere(CACHE_PARTS),
        ),
        Mistake(
            variant(cache_bytes, "batches_together", ("kept.sum(axis=-1)", "kept.sum()")),
            Text(
                "모든 축을 더했습니다. 더할 것은 마지막 축뿐이고 앞의 축은 남습니다.",
                "All axes are summed. Sum the last one only; those before it stay.",
            ),
            frozenset({"mha"}),
        ),
        Mistake(
            variant(
                cache_bytes, "bytes_in_32_bits", ("kept.sum(axis=-1)", "kept.sum(axis=-1).astype(np.int32)")
            ),
            Text(
                "32 bit 정수가 넘쳤습니다. cache는 2³¹ bytes를 쉽게 넘습니다. int64를 쓰세요.",
                "A 32-bit integer overflowed: a cache soon passes 2³¹ bytes. Use int64.",
            ),
            frozenset({"sizes"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "only_gqa_and_mla",
                ("    kv_heads = heads if kv_heads is None else kv_heads\n", ""),
            ),
            KV_HEADS_REQUIRED,
            frozenset({"mha", "window"}),
        ),
        Mistake(
            variant(cache_bytes, "min_of_python", ("np.minimum(", "min(")),
            COMPARED_AS_A_WHOLE,
            frozenset({"window"}),
        ),
        Mistake(
            variant(cache_bytes, "itemsize_not_used", ("numbers * itemsize", "numbers")),
            Text(
                "수의 개수를 세었을 뿐입니다. bytes는 거기에 itemsize를 곱한 것입니다.",
                "These are numbers, not bytes: multiply by itemsize.",
            ),
            everywhere(CACHE_PARTS),
        ),
        Mistake(
            variant(
                cache_bytes, "latent_for_keys_and_values", ("else d_c + d_rope", "else 2 * (d_c + d_rope)")
            ),
            Text(
                "MLA에서도 Key와 Value를 따로 세었습니다. 압축된 vector와 rotary Key가 하나씩 남을 뿐입니다.",
                "For MLA, too, Keys and Values are counted apart. One compressed vector and one rotary Key are all that is kept.",
            ),
            frozenset({"mla", "window"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "window_of_keys_and_values_alone",
                ("lengths if window is None else", "lengths if window is None or d_c is not None else"),
            ),
            Text(
                "MLA에서는 window를 쓰지 않았습니다. 무엇을 남기든 마지막 window 개의 tokens만 남깁니다.",
                "The window is not used for MLA. Whatever is kept, it is kept for the last window tokens only.",
            ),
            frozenset({"window"}),
        ),
        Mistake(
            variant(cache_bytes, "first_axis_summed", ("kept.sum(axis=-1)", "sum(kept)")),
            Text(
                "첫 축을 더했습니다 (Python의 sum이나 axis=0). batch는 마지막 축입니다: axis=-1.",
                "The first axis is summed (Python's sum, or axis=0). The batch is the last one: axis=-1.",
            ),
            frozenset({"mha"}),
        ),
        Mistake(
            variant(
                cache_bytes, "bytes_in_float32", ("kept.sum(axis=-1)", "kept.sum(axis=-1).astype(np.float32)")
            ),
            Text(
                "float32는 2²⁴ 까지의 정수만 정확합니다. bytes는 정수로 세세요.",
                "float32 holds whole numbers exactly up to 2²⁴ only. Count bytes in integers.",
            ),
            frozenset({"sizes"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "latent_added",
                (
                    "2 * kv_heads * d_k if d_c is None else d_c + d_rope",
                    "2 * kv_heads * d_k + (d_c or 0) + d_rope",
                ),
            ),
            Text(
                "MLA의 수를 K와 V에 더했습니다. d_c가 주어지면 그 vector가 K와 V를 대신합니다.",
                "What MLA keeps is added to K and V. Where d_c is given, that vector takes their place.",
            ),
            frozenset({"mla", "window"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "window_required",
                ("lengths if window is None else np.minimum(lengths, window)", "np.minimum(lengths, window)"),
            ),
            Text(
                "window가 None일 때 실패합니다. 주어지지 않으면 모든 token이 남습니다.",
                "This fails where window is None. Not given, all tokens stay.",
            ),
            frozenset({"mha", "gqa", "mla", "sizes"}),
        ),
        Mistake(
            variant(cache_bytes, "window_at_least", ("np.minimum(", "np.maximum(")),
            Text(
                "np.maximum은 큰 쪽을 고릅니다. window보다 긴 sequence에서는 window만큼만 남습니다: np.minimum.",
                "np.maximum picks the larger. Of a sequence longer than the window, only the window stays: np.minimum.",
            ),
            frozenset({"window"}),
        ),
        Mistake(
            variant(
                cache_bytes,
                "cache_bytes_squeezed",
                (
                    "return kept.sum(axis=-1) * layers * numbers * itemsize",
                    "return np.squeeze(kept.sum(axis=-1) * layers * numbers * itemsize)",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"mha"}),
        ),
    ),
    right_answers=(cache_by_loops, cache_of_arrays, cache_by_einsum, cache_in_torch),
)


# --- Task 4: swiglu -------------------------------------------------------------------------------------------


def swiglu(x, w_gate, w_up, w_down, beta=1.0):
    """x (..., n, d_model), w_gate and w_up (d_model, d_ff), w_down (d_ff, d_out) -> (..., n, d_out)"""
    gate = x @ w_gate
    passing = np.exp(-np.logaddexp(0.0, -beta * gate))
    return (gate * passing * (x @ w_up)) @ w_down


def random_swiglu(rng, shape):
    d_model, d_ff, d_out = shape[-1], 11, 2
    return {
        "x": rng.normal(size=shape),
        "w_gate": rng.normal(size=(d_model, d_ff)),
        "w_up": rng.normal(size=(d_model, d_ff)),
        "w_down": rng.normal(size=(d_ff, d_out)),
    }


def draw_tokens(rng):
    return [random_swiglu(rng, (5, 3))]


def draw_token_batches(rng):
    return [random_swiglu(rng, (13, 5, 3)), random_swiglu(rng, (3, 1, 5, 7))]


def draw_betas(rng):
    # In the last, gates are large and the sigmoid of beta times a gate is neither 0 nor 1.
    cases = [{**random_swiglu(rng, (5, 3)), "beta": beta} for beta in (1.702, 0.0)]
    return [*cases, {**large_gates(rng), "beta": 1e-5}]


def large_gates(rng):
    # Whole numbers of one sign: no digit is lost where nothing overflows.
    inputs = {
        name: rng.integers(1, 4, value.shape) * 1.0 for name, value in random_swiglu(rng, (5, 3)).items()
    }
    inputs["w_gate"] *= 1e4 * rng.permutation([-1.0, 1.0] * 5 + [1.0])
    return inputs


def draw_saturated_gates(rng):
    inputs = large_gates(rng)
    return [inputs, {**inputs, "w_gate": -abs(inputs["w_gate"])}]  # then nothing passes


SWIGLU_PARTS = (
    Part("tokens", 2, Text("한 sequence", "one sequence"), draw_tokens),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_token_batches),
    Part("beta", 1, Text("다른 beta", "another beta"), draw_betas),
    Part("saturated", 1, Text("±10000을 넘는 gate", "gates beyond ±10000"), draw_saturated_gates),
)


def half_precision_swiglu(x, w_gate, w_up, w_down, beta=1.0):
    return swiglu(*(array.astype(np.float16) for array in (x, w_gate, w_up, w_down)), beta)


def gelu_of_the_normal_distribution(x, w_gate, w_up, w_down, beta=1.0):
    gate = x @ w_gate
    below = 0.5 * (1 + np.vectorize(math.erf)(gate / math.sqrt(2)))
    return (gate * below * (x @ w_up)) @ w_down


GELU_FOR_SWISH = Text(
    "GELU를 gate로 썼습니다 (GEGLU). Swish(a) = a · sigmoid(βa)입니다.",
    "The gate is a GELU (GEGLU). Swish(a) is a · sigmoid(βa).",
)


def swiglu_by_loops(x, w_gate, w_up, w_down, beta=1.0):
    output = np.zeros((*x.shape[:-1], w_down.shape[-1]))
    for token in np.ndindex(x.shape[:-1]):
        for f in range(w_gate.shape[-1]):
            gate, up = sum(x[token] * w_gate[:, f]), sum(x[token] * w_up[:, f])
            small = np.exp(-abs(beta * gate))
            share = 1 / (1 + small) if beta * gate >= 0 else small / (1 + small)
            output[token] += gate * share * up * w_down[f]
    return output


def swiglu_by_einsum(x, w_gate, w_up, w_down, beta=1.0):
    gate = np.einsum("...d,df->...f", x, w_gate)
    silu = gate / (1 + np.exp(-np.clip(beta * gate, -700, None)))
    return np.einsum("...f,...f,fo->...o", silu, np.einsum("...d,df->...f", x, w_up), w_down)


def swiglu_by_tanh(x, w_gate, w_up, w_down, beta=1.0):
    gate, up = np.split(x @ np.concatenate([w_gate, w_up], axis=1), 2, axis=-1)
    return (0.5 * gate * (1 + np.tanh(0.5 * beta * gate)) * up) @ w_down


def swiglu_plainly(x, w_gate, w_up, w_down, beta=1.0):
    gate = x @ w_gate
    return np.matmul(gate / (1 + np.exp(-beta * gate)) * np.matmul(x, w_up), w_down)


def swiglu_in_torch(x, w_gate, w_up, w_down, beta=1.0):
    import torch

    x, w_gate, w_up, w_down = (torch.as_tensor(array) for array in (x, w_gate, w_up, w_down))
    gate = x @ w_gate
    return (gate * torch.sigmoid(beta * gate) * (x @ w_up)) @ w_down


class GatedFeedForward:
    def __init__(self, w_gate, w_up, w_down):
        self.w_gate, self.w_up, self.w_down = w_gate, w_up, w_down

    def __call__(self, x, beta):
        return (self.swish(x @ self.w_gate, beta) * (x @ self.w_up)) @ self.w_down

    @staticmethod
    def swish(gate, beta):
        return gate * np.reciprocal(1 + np.exp(-beta * gate))


def swiglu_as_a_class(x, w_gate, w_up, w_down, beta=1.0):
    return GatedFeedForward(w_gate, w_up, w_down)(x, beta)


SWIGLU = Task(
    name="swiglu",
    reference=swiglu,
    parts=SWIGLU_PARTS,
    see="attention-and-ffn.html#swiglu",
    rtol=1e-4,
    atol=1e-5,
    mistakes=(
        Mistake(
            variant(
                swiglu,
                "gate_and_up_exchanged",
                ("gate = x @ w_gate", "gate = x @ w_up"),
                ("* (x @ w_up)", "* (x @ w_gate)"),
            ),
            Text(
                "gate와 up이 바뀌었습니다. Swish를 거치는 쪽은 x W_gate입니다.",
                "Gate and up have changed places. Swish belongs to x W_gate.",
            ),
            everywhere(SWIGLU_PARTS),
        ),
        Mistake(
            variant(swiglu, "sigmoid_gate", ("gate * passing", "passing")),
            Text(
                "sigmoid만 곱한 GLU입니다. Swish(a) = a · sigmoid(βa)에는 a 자신도 곱해집니다.",
                "This is GLU, which multiplies by the sigmoid alone. Swish(a) = a · sigmoid(βa) holds a itself, too.",
            ),
            everywhere(SWIGLU_PARTS),
        ),
        Mistake(
            variant(swiglu, "up_forgotten", (" * (x @ w_up)", "")),
            Text(
                "x W_up을 곱하지 않았습니다. gate는 up의 feature마다 얼마나 지나갈지를 정합니다.",
                "x W_up is missing. The gate decides how much of each of its features passes.",
            ),
            everywhere(SWIGLU_PARTS),
        ),
        Mistake(
            variant(swiglu, "gate_added", ("gate * passing * (x @ w_up)", "gate * passing + x @ w_up")),
            Text(
                "gate를 더했습니다. gate는 원소별로 곱합니다.",
                "The gate is added. It multiplies, entry by entry.",
            ),
            everywhere(SWIGLU_PARTS),
        ),
        Mistake(
            variant(
                swiglu,
                "swish_of_the_product",
                ("gate = x @ w_gate", "gate = (x @ w_gate) * (x @ w_up)"),
                ("gate * passing * (x @ w_up)", "gate * passing"),
            ),
            Text(
                "둘을 곱한 뒤에 Swish를 씌웠습니다. Swish는 gate에만 씌우고 그다음에 곱합니다.",
                "Swish is applied to the product. Apply it to the gate alone, then multiply.",
            ),
            frozenset({"tokens", "batches", "beta"}),
        ),
        Mistake(
            variant(swiglu, "relu_gate", ("gate * passing", "np.maximum(gate, 0.0)")),
            Text(
                "ReLU를 gate로 썼습니다 (ReGLU). Swish는 음수에서도 조금 지나갑니다.",
                "The gate is a ReLU (ReGLU). Swish lets a little pass for negative numbers too.",
            ),
            frozenset({"tokens", "batches", "beta"}),
        ),
        Mistake(
            variant(swiglu, "sign_of_the_sigmoid", ("-beta * gate)", "beta * gate)")),
            Text(
                "sigmoid의 부호가 반대입니다. sigmoid(a) = 1 / (1 + e^(−a))입니다.",
                "The sigmoid has the wrong sign: sigmoid(a) = 1 / (1 + e^(−a)).",
            ),
            everywhere(SWIGLU_PARTS),
        ),
        Mistake(
            variant(
                swiglu,
                "sigmoid_overflows",
                (
                    "np.exp(-np.logaddexp(0.0, -beta * gate))",
                    "np.exp(beta * gate) / (1 + np.exp(beta * gate))",
                ),
            ),
            Text(
                "e^a / (1 + e^a)는 큰 a에서 ∞ / ∞ = NaN입니다. 1 / (1 + e^(−a))로 쓰세요.",
                "e^a / (1 + e^a) is ∞ / ∞ = NaN for a large a. Write 1 / (1 + e^(−a)).",
            ),
            frozenset({"saturated"}),
        ),
        Mistake(
            variant(swiglu, "beta_not_used", ("-beta * gate", "-gate")),
            Text("beta를 쓰지 않았습니다.", "beta is not used."),
            frozenset({"beta"}),
        ),
        Mistake(
            variant(swiglu, "zero_beta_taken_for_none", ("-beta * gate", "-(beta or 1.0) * gate")),
            Text(
                "beta=0을 '없음'으로 읽었습니다 (beta or ...). beta=0이면 gate는 a / 2입니다.",
                "beta=0 is taken for 'not given' (beta or ...). With beta=0 the gate is a / 2.",
            ),
            frozenset({"beta"}),
        ),
        Mistake(
            variant(
                swiglu,
                "beta_on_the_gate",
                ("gate = x @ w_gate", "gate = beta * (x @ w_gate)"),
                ("-beta * gate", "-gate"),
            ),
            Text(
                "beta를 gate 전체에 곱했습니다. a · sigmoid(βa)에서 beta는 sigmoid 안에만 있습니다.",
                "beta multiplies the whole gate. In a · sigmoid(βa), it stands inside the sigmoid only.",
            ),
            frozenset({"beta"}),
        ),
        Mistake(
            variant(swiglu, "weights_transposed", ("(x @ w_up)) @ w_down", "(x @ w_up)) @ w_down.T")),
            Text(
                "행렬 곱 안쪽의 두 축이 어긋납니다. 행렬을 transpose했거나 (.T), 원소별로 곱할 자리에 @ 를 쓰지 않았는지 보세요. W_down은 (d_ff, d_out)입니다.",
                "The inner axes of a matrix product don't line up. See that no matrix is transposed (.T) and no @ stands where * should: W_down is (d_ff, d_out).",
            ),
            everywhere(SWIGLU_PARTS),
        ),
        Mistake(
            variant(
                swiglu,
                "output_transposed",
                (
                    "return (gate * passing * (x @ w_up)) @ w_down",
                    "return np.swapaxes((gate * passing * (x @ w_up)) @ w_down, -1, -2)",
                ),
            ),
            Text(
                "결과가 뒤집혔습니다. token마다 한 row, shape는 (..., n, d_out)입니다.",
                "The result is transposed. One row a token: (..., n, d_out).",
            ),
            everywhere(SWIGLU_PARTS),
        ),
        Mistake(
            variant(
                swiglu,
                "first_sequence_only",
                ("    gate =", "    x = x.reshape(-1, *x.shape[-2:])[0]\n    gate ="),
            ),
            Text(
                "첫 sequence만 계산했습니다. batch 축은 몇 개든 남습니다.",
                "Only the first sequence is computed. Batch axes stay, however many there are.",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            half_precision_swiglu,
            HALF_PRECISION,
            everywhere(SWIGLU_PARTS),
        ),
        Mistake(
            variant(
                swiglu,
                "nan_replaced_by_zero",
                (
                    "np.exp(-np.logaddexp(0.0, -beta * gate))",
                    "np.nan_to_num(np.exp(beta * gate) / (1 + np.exp(beta * gate)))",
                ),
            ),
            Text(
                "∞ / ∞ = NaN을 0으로 바꾸었습니다. 큰 gate는 막히지 않고 그대로 지나가야 합니다. 1 / (1 + e^(−a))로 쓰세요.",
                "∞ / ∞ = NaN is replaced by 0, but a large gate passes whole. Write 1 / (1 + e^(−a)).",
            ),
            frozenset({"saturated"}),
        ),
        Mistake(
            variant(
                swiglu,
                "gelu_gate",
                (
                    "gate * passing *",
                    "0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3))) *",
                ),
            ),
            GELU_FOR_SWISH,
            frozenset({"tokens", "batches", "beta"}),
        ),
        Mistake(
            gelu_of_the_normal_distribution,
            GELU_FOR_SWISH,
            frozenset({"tokens", "batches", "beta"}),
        ),
        Mistake(
            variant(
                swiglu,
                "squeezed_tokens",
                (
                    "    return (gate * passing * (x @ w_up)) @ w_down",
                    "    return ((gate * passing * (x @ w_up)) @ w_down).squeeze()",
                ),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                swiglu,
                "swish_of_up_too",
                (
                    "    return (gate * passing * (x @ w_up)) @ w_down",
                    "    up = x @ w_up\n    return (gate * passing * up * np.exp(-np.logaddexp(0.0, -beta * up))) @ w_down",
                ),
            ),
            Text(
                "up에도 Swish를 했습니다. Swish는 gate에만 합니다.",
                "Swish is applied to up as well. It belongs to the gate alone.",
            ),
            frozenset({"tokens", "batches", "beta", "saturated"}),
        ),
    ),
    right_answers=(
        swiglu_by_loops,
        swiglu_by_einsum,
        swiglu_by_tanh,
        swiglu_plainly,
        swiglu_in_torch,
        swiglu_as_a_class,
    ),
)


# --- Task 5: mixture_of_experts -------------------------------------------------------------------------------


def mixture_of_experts(x, w_router, w_up, w_down, top_k=2):
    """x (..., n, d_model), w_router (d_model, e), w_up (e, d_model, d_ff), w_down (e, d_ff, d_out) -> (..., n, d_out)"""
    logits = x @ w_router
    chosen = np.argsort(-logits, axis=-1, kind="stable")[..., :top_k]
    kept = np.take_along_axis(logits, chosen, axis=-1)
    gates = np.exp(kept - kept.max(axis=-1, keepdims=True))
    gates = gates / gates.sum(axis=-1, keepdims=True)
    output = np.zeros((*x.shape[:-1], w_down.shape[-1]))
    for expert in range(len(w_up)):
        *tokens, place = np.nonzero(chosen == expert)
        hidden = np.maximum(x[tuple(tokens)] @ w_up[expert], 0.0)
        output[tuple(tokens)] += gates[(*tokens, place)][:, None] * (hidden @ w_down[expert])
    return output


def random_experts(rng, shape):
    d_model, experts, d_ff, d_out = shape[-1], 7, 11, 2
    return {
        "x": rng.normal(size=shape),
        "w_router": rng.normal(size=(d_model, experts)),
        "w_up": rng.normal(size=(experts, d_model, d_ff)),
        "w_down": rng.normal(size=(experts, d_ff, d_out)),
    }


def routed(inputs, rng, ranks):
    """The inputs with x > 0, and a router that gives each expert its rank times the sum of x: exact numbers."""
    inputs["x"] = rng.integers(1, 4, inputs["x"].shape) * 1.0
    inputs["w_router"] = np.ones((inputs["x"].shape[-1], 1)) * ranks
    return inputs


def draw_routed_tokens(rng):
    return [random_experts(rng, (5, 3))]


def draw_routed_batches(rng):
    return [random_experts(rng, (13, 5, 3)), random_experts(rng, (3, 1, 13, 5))]


def draw_other_top_k(rng):
    return [{**random_experts(rng, (5, 3)), "top_k": top_k} for top_k in (1, 3)]


def draw_tied_experts(rng):
    ranks = rng.permutation([3.0, 2.0, 2.0, 2.0, 1.0, 0.0, 0.0]) / 8
    return [
        routed(random_experts(rng, (5, 3)), rng, ranks),
        routed(random_experts(rng, (5, 3)), rng, 0.0 * ranks),
        many_experts(rng),
    ]


def many_experts(rng):
    """Of 37 experts, five are the best for each of 17 tokens: a sort that is not stable exchanges some of them."""
    logits = rng.permuted(np.tile(np.arange(37) < 5, (19, 1)), axis=1) / 8
    weights = {"w_up": (37, 19, 3), "w_down": (37, 3, 2)}
    return {
        "x": np.eye(17, 19),
        "w_router": logits,
        **{name: rng.integers(1, 9, shape) * 1.0 for name, shape in weights.items()},
    }


def draw_broken_experts(rng):
    # One broken expert is chosen by nobody, another by the first token only.
    inputs = routed(random_experts(rng, (5, 3)), rng, rng.permutation(np.arange(7.0)) / 8)
    unused, rare = np.argsort(inputs["w_router"][0])[:2]
    inputs["w_up"][unused] = np.nan
    inputs["w_down"][rare] = np.nan
    inputs["x"][0] = [9.0, 1.0, 1.0]
    inputs["x"][1:, 0] = 0.0
    inputs["w_router"][0, rare] = 9.0
    return [inputs]


def draw_decided_router(rng):
    ranks = 1e4 * (rng.permutation(7) - 3.0)
    return [
        routed(random_experts(rng, (5, 3)), rng, ranks),
        routed(random_experts(rng, (5, 3)), rng, ranks[::-1] - 4e4),
    ]


EXPERT_PARTS = (
    Part("tokens", 2, Text("한 sequence", "one sequence"), draw_routed_tokens),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_routed_batches),
    Part("top_k", 1, Text("다른 top_k", "another top_k"), draw_other_top_k),
    Part("ties", 1, Text("같은 logit", "equal logits"), draw_tied_experts),
    Part("broken", 1, Text("NaN이 든 expert", "experts that hold NaN"), draw_broken_experts),
    Part(
        "decided", 1, Text("±10000을 넘는 router logit", "router logits beyond ±10000"), draw_decided_router
    ),
)
# Where one logit is far above the others, its gate is 1 however the gates are made.
ALL_BUT_DECIDED = everywhere(EXPERT_PARTS) - {"decided"}


def weighted_by_zero(x, w_router, w_up, w_down, top_k=2):
    logits = x @ w_router
    chosen = np.argsort(-logits, axis=-1, kind="stable")[..., :top_k]
    kept = np.take_along_axis(logits, chosen, axis=-1)
    shares = np.exp(kept - kept.max(axis=-1, keepdims=True))
    gates = np.zeros(logits.shape)
    np.put_along_axis(gates, chosen, shares / shares.sum(axis=-1, keepdims=True), axis=-1)
    hidden = np.maximum(np.einsum("...d,edf->...ef", x, w_up), 0.0)
    return np.einsum("...e,...efo->...o", gates, hidden[..., None] * w_down)


def above_a_threshold(x, w_router, w_up, w_down, top_k=2):
    logits = x @ w_router
    least = np.sort(logits, axis=-1)[..., -top_k, None]
    gates = np.where(logits >= least, np.exp(logits - logits.max(axis=-1, keepdims=True)), 0.0)
    gates = gates / gates.sum(axis=-1, keepdims=True)
    output = np.zeros((*x.shape[:-1], w_down.shape[-1]))
    for expert in range(len(w_up)):
        tokens = np.nonzero(logits[..., expert] >= least[..., 0])
        hidden = np.maximum(x[tokens] @ w_up[expert], 0.0)
        output[tokens] += gates[..., expert][tokens][:, None] * (hidden @ w_down[expert])
    return output


def half_precision_experts(x, w_router, w_up, w_down, top_k=2):
    return mixture_of_experts(*(array.astype(np.float16) for array in (x, w_router, w_up, w_down)), top_k)


def experts_by_loops(x, w_router, w_up, w_down, top_k=2):
    output = np.zeros((*x.shape[:-1], w_down.shape[-1]))
    for token in np.ndindex(x.shape[:-1]):
        logits = [float(x[token] @ w_router[:, e]) for e in range(w_router.shape[-1])]
        chosen = sorted(range(len(logits)), key=lambda e: (-logits[e], e))[:top_k]
        shares = [np.exp(logits[e] - logits[chosen[0]]) for e in chosen]
        for share, e in zip(shares, chosen, strict=True):
            output[token] += share / sum(shares) * (np.maximum(x[token] @ w_up[e], 0) @ w_down[e])
    return output


def experts_renormalised(x, w_router, w_up, w_down, top_k=2):
    tokens = x.reshape(-1, x.shape[-1])
    logits = tokens @ w_router
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    order = np.argsort(-logits, axis=1, kind="stable")[:, :top_k]
    rows = np.arange(len(tokens))[:, None]
    gates = shares[rows, order] / shares[rows, order].sum(axis=1, keepdims=True)
    hidden = np.maximum(np.einsum("td,tkdf->tkf", tokens, w_up[order]), 0)
    output = np.einsum("tk,tkf,tkfo->to", gates, hidden, w_down[order])
    return output.reshape(*x.shape[:-1], w_down.shape[-1])


def experts_picked_in_turn(x, w_router, w_up, w_down, top_k=2):
    logits, left = x @ w_router, x @ w_router
    highest = logits.max(axis=-1)
    total, output = np.zeros(x.shape[:-1]), np.zeros((*x.shape[:-1], w_down.shape[-1]))
    for _ in range(top_k):
        best = left.argmax(axis=-1)
        share = np.exp(np.take_along_axis(logits, best[..., None], axis=-1)[..., 0] - highest)
        hidden = np.clip((x[..., None, :] @ w_up[best])[..., 0, :], 0, None)
        output += share[..., None] * (hidden[..., None, :] @ w_down[best])[..., 0, :]
        total += share
        np.put_along_axis(left, best[..., None], -np.inf, axis=-1)
    return output / total[..., None]


def experts_selected(x, w_router, w_up, w_down, top_k=2):
    logits = x @ w_router
    rank = np.argsort(np.argsort(-logits, axis=-1, kind="stable"), axis=-1)
    masked = np.where(rank < top_k, logits, -np.inf)
    gates = np.exp(masked - masked.max(-1, keepdims=True))
    gates /= gates.sum(-1, keepdims=True)
    updates = np.stack([np.maximum(x @ up, 0) @ down for up, down in zip(w_up, w_down, strict=True)], axis=-2)
    return np.where((rank < top_k)[..., None], gates[..., None] * updates, 0.0).sum(axis=-2)


def experts_in_torch(x, w_router, w_up, w_down, top_k=2):
    import torch

    x, w_router, w_up, w_down = (torch.as_tensor(array) for array in (x, w_router, w_up, w_down))
    logits, order = (x @ w_router).sort(dim=-1, descending=True, stable=True)
    gates, order = logits[..., :top_k].softmax(dim=-1), order[..., :top_k]
    hidden = torch.einsum("...d,...kdf->...kf", x, w_up[order]).relu()
    return torch.einsum("...k,...kf,...kfo->...o", gates, hidden, w_down[order])


SOFTMAX_OVER_TOKENS = Text(
    "Softmax가 tokens 축을 따라 계산되었습니다. 한 token의 비중을 experts 사이에 나눕니다 (axis=-1).",
    "Softmax runs over the tokens here. One token's weight is shared among its experts: axis=-1.",
)
SIGMOID_FOR_SOFTMAX = Text(
    "gate를 sigmoid로 구했습니다. 고른 logits의 Softmax를 구하세요.",
    "The gates are sigmoids. Take the Softmax of the chosen logits.",
)

EVERY_NAN_REPLACED = Text(
    "NaN을 모두 지웠습니다. 고르지 않은 expert의 것은 읽지 않으면 되고, 고른 expert의 NaN은 그 token에 나타나야 합니다.",
    "Every NaN is replaced. Those of experts that are not chosen are simply not read; one that is chosen has "
    "to show for its token.",
)


MIXTURE_OF_EXPERTS = Task(
    name="mixture_of_experts",
    reference=mixture_of_experts,
    parts=EXPERT_PARTS,
    see="attention-and-ffn.html#moe",
    rtol=1e-4,
    atol=1e-5,
    mistakes=(
        Mistake(
            variant(
                mixture_of_experts,
                "gates_over_all_experts",
                ("kept.max(axis=-1, keepdims=True)", "logits.max(axis=-1, keepdims=True)"),
                (
                    "gates.sum(axis=-1, keepdims=True)",
                    "np.exp(logits - logits.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True)",
                ),
            ),
            Text(
                "모든 expert에 대한 Softmax에서 골랐을 뿐, 고른 것의 합이 1이 아닙니다. 고른 top_k 개 사이에서 Softmax를 구하세요.",
                "Softmax runs over all experts, so the chosen gates don't sum to 1. Take it over the top_k chosen.",
            ),
            ALL_BUT_DECIDED,
        ),
        Mistake(
            variant(mixture_of_experts, "all_experts_chosen", ("[..., :top_k]", "")),
            Text(
                "모든 expert를 섞었습니다. token마다 logit이 가장 큰 top_k 개만 씁니다.",
                "All experts are mixed. Each token uses only the top_k with the largest logits.",
            ),
            ALL_BUT_DECIDED,
        ),
        Mistake(
            variant(mixture_of_experts, "smallest_chosen", ("argsort(-logits", "argsort(logits")),
            Text(
                "logit이 가장 작은 experts를 골랐습니다. np.argsort는 작은 것부터 늘어놓습니다.",
                "The experts with the smallest logits are chosen. np.argsort begins with the smallest.",
            ),
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "later_expert_first",
                (
                    'np.argsort(-logits, axis=-1, kind="stable")',
                    'np.argsort(logits, axis=-1, kind="stable")[..., ::-1]',
                ),
            ),
            Text(
                "같은 logit이면 뒤의 expert를 골랐습니다 (정렬을 뒤집어서). 앞의 것을 고릅니다.",
                "Of equal logits the later expert is chosen (a reversed sort). Choose the earlier one.",
            ),
            frozenset({"ties"}),
        ),
        Mistake(
            above_a_threshold,
            Text(
                "top_k번째 logit 이상을 모두 골라, 같은 logit이 있으면 top_k 개보다 많아집니다.",
                "Everything from the top_k-th logit up is chosen, which is more than top_k where logits are equal.",
            ),
            frozenset({"ties"}),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "equal_gates",
                ("gates = np.exp(kept - kept.max(axis=-1, keepdims=True))", "gates = np.ones(kept.shape)"),
            ),
            Text(
                "고른 experts를 똑같이 섞었습니다. gate는 logit의 Softmax입니다.",
                "The chosen experts are mixed in equal parts. A gate is the Softmax of its logit.",
            ),
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "gates_not_normalised",
                ("    gates = gates / gates.sum(axis=-1, keepdims=True)\n", ""),
            ),
            Text(
                "gates의 합이 1이 아닙니다. exponentials의 합으로 나누지 않았습니다.",
                "The gates don't sum to 1: the sum of the exponentials is not divided by.",
            ),
            ALL_BUT_DECIDED,
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "logits_as_gates",
                ("np.exp(kept - kept.max(axis=-1, keepdims=True))", "kept"),
            ),
            Text(
                "logit을 그대로 비중으로 썼습니다. 음수 logit은 음수 비중이 됩니다.",
                "Logits serve as shares as they are: a negative logit gives a negative share.",
            ),
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "first_expert_alone",
                (
                    "for expert in range(len(w_up)):",
                    "chosen, gates = chosen[..., :1], gates[..., :1] / gates[..., :1]\n    for expert in range(len(w_up)):",
                ),
            ),
            Text(
                "가장 큰 expert 하나만 썼습니다. top_k 개의 output을 gate로 섞습니다.",
                "Only the largest expert is used. Mix the outputs of top_k of them by their gates.",
            ),
            ALL_BUT_DECIDED,
        ),
        Mistake(
            variant(mixture_of_experts, "always_two", (":top_k]", ":2]")),
            Text("top_k 대신 늘 둘을 골랐습니다.", "Two experts are chosen whatever top_k says."),
            frozenset({"top_k"}),
        ),
        Mistake(
            weighted_by_zero,
            Text(
                "고르지 않은 expert의 output에 0을 곱했습니다. NaN × 0은 NaN입니다. 고른 experts만 계산하거나 np.where로 고르세요.",
                "The output of an expert that is not chosen is multiplied by 0, and NaN × 0 is NaN. Compute the chosen "
                "ones only, or select with np.where.",
            ),
            frozenset({"broken"}),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "gates_overflow",
                ("kept - kept.max(axis=-1, keepdims=True)", "kept"),
            ),
            Text(
                "최댓값을 빼지 않아 exp가 넘치거나 모두 0이 되었습니다. router의 Softmax도 Softmax입니다.",
                "Without the maximum subtracted, exp overflows or vanishes. The router's Softmax is a Softmax too.",
            ),
            frozenset({"decided"}),
        ),
        Mistake(
            half_precision_experts,
            HALF_PRECISION,
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "one_choice_for_all",
                ("    kept =", "    chosen = chosen * 0 + chosen[..., :1, :]\n    kept ="),
            ),
            Text(
                "첫 token의 선택을 모든 token이 따랐습니다. token마다 자기 experts를 고릅니다.",
                "All tokens follow the first one's choice. Each token chooses for itself.",
            ),
            frozenset({"tokens", "batches", "top_k", "ties", "broken"}),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "experts_choose_tokens",
                ("kept.max(axis=-1", "kept.max(axis=-2"),
                ("gates.sum(axis=-1", "gates.sum(axis=-2"),
            ),
            SOFTMAX_OVER_TOKENS,
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts, "gates_summed_over_tokens", ("gates.sum(axis=-1", "gates.sum(axis=-2")
            ),
            SOFTMAX_OVER_TOKENS,
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "all_logits_over_tokens",
                (
                    "    gates = np.exp(kept - kept.max(axis=-1, keepdims=True))\n"
                    "    gates = gates / gates.sum(axis=-1, keepdims=True)\n",
                    "    gates = np.exp(logits - logits.max(axis=-2, keepdims=True))\n"
                    "    gates = gates / gates.sum(axis=-2, keepdims=True)\n"
                    "    gates = np.take_along_axis(gates, chosen, axis=-1)\n",
                ),
            ),
            SOFTMAX_OVER_TOKENS,
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "chosen_by_shares_of_tokens",
                (
                    "    chosen =",
                    "    logits = np.exp(logits - logits.max(axis=-2, keepdims=True))\n"
                    "    logits = logits / logits.sum(axis=-2, keepdims=True)\n    chosen =",
                ),
                ("np.exp(kept - kept.max(axis=-1, keepdims=True))", "kept"),
                ("    gates = gates / gates.sum(axis=-1, keepdims=True)\n", ""),
            ),
            SOFTMAX_OVER_TOKENS,
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "linear_experts",
                ("np.maximum(x[tuple(tokens)] @ w_up[expert], 0.0)", "x[tuple(tokens)] @ w_up[expert]"),
            ),
            Text(
                "expert 안의 ReLU가 빠졌습니다. 그러면 두 행렬은 한 행렬과 같습니다.",
                "The ReLU inside the experts is missing. Two matrices are then no more than one.",
            ),
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "every_nan_replaced",
                ("@ w_up[expert]", "@ np.nan_to_num(w_up[expert])"),
                ("hidden @ w_down[expert]", "hidden @ np.nan_to_num(w_down[expert])"),
            ),
            EVERY_NAN_REPLACED,
            frozenset({"broken"}),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "first_sequence_routes",
                (
                    "    kept =",
                    "    chosen = chosen * 0 + chosen.reshape(-1, *chosen.shape[-2:])[0]\n    kept =",
                ),
            ),
            Text(
                "첫 sequence의 선택을 batch 전체에 썼습니다.",
                "The choices of the first sequence serve the whole batch.",
            ),
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                mixture_of_experts, "axis_lost", ("gates.sum(axis=-1, keepdims=True)", "gates.sum(axis=-1)")
            ),
            AXIS_LOST,
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(mixture_of_experts, "gates_not_used", ("gates[(*tokens, place)][:, None] * ", "")),
            Text(
                "고른 experts의 output을 그대로 더했습니다. 저마다 자기 gate를 곱합니다.",
                "The outputs of the chosen experts are added as they are. Multiply each by its gate.",
            ),
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "last_chosen_alone",
                ("output[tuple(tokens)] += ", "output[tuple(tokens)] = "),
            ),
            Text(
                "expert의 몫을 더하지 않고 덮어썼습니다 (=). 그래서 마지막 expert만 남았습니다. +=로 더하세요.",
                "Shares of experts replace one another (=), so that only the last one is left: add them with +=.",
            ),
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "gates_of_one_another",
                ("gates[(*tokens, place)]", "gates[..., ::-1][(*tokens, place)]"),
            ),
            Text(
                "gate가 다른 expert에 붙었습니다. gates와 chosen은 같은 순서여야 합니다: 둘 다 큰 것부터.",
                "The gates go to one another's experts. Keep gates and chosen in one order: both from the largest.",
            ),
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "sigmoid_for_softmax",
                ("np.exp(kept - kept.max(axis=-1, keepdims=True))", "np.exp(-np.logaddexp(0.0, -kept))"),
            ),
            SIGMOID_FOR_SOFTMAX,
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "sigmoid_alone",
                ("np.exp(kept - kept.max(axis=-1, keepdims=True))", "np.exp(-np.logaddexp(0.0, -kept))"),
                ("    gates = gates / gates.sum(axis=-1, keepdims=True)\n", ""),
            ),
            SIGMOID_FOR_SOFTMAX,
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "one_maximum_for_all_tokens",
                ("kept.max(axis=-1, keepdims=True)", "kept.max()"),
            ),
            ONE_MAXIMUM_FOR_ALL,
            frozenset({"decided"}),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "softmax_twice",
                (
                    "    kept =",
                    "    logits = np.exp(logits - logits.max(axis=-1, keepdims=True))\n"
                    "    logits = logits / logits.sum(axis=-1, keepdims=True)\n    kept =",
                ),
            ),
            Text(
                "Softmax를 두 번 계산했습니다. 고른 logit 자체의 Softmax가 gate입니다.",
                "Softmax is taken twice. The gates are the Softmax of the chosen logits themselves.",
            ),
            everywhere(EXPERT_PARTS),
        ),
        Mistake(
            variant(
                mixture_of_experts, "squeezed_mixture", ("    return output", "    return output.squeeze()")
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                weighted_by_zero,
                "nan_of_the_mixture_replaced",
                (
                    'return np.einsum("...e,...efo->...o", gates, hidden[..., None] * w_down)',
                    'return np.nan_to_num(np.einsum("...e,...efo->...o", gates, hidden[..., None] * w_down))',
                ),
            ),
            EVERY_NAN_REPLACED,
            frozenset({"broken"}),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "relu_behind_the_expert",
                ("np.maximum(x[tuple(tokens)] @ w_up[expert], 0.0)", "x[tuple(tokens)] @ w_up[expert]"),
                ("(hidden @ w_down[expert])", "np.maximum(hidden @ w_down[expert], 0.0)"),
            ),
            Text(
                "ReLU가 expert의 두 행렬 뒤에 있습니다. 두 행렬 사이에 둡니다.",
                "The ReLU stands behind an expert's two matrices. It stands between them.",
            ),
            frozenset({"tokens", "batches", "top_k", "ties", "broken", "decided"}),
        ),
        Mistake(
            variant(
                mixture_of_experts,
                "routed_by_the_sequence",
                (
                    "    logits = x @ w_router\n",
                    "    logits = x @ w_router\n    logits = 0 * logits + logits.mean(axis=-2, keepdims=True)\n",
                ),
            ),
            Text(
                "sequence마다 experts를 한 번만 골랐습니다. token마다 자기 experts를 고릅니다.",
                "The experts are chosen once for a sequence. Each token chooses its own.",
            ),
            frozenset({"tokens", "batches", "top_k", "ties", "broken"}),
        ),
    ),
    right_answers=(
        experts_by_loops,
        experts_renormalised,
        experts_picked_in_turn,
        experts_selected,
        experts_in_torch,
    ),
)


# --- Task 6: residual_block -----------------------------------------------------------------------------------


def residual_block(x, w_q, w_k, w_v, w_o, w_up, w_down, valid=None):
    """x (..., n, d_model), valid (..., n) or None -> (3, ..., n, d_model): both updates, and the stream after them"""

    def norm(stream):
        return stream / np.sqrt((stream**2).mean(axis=-1, keepdims=True) + 1e-6)

    token = np.ones(x.shape[:-1], dtype=bool) if valid is None else valid
    stream = np.where(token[..., None], x, 0.0)
    read = norm(stream)
    logits = (read @ w_q) @ np.swapaxes(read @ w_k, -1, -2) / np.sqrt(w_k.shape[-1])
    logits = np.where(token[..., None, :], logits, -np.inf)
    highest = logits.max(axis=-1, keepdims=True)
    exponentials = np.exp(logits - np.where(np.isneginf(highest), 0.0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    mixture = exponentials / np.where(total == 0, 1.0, total) @ (read @ w_v)
    from_attention = np.where(token[..., None], mixture @ w_o, 0.0)
    read = norm(stream + from_attention)
    from_ffn = np.where(token[..., None], np.maximum(read @ w_up, 0.0) @ w_down, 0.0)
    return np.stack([from_attention, from_ffn, x + from_attention + from_ffn])


def random_block(rng, shape):
    d_model, d_k, d_v, d_ff = shape[-1], 11, 13, 17
    widths = {"w_q": (d_model, d_k), "w_k": (d_model, d_k), "w_v": (d_model, d_v), "w_o": (d_v, d_model)}
    widths |= {"w_up": (d_model, d_ff), "w_down": (d_ff, d_model)}
    return {
        "x": 2 * rng.normal(size=shape),
        **{name: rng.normal(size=width) for name, width in widths.items()},
    }


def padded(rng, inputs, valid):
    # What stands in padding must not reach a token: in one half NaN, in the other numbers that look like any.
    places = rng.permutation(np.argwhere(~valid))
    inputs["x"][tuple(places[::2].T)] = np.nan
    return {**inputs, "valid": valid}


def draw_one_stream(rng):
    return [random_block(rng, (5, 7))]


def draw_streams(rng):
    return [random_block(rng, (2, 5, 7)), random_block(rng, (3, 1, 5, 7))]


def draw_padded_streams(rng):
    valid = rng.permuted(np.arange(5) < np.array([[2], [3], [4]]), axis=1)
    return [padded(rng, random_block(rng, (3, 5, 7)), valid)]


def draw_empty_stream(rng):
    valid = rng.permutation(np.arange(5) < np.array([[0], [3], [5]]))
    return [
        padded(rng, random_block(rng, (3, 5, 7)), valid),
        *(padded(rng, lone_token(rng, size), rng.permutation(5) == 0) for size in (1e6, 11.0)),
    ]


def lone_token(rng, size):
    # A token's score with itself, the only one there is, lies far below 0: with 1e6 below any number that stands for -inf.
    inputs = random_block(rng, (5, 7))
    inputs["w_q"] *= size
    return {**inputs, "w_k": -inputs["w_q"]}


def draw_extreme_streams(rng):
    # A token of zeros has no direction; one of 1e4 must be read no louder than the others; in one of 1e-3, the 1e-6 of the
    # norm counts as much as the mean square.
    inputs = random_block(rng, (5, 7))
    zero, loud, quiet = rng.permutation(5)[:3]
    inputs["x"][zero] = 0.0
    inputs["x"][loud] *= 1e4
    inputs["x"][quiet] *= 1e-3
    # Logits of 1e8, whose exponentials overflow; one Key wins in every precision.
    sharp = random_block(rng, (5, 7))
    sharp["w_q"] *= 1e8
    return [inputs, sharp]


STREAM_PARTS = (
    Part("stream", 2, Text("한 sequence", "one sequence"), draw_one_stream),
    Part("batches", 1, Text("batch 축", "batch axes"), draw_streams),
    Part("padding", 2, Text("padding", "padding"), draw_padded_streams),
    Part(
        "empty",
        1,
        Text("token이 없거나 하나인 sequence", "a sequence of no token, or of one"),
        draw_empty_stream,
    ),
    Part(
        "extremes",
        1,
        Text("0인 token, 아주 크거나 작은 token", "a token of zeros, a very large and a very small one"),
        draw_extreme_streams,
    ),
)


def half_precision_block(x, w_q, w_k, w_v, w_o, w_up, w_down, valid=None):
    arrays = (array.astype(np.float16) for array in (x, w_q, w_k, w_v, w_o, w_up, w_down))
    return residual_block(*arrays, valid)


def block_by_loops(x, w_q, w_k, w_v, w_o, w_up, w_down, valid=None):
    result = np.zeros((3, *x.shape))
    result[2] = x
    for sequence in np.ndindex(x.shape[:-2]):
        tokens = [i for i in range(x.shape[-2]) if valid is None or valid[(*sequence, i)]]
        stream = {i: x[(*sequence, i)] for i in tokens}
        read = {i: row / np.sqrt(sum(row * row) / len(row) + 1e-6) for i, row in stream.items()}
        for i in tokens:
            logits = [(read[i] @ w_q) @ (read[j] @ w_k) / w_q.shape[1] ** 0.5 for j in tokens]
            shares = [np.exp(logit - max(logits)) for logit in logits]
            mixture = sum(
                share / sum(shares) * (read[j] @ w_v) for share, j in zip(shares, tokens, strict=True)
            )
            attended = mixture @ w_o
            row = stream[i] + attended
            computed = np.maximum(row / np.sqrt(np.mean(row**2) + 1e-6) @ w_up, 0) @ w_down
            result[(0, *sequence, i)], result[(1, *sequence, i)] = attended, computed
            result[(2, *sequence, i)] = row + computed
    return result


class Norm:
    def __call__(self, x):
        return x * (np.einsum("...d,...d->...", x, x)[..., None] / x.shape[-1] + 1e-6) ** -0.5


class Block:
    def __init__(self, w_q, w_k, w_v, w_o, w_up, w_down):
        self.w_q, self.w_k, self.w_v, self.w_o, self.w_up, self.w_down = w_q, w_k, w_v, w_o, w_up, w_down
        self.norm = Norm()

    def attention(self, x, valid):
        logits = np.einsum("...id,...jd->...ij", x @ self.w_q, x @ self.w_k) * self.w_q.shape[-1] ** -0.5
        logits = logits + np.where(valid, 0.0, -1e30)[..., None, :]  # where none is valid, all are alike
        exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return exponentials @ (x @ self.w_v @ self.w_o) / exponentials.sum(axis=-1, keepdims=True)

    def feed_forward(self, x):
        hidden = x @ self.w_up
        return (hidden * (hidden > 0)) @ self.w_down


def block_as_a_class(x, w_q, w_k, w_v, w_o, w_up, w_down, valid=None):
    block = Block(w_q, w_k, w_v, w_o, w_up, w_down)
    valid = np.full(x.shape[:-1], True) if valid is None else valid
    clean = x.copy()
    clean[~valid] = 0
    first = block.attention(block.norm(clean), valid)
    first[~valid] = 0
    second = block.feed_forward(block.norm(clean + first))
    second[~valid] = 0
    return np.array([first, second, x + (first + second)])


def block_of_tokens_alone(x, w_q, w_k, w_v, w_o, w_up, w_down, valid=None):
    if x.ndim > 2:
        masks = [None] * len(x) if valid is None else valid
        blocks = [
            block_of_tokens_alone(entry, w_q, w_k, w_v, w_o, w_up, w_down, mask)
            for entry, mask in zip(x, masks, strict=True)
        ]
        return np.stack(blocks, axis=1)
    kept = np.arange(len(x)) if valid is None else np.flatnonzero(valid)
    result = np.zeros((3, *x.shape))
    result[2] = x
    if len(kept):
        tokens = x[kept]
        read = tokens / np.sqrt(np.mean(tokens**2, axis=1, keepdims=True) + 1e-6)
        logits = (read @ w_q) @ (read @ w_k).T / np.sqrt(w_q.shape[1])
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        attended = weights / weights.sum(axis=1, keepdims=True) @ read @ w_v @ w_o
        stream = tokens + attended
        read = stream / np.sqrt(np.mean(stream**2, axis=1, keepdims=True) + 1e-6)
        computed = np.maximum(read @ w_up, 0) @ w_down
        result[:, kept] = attended, computed, stream + computed
    return result


def block_in_torch(x, w_q, w_k, w_v, w_o, w_up, w_down, valid=None):
    import torch

    arrays = (torch.as_tensor(array) for array in (x, w_q, w_k, w_v, w_o, w_up, w_down))
    x, w_q, w_k, w_v, w_o, w_up, w_down = arrays
    padding = torch.zeros(x.shape[:-1], dtype=torch.bool) if valid is None else ~torch.as_tensor(valid)

    def read(stream):
        stream = stream.masked_fill(padding[..., None], 0.0)
        return torch.nn.functional.rms_norm(stream, stream.shape[-1:], eps=1e-6)

    seen = read(x)
    logits = (seen @ w_q) @ (seen @ w_k).mT / w_q.shape[-1] ** 0.5
    weights = logits.masked_fill(padding[..., None, :], -torch.inf).softmax(dim=-1).nan_to_num(0.0)
    attended = (weights @ seen @ w_v @ w_o).masked_fill(padding[..., None], 0.0)
    computed = (read(x + attended) @ w_up).relu() @ w_down
    computed = computed.masked_fill(padding[..., None], 0.0)
    return torch.stack([attended, computed, x + attended + computed])


PADDING_UPDATED = Text(
    "padding에도 무언가를 더했습니다. 그 자리의 update는 둘 다 0이고 x가 그대로 지나갑니다.",
    "Something is added to padding. Both updates are 0 there, and x passes unchanged.",
)

TOKENS_MASKED = Text(
    "padding이 아니라 tokens를 가렸습니다. valid가 True인 Keys의 logits가 남습니다.",
    "Tokens are masked instead of padding. The logits of Keys whose valid is True stay.",
)


# Padding is neither left out of what is added, nor are rows that are masked throughout looked after.
UNGUARDED_TOKENS = (
    ("np.where(token[..., None], x, 0.0)", "x"),
    ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
    ("np.where(total == 0, 1.0, total)", "total"),
    ("np.where(token[..., None], mixture @ w_o, 0.0)", "mixture @ w_o"),
    (
        "np.where(token[..., None], np.maximum(read @ w_up, 0.0) @ w_down, 0.0)",
        "np.maximum(read @ w_up, 0.0) @ w_down",
    ),
)
TOKENS_MASKED_PLAINLY = Text(
    "padding이 아니라 tokens를 가렸습니다. valid가 True인 Keys의 logits가 남습니다. 또 0 × NaN은 NaN이니 padding의 rows를 읽기 전에 0으로 "
    "바꾸고, 두 update도 그 자리에서는 0으로 고르세요.",
    "Tokens are masked instead of padding. The logits of Keys whose valid is True stay. And 0 × NaN is NaN: "
    "set the rows of padding to 0 before they are read, and select 0 for both updates there.",
)


RESIDUAL_BLOCK = Task(
    name="residual_block",
    reference=residual_block,
    parts=STREAM_PARTS,
    see="attention-and-ffn.html#residual-stream",
    atol=1e-4,
    rtol=1e-4,
    mistakes=(
        Mistake(
            variant(
                residual_block,
                "stream_forgotten",
                ("x + from_attention + from_ffn]", "from_attention + from_ffn]"),
            ),
            Text(
                "들어온 x가 사라졌습니다. sublayer는 stream을 바꾸지 않고 거기에 더합니다.",
                "The incoming x is gone. A sublayer adds to the stream; it doesn't replace it.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "streams_instead_of_updates",
                (
                    "np.stack([from_attention, from_ffn,",
                    "np.stack([x + from_attention, x + from_attention + from_ffn,",
                ),
            ),
            Text(
                "더해진 뒤의 stream을 돌려주었습니다. 처음 둘은 각 sublayer가 더한 것만입니다.",
                "These are streams after the addition. The first two are what each sublayer adds, alone.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "without_norm",
                ("return stream / np.sqrt((stream**2).mean(axis=-1, keepdims=True) + 1e-6)", "return stream"),
            ),
            Text(
                "norm이 없습니다. 두 sublayer는 모두 norm을 거친 stream을 읽습니다.",
                "There is no norm. Both sublayers read a normed copy of the stream.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "first_update_left_out",
                ("x + from_attention + from_ffn]", "x + from_ffn]"),
            ),
            Text(
                "마지막 stream에 U₁이 빠졌습니다. 두 update를 모두 더합니다: x + U₁ + U₂.",
                "U₁ is missing from the last stream. Both updates are added: x + U₁ + U₂.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "normed_copy_returned",
                ("x + from_attention + from_ffn]", "norm(stream) + from_attention + from_ffn]"),
            ),
            Text(
                "updates를 norm한 사본에 더해 돌려주었습니다. norm은 sublayer가 읽기 위한 것이고, stream에는 x 자체가 남습니다.",
                "The updates are added to the normed copy. That is for the sublayer to read; the stream keeps x itself.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "stream_normed",
                ("x + from_attention + from_ffn]", "norm(stream) + from_attention + from_ffn]"),
                ("read = norm(stream + from_attention)", "read = norm(norm(stream) + from_attention)"),
            ),
            Text(
                "stream 자체를 norm했습니다. norm은 sublayer가 읽는 사본에만 하고, x는 그대로 지나갑니다.",
                "The stream itself is normed. Norm the copy that a sublayer reads; x passes as it is.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "norm_after_the_sum",
                ("    read = norm(stream)\n", "    read = stream\n"),
                (
                    "    read = norm(stream + from_attention)\n",
                    "    read = norm(stream + from_attention)\n    stream = read\n",
                ),
                ("x + from_attention + from_ffn]", "norm(stream + from_ffn)]"),
            ),
            Text(
                "더한 뒤에 norm했습니다 (post-norm). 이 block은 sublayer 앞에서 norm합니다 (pre-norm).",
                "The norm comes after the sum (post-norm). This block norms before each sublayer (pre-norm).",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "ffn_beside_attention",
                ("norm(stream + from_attention)", "norm(stream)"),
            ),
            Text(
                "FFN이 Attention의 update를 보지 못했습니다. FFN은 Attention이 더한 뒤의 stream을 읽습니다.",
                "The FFN doesn't see what Attention added. It reads the stream after that addition.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "ffn_of_the_update",
                ("norm(stream + from_attention)", "norm(from_attention)"),
            ),
            Text(
                "FFN이 Attention의 output만 읽었습니다. x도 stream에 그대로 있습니다.",
                "The FFN reads Attention's output alone. x is still in the stream, too.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "second_norm_forgotten",
                ("read = norm(stream + from_attention)", "read = stream + from_attention"),
            ),
            Text(
                "FFN 앞의 norm이 빠졌습니다. sublayer마다 하나씩 있습니다.",
                "The norm before the FFN is missing. There is one before each sublayer.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "layer_norm",
                ("    read = norm(stream)\n", "    read = norm(stream - stream.mean(-1, keepdims=True))\n"),
                (
                    "    read = norm(stream + from_attention)\n",
                    "    read = stream + from_attention\n    read = norm(read - read.mean(-1, keepdims=True))\n",
                ),
            ),
            MEAN_SUBTRACTED,
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(residual_block, "length_instead_of_rms", ("(stream**2).mean(", "(stream**2).sum(")),
            Text(
                "vector의 길이로 나누었습니다. RMSNorm은 제곱의 합이 아니라 평균을 씁니다.",
                "This divides by the vector's length. RMSNorm takes the mean of the squares, not their sum.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(residual_block, "norm_over_tokens", ("mean(axis=-1", "mean(axis=-2")),
            Text(
                "norm이 tokens 축을 따라 계산되어 위치끼리 섞였습니다. token마다 자기 features에 대해 구합니다 (axis=-1).",
                "The norm runs over the tokens and mixes positions. Each token has its own, over its features: axis=-1.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(residual_block, "norm_without_epsilon", (" + 1e-6)", ")")),
            Text(
                "0인 row에서 0 / 0 = NaN이 되었습니다. 제곱 평균에 1e-6을 더하세요.",
                "A row of zeros gives 0 / 0 = NaN. Add 1e-6 to the mean square.",
            ),
            frozenset({"padding", "empty", "extremes"}),
        ),
        Mistake(
            variant(
                residual_block,
                "epsilon_outside_the_root",
                ("stream / np.sqrt(", "stream / (np.sqrt("),
                (" + 1e-6)", ") + 1e-6)"),
            ),
            Text(
                "1e-6을 근호 밖에서 더했습니다. 식에서는 제곱의 평균에 더한 다음 근호를 씌웁니다. 아주 작은 token에서 달라집니다.",
                "1e-6 is added outside the root. In the formula it is added to the mean square, under the root: a very small token shows it.",
            ),
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(residual_block, "norm_of_all_tokens", ("mean(axis=-1, keepdims=True)", "mean()")),
            Text(
                "평균을 모든 tokens에 대해 구했습니다. token 하나의 features에 대해 구합니다: axis=-1.",
                "The mean runs over all tokens. It runs over the features of one token: axis=-1.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(residual_block, "values_not_normed", ("(read @ w_v)", "(stream @ w_v)")),
            Text(
                "Values를 norm을 거치지 않은 stream에서 만들었습니다. Q, K, V 모두 N에서 나옵니다.",
                "The Values are made of the stream without the norm. Q, K and V all come from N.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(residual_block, "scores_not_scaled", (" / np.sqrt(w_k.shape[-1])", "")),
            NOT_SCALED,
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(residual_block, "scaled_by_d_k", ("np.sqrt(w_k.shape[-1])", "w_k.shape[-1]")),
            DIVIDED_BY_D_K,
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "softmax_over_queries",
                ("logits.max(axis=-1", "logits.max(axis=-2"),
                ("exponentials.sum(axis=-1", "exponentials.sum(axis=-2"),
            ),
            SOFTMAX_OVER_QUERIES,
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "exponential_overflows",
                ("logits - np.where(np.isneginf(highest), 0.0, highest)", "logits"),
            ),
            EXPONENTIAL_OVERFLOWS,
            frozenset({"empty", "extremes"}),
        ),
        Mistake(
            variant(residual_block, "scaled_by_d_model", ("np.sqrt(w_k.shape[-1])", "np.sqrt(x.shape[-1])")),
            Text(
                "√d_model로 나누었습니다. dot product의 길이는 W_Q와 W_K를 지난 폭 d_k입니다.",
                "This divides by √d_model. The dot product is as long as what leaves W_Q and W_K: d_k.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "padding_mixed_in",
                ("np.where(token[..., None, :], logits, -np.inf)", "logits"),
            ),
            Text(
                "padding의 Keys가 비중을 받았습니다. 그 logits를 −∞로 두세요.",
                "The Keys of padding get weight. Put −∞ into their logits.",
            ),
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "valid_inverted",
                ("is None else valid", "is None else ~valid"),
            ),
            Text(
                "valid를 반대로 읽었습니다. True가 token이고, False가 padding입니다.",
                "valid is read the wrong way round. True is a token, False is padding.",
            ),
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "padding_updated",
                ("np.where(token[..., None], mixture @ w_o, 0.0)", "mixture @ w_o"),
            ),
            PADDING_UPDATED,
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "padding_updated_twice",
                ("np.where(token[..., None], mixture @ w_o, 0.0)", "mixture @ w_o"),
                (
                    "np.where(token[..., None], np.maximum(read @ w_up, 0.0) @ w_down, 0.0)",
                    "np.maximum(read @ w_up, 0.0) @ w_down",
                ),
            ),
            PADDING_UPDATED,
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "padding_poisons",
                ("np.where(token[..., None], x, 0.0)", "x"),
            ),
            Text(
                "padding의 NaN이 퍼졌습니다. weight가 0이어도 0 × NaN은 NaN입니다. 읽기 전에 그 rows를 0으로 바꾸세요.",
                "NaN of the padding spreads. Even at weight 0, 0 × NaN is NaN. Set those rows to 0 before they are read.",
            ),
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "padding_wiped",
                ("x + from_attention + from_ffn]", "stream + from_attention + from_ffn]"),
            ),
            Text(
                "padding이 0으로 바뀌어 나왔습니다. 마지막 stream에는 원래의 x가 그대로 있어야 합니다.",
                "Padding comes out as 0. The last stream holds the original x there, as it came.",
            ),
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "empty_sequence_undefined",
                ("np.where(np.isneginf(highest), 0.0, highest)", "highest"),
                ("np.where(total == 0, 1.0, total)", "total"),
                ("np.where(token[..., None], mixture @ w_o, 0.0)", "mixture @ w_o * token[..., None]"),
            ),
            Text(
                "token이 없는 sequence가 NaN이 되었습니다 (−∞ − (−∞)). 거기서는 아무것도 더해지지 않습니다.",
                "A sequence without tokens became NaN (−∞ − (−∞)). Nothing is added there.",
            ),
            frozenset({"empty"}),
        ),
        Mistake(
            half_precision_block,
            HALF_PRECISION,
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block, "all_axes_reversed", ("np.swapaxes(read @ w_k, -1, -2)", "(read @ w_k).T")
            ),
            ALL_AXES_REVERSED,
            frozenset({"batches", "padding", "empty"}),
        ),
        Mistake(
            variant(residual_block, "no_activation", ("np.maximum(read @ w_up, 0.0)", "(read @ w_up)")),
            Text(
                "ReLU가 빠졌습니다. 그러면 FFN은 행렬 하나와 같습니다.",
                "The ReLU is missing. The FFN is then no more than one matrix.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "valid_required",
                ("np.ones(x.shape[:-1], dtype=bool) if valid is None else valid", "valid"),
            ),
            Text(
                "valid=None일 때 실패합니다. 주어지지 않으면 모두 token입니다.",
                "This fails for valid=None. Where it is not given, every row is a token.",
            ),
            frozenset({"stream", "batches", "extremes"}),
        ),
        Mistake(
            variant(
                residual_block,
                "stream_overwritten",
                (
                    "x + from_attention + from_ffn]",
                    "np.add(x, from_attention + from_ffn, out=x)]",
                ),
            ),
            Text(
                "입력 x를 제자리에서 바꾸었습니다 (+=, out=). 새 배열에 계산하세요.",
                "The input x is changed in place (+=, out=). Compute into a new array.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block, "axis_of_the_norm_lost", ("mean(axis=-1, keepdims=True)", "mean(axis=-1)")
            ),
            AXIS_LOST,
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "axis_of_softmax_lost",
                ("logits.max(axis=-1, keepdims=True)", "logits.max(axis=-1)"),
                ("exponentials.sum(axis=-1, keepdims=True)", "exponentials.sum(axis=-1)"),
            ),
            Text(
                "Softmax의 최댓값과 합에서 Key 축이 사라졌습니다. logits가 n × n이라 오류 없이 column마다 나뉘었습니다: keepdims=True.",
                "Maximum and sum of the Softmax have lost the Key axis. As the logits are n × n, no error shows, and columns "
                "are divided: keepdims=True.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "truth_of_valid",
                (
                    "np.ones(x.shape[:-1], dtype=bool) if valid is None else valid",
                    "valid or np.ones(x.shape[:-1], dtype=bool)",
                ),
            ),
            TRUTH_OF_AN_ARRAY,
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "padding_masked_as_key_alone",
                *UNGUARDED_TOKENS,
            ),
            Text(
                "padding의 logits만 −∞로 두었습니다. 0 × NaN은 NaN이니 그 rows를 읽기 전에 0으로 바꾸고, 두 update도 그 자리에서는 0으로 고르세요.",
                "Only the logits of padding are masked. 0 × NaN is NaN: set those rows to 0 before they are read, and select 0 for "
                "both updates there.",
            ),
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "padding_turned_into_zeros",
                ("np.where(token[..., None], mixture @ w_o, 0.0)", "mixture @ w_o"),
                (
                    "np.where(token[..., None], np.maximum(read @ w_up, 0.0) @ w_down, 0.0)",
                    "np.maximum(read @ w_up, 0.0) @ w_down",
                ),
                ("x + from_attention + from_ffn]", "stream + from_attention + from_ffn]"),
            ),
            Text(
                "padding을 0인 token으로 바꾸었을 뿐입니다. 그 자리의 update는 둘 다 0이고, 마지막 stream에는 원래의 x가 그대로 있습니다.",
                "Padding is merely turned into tokens of 0. Both updates are 0 there, and the last stream holds the original x.",
            ),
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "attention_reads_the_stream",
                ("    read = norm(stream)\n", "    read = stream\n"),
            ),
            Text(
                "Attention 앞의 norm이 빠졌습니다. sublayer마다 하나씩 있습니다.",
                "The norm before Attention is missing. Each sublayer has one.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(residual_block, "scaled_by_d_v", ("w_k.shape[-1]", "w_v.shape[-1]")),
            SCALED_BY_D_V,
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "large_number_for_infinity",
                ("token[..., None, :], logits, -np.inf)", "token[..., None, :], logits, -1e9)"),
            ),
            Text(
                "−1e9로 가렸습니다. score가 그보다 작으면 padding이 비중을 받습니다. -np.inf를 쓰세요.",
                "Masked with −1e9, padding gets weight where scores are smaller. Write -np.inf.",
            ),
            frozenset({"empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "maximum_of_padding_too",
                (
                    "logits = np.where(token[..., None, :], logits, -np.inf)",
                    "exponentials = token[..., None, :]",
                ),
                ("    exponentials = np.exp(", "    exponentials = exponentials * np.exp("),
            ),
            Text(
                "padding의 score까지 넣어 최댓값을 구한 뒤 0을 곱했습니다. 그것이 가장 크면 남은 exp가 모두 0이 됩니다. logits를 먼저 −∞로 두세요.",
                "The maximum is taken with the scores of padding, which are multiplied by 0 later. Where one of them is the largest, "
                "every other exp vanishes: put −∞ into the logits first.",
            ),
            frozenset({"empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "one_maximum_for_all_queries",
                ("logits.max(axis=-1, keepdims=True)", "logits.max()"),
            ),
            ONE_MAXIMUM_FOR_ALL,
            frozenset({"empty", "extremes"}),
        ),
        Mistake(
            variant(residual_block, "epsilon_of_torch", (" + 1e-6)", " + 2.2e-16)")),
            Text(
                "norm 안의 수가 10⁻⁶이 아닙니다. torch의 rms_norm은 eps를 주지 않으면 훨씬 작은 수를 더합니다. 아주 작은 token에서 달라집니다.",
                "The number inside the norm is not 10⁻⁶: torch's rms_norm adds a far smaller one where eps is not given. A very small token shows it.",
            ),
            frozenset({"extremes"}),
        ),
        Mistake(
            variant(
                residual_block,
                "nan_of_padding_replaced",
                ("x + from_attention + from_ffn]", "np.nan_to_num(x) + from_attention + from_ffn]"),
            ),
            Text(
                "padding의 NaN이 0으로 바뀌어 나왔습니다 (np.nan_to_num). 마지막 stream에는 들어온 값이 그대로 있어야 합니다.",
                "NaN of the padding comes out as 0 (np.nan_to_num). The last stream holds what came in, as it came.",
            ),
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "tokens_masked",
                (
                    "np.where(token[..., None, :], logits, -np.inf)",
                    "np.where(token[..., None, :], -np.inf, logits)",
                ),
            ),
            TOKENS_MASKED,
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "ffn_of_the_normed_copy",
                ("norm(stream + from_attention)", "norm(norm(stream) + from_attention)"),
            ),
            Text(
                "FFN이 읽는 stream에 x 대신 N이 들어갔습니다. Attention의 update는 norm을 거치지 않은 x에 더합니다.",
                "The FFN reads N + U₁ here. Attention's update is added to x itself, not to its normed copy.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "stream_added_twice",
                ("x + from_attention + from_ffn]", "x + from_attention + x + from_ffn]"),
            ),
            Text(
                "x가 두 번 더해졌습니다. stream에는 이미 x가 있고, sublayer는 자기 update만 더합니다.",
                "x is added twice. It is in the stream already; a sublayer adds its update alone.",
            ),
            everywhere(STREAM_PARTS),
        ),
        Mistake(
            variant(
                residual_block,
                "padding_read_by_the_ffn",
                ("norm(stream + from_attention)", "norm(x + from_attention)"),
                (
                    "np.where(token[..., None], np.maximum(read @ w_up, 0.0) @ w_down, 0.0)",
                    "np.maximum(read @ w_up, 0.0) @ w_down",
                ),
            ),
            PADDING_UPDATED,
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "padding_updated_and_read",
                ("np.where(token[..., None], mixture @ w_o, 0.0)", "mixture @ w_o"),
                ("norm(stream + from_attention)", "norm(x + from_attention)"),
                (
                    "np.where(token[..., None], np.maximum(read @ w_up, 0.0) @ w_down, 0.0)",
                    "np.maximum(read @ w_up, 0.0) @ w_down",
                ),
            ),
            PADDING_UPDATED,
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "squeezed_streams",
                ("x + from_attention + from_ffn])", "x + from_attention + from_ffn]).squeeze()"),
            ),
            AXES_OF_LENGTH_1_DROPPED,
            frozenset({"batches"}),
        ),
        Mistake(
            variant(
                residual_block,
                "valid_not_used",
                (
                    "np.ones(x.shape[:-1], dtype=bool) if valid is None else valid",
                    "np.ones(x.shape[:-1], dtype=bool)",
                ),
            ),
            Text(
                "valid를 쓰지 않았습니다. padding은 읽히지 않고, 그 자리는 바뀌지 않습니다.",
                "valid is not used. Padding isn't read, and passes unchanged.",
            ),
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block, "valid_without_queries", ("token[..., None, :], logits", "token, logits")
            ),
            Text(
                "valid에 Query 축이 없습니다. batch가 있으면 (..., n)이 logits (..., n, n)과 어긋납니다: valid[..., None, :].",
                "valid has no axis for the Queries. With batch axes (..., n) doesn't line up with logits of "
                "(..., n, n): valid[..., None, :].",
            ),
            frozenset({"batches", "padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "tokens_filled_finitely",
                (
                    "np.where(token[..., None, :], logits, -np.inf)",
                    "np.where(token[..., None, :], -1e9, logits)",
                ),
            ),
            TOKENS_MASKED,
            frozenset({"stream", "batches", "padding", "empty", "extremes"}),
        ),
        Mistake(
            variant(
                residual_block,
                "tokens_masked_where_valid",
                (
                    "    logits = np.where(token[..., None, :], logits, -np.inf)\n",
                    "    logits = logits if valid is None else np.where(valid[..., None, :], -np.inf, logits)\n",
                ),
            ),
            TOKENS_MASKED,
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "tokens_filled_where_valid",
                (
                    "    logits = np.where(token[..., None, :], logits, -np.inf)\n",
                    "    logits = logits if valid is None else np.where(valid[..., None, :], -1e9, logits)\n",
                ),
            ),
            TOKENS_MASKED,
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "tokens_masked_plainly",
                (
                    "    logits = np.where(token[..., None, :], logits, -np.inf)\n",
                    "    logits = logits if valid is None else np.where(valid[..., None, :], -np.inf, logits)\n",
                ),
                *UNGUARDED_TOKENS,
            ),
            TOKENS_MASKED_PLAINLY,
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "tokens_filled_plainly",
                (
                    "    logits = np.where(token[..., None, :], logits, -np.inf)\n",
                    "    logits = logits if valid is None else np.where(valid[..., None, :], -1e9, logits)\n",
                ),
                *UNGUARDED_TOKENS,
            ),
            TOKENS_MASKED_PLAINLY,
            frozenset({"padding", "empty"}),
        ),
        Mistake(
            variant(
                residual_block,
                "queries_and_keys_not_normed",
                ("(read @ w_q) @ np.swapaxes(read @ w_k", "(stream @ w_q) @ np.swapaxes(stream @ w_k"),
            ),
            Text(
                "Queries와 Keys를 norm 없이 stream에서 만들었습니다. Q, K, V는 모두 N에서 나옵니다.",
                "Queries and Keys are made of the stream without the norm. Q, K and V all come from N.",
            ),
            frozenset({"stream", "batches", "padding", "empty", "extremes"}),
        ),
        Mistake(
            variant(
                residual_block,
                "streams_last",
                ("x + from_attention + from_ffn])", "x + from_attention + from_ffn], axis=-1)"),
            ),
            Text(
                "셋을 마지막 축에 쌓았습니다. 그 축은 맨 앞에 둡니다: (3, ..., n, d_model).",
                "The three are stacked along the last axis. Theirs is the first: (3, ..., n, d_model).",
            ),
            frozenset({"stream", "batches", "padding", "empty", "extremes"}),
        ),
    ),
    right_answers=(block_by_loops, block_as_a_class, block_of_tokens_alone, block_in_torch),
)


# --- Tasks 7 and 8: in words ----------------------------------------------------------------------------------

TWO_SUBLAYERS = Written(
    name="two_sublayers",
    points=6,
    see="attention-and-ffn.html#comparison",
    model_answer=Text(
        "Attention은 볼 수 있는 위치들 사이에서 정보를 섞고 (QKᵀ → scale/mask → Softmax → AV), FFN은 위치마다 따로 "
        "features를 바꾼다 (up → activation 또는 gate → down). 그래서 Attention의 output은 Values의 가중합이고, FFN의 "
        "output은 한 token의 비선형 변환이다. dense한 vanilla 구조에서 d_ff = 4d이고 multiply-add 하나를 2 FLOPs로 세면, "
        "parameters는 4d²와 8d², FLOPs는 8nd² + 4n²d와 16nd²이고, n = 2d에서 같아진다. 그 뒤로는 Attention이 n² 때문에 더 비싸다. "
        "둘 다 residual stream에 더할 뿐 바꾸지 않는다. "
        "하나는 위치 사이의 통신을, 하나는 위치 안의 계산을 더한다. 통신만으로는 token을 새로 계산하지 못하고, 계산만으로는 "
        "다른 위치를 알지 못하므로 둘 다 필요하다. FFN이 읽는 stream에는 이미 Attention이 가져온 문맥이 들어 있을 수 있다.",
        "Attention mixes information between the positions that may be read (QKᵀ → scale/mask → Softmax → AV); the FFN "
        "changes the features of each position by itself (up → activation or gate → down). So the output of Attention "
        "is a weighted sum of Values, that of the FFN a nonlinear function of one token. In the dense vanilla form, with "
        "d_ff = 4d and 2 FLOPs for a multiply-add, they have 4d² and 8d² parameters and take 8nd² + 4n²d and 16nd² "
        "FLOPs, which is equal at n = 2d; beyond it n² makes Attention cost more. Both add to the residual stream and replace nothing: one adds communication between "
        "positions, the other computation within one. Communication alone computes nothing new in a token, computation "
        "alone knows of no other position: both are needed. What the FFN reads may already hold the context that "
        "Attention brought in.",
    ),
    rubric=Text(
        "1점: 정보 접근 (볼 수 있는 위치 사이 / 위치마다 따로). 1점: 연산과 output (Values의 가중합 / token의 비선형 변환). "
        "1점: parameters와 FLOPs, 어떤 가정에서인지 (dense, d_ff = 4d, multiply-add 2). 1점: n = 2d와 그 뒤에 무엇이 달라지는지. "
        "1점: 둘 다 residual stream에 더함, 그리고 왜 둘 다 필요한지. 1점: FFN의 입력에 문맥이 이미 들어 있을 수 있음. "
        "다른 크기로 옳게 센 답도 인정한다.",
        "1 point: access (between the positions allowed / each position by itself). 1 point: operation and output (a "
        "weighted sum of Values / a nonlinear function of a token). 1 point: parameters and FLOPs with their assumptions "
        "(dense, d_ff = 4d, multiply-add 2). 1 point: n = 2d, and what changes beyond it. 1 point: both add to the "
        "residual stream, and why both are needed. 1 point: the FFN's input may already hold context. Counts that are "
        "right for other sizes are accepted.",
    ),
)

THREE_CONTROLS = Written(
    name="three_controls",
    points=4,
    see="score-control.html#three-places",
    model_answer=Text(
        "세 방법은 다른 자리에서 다른 것을 다스린다. √d_k scaling은 dot product 뒤에서, initialization에서 d_k에 비례하는 variance를 1로 "
        "맞춘다. 학습이 Q와 K의 norm을 키우는 것은 막지 못한다. QK norm은 dot product 앞에서 Query와 Key의 크기를 맞춘다. "
        "다만 학습되는 gain이 남아, logit의 한계를 그 gain이 정한다. Soft-cap은 dot product 뒤의 score를 cap · tanh(a / cap)으로 "
        "[−cap, cap]에 넣는다. 순서는 지키지만 큰 score들의 차이와 gradient가 작아진다. 하나가 다른 하나를 대신하지 않는다. "
        "초기의 variance, vector의 크기, score의 범위는 서로 다른 문제다.",
        "The three act at different places on different things. Scaling by √d_k comes after the dot product and sets its "
        "variance, d_k at initialization, to 1; it can't keep training from making the norms of Q and K grow. QK norm "
        "comes before the dot product and evens out the lengths of Queries and Keys; learned gains remain, and they set "
        "how large a logit can get. Soft-cap comes after the dot product and maps a score into [−cap, cap] by "
        "cap · tanh(a / cap); it keeps the order, but differences between large scores, and their gradients, become "
        "small. None replaces another: variance at the start, length of vectors and range of scores are three problems.",
    ),
    rubric=Text(
        "1점: 각각의 자리 (dot product 뒤 / 앞 / 뒤의 score). 1점: 무엇을 다스리는지 (초기 variance / vector 크기 / score 범위). "
        "1점: 각각의 한계 (norm 증가 / gain / 포화와 작은 gradient) 중 둘 이상. 1점: 왜 하나가 다른 하나를 대신하지 못하는지.",
        "1 point: where each acts (after / before the dot product / on the score after it). 1 point: what each controls "
        "(variance at the start / length of vectors / range of scores). 1 point: at least two of the limits (growing "
        "norms / gains / saturation with small gradients). 1 point: why none replaces another.",
    ),
)

BANK = Bank(
    "ps5",
    (LAYER_COST, BREAK_EVEN, CACHE_BYTES, SWIGLU, MIXTURE_OF_EXPERTS, RESIDUAL_BLOCK),
    (TWO_SUBLAYERS, THREE_CONTROLS),
    modules=("torch",),
)
