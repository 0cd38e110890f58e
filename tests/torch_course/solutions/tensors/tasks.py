"""A bank whose answers are torch's: for tests of grading and for its benchmark."""

import numpy as np
import torch

from course_lib.checks import Text, Way
from course_lib.grading.bank import Bank, Mistake, Part, Task

TENSORS = Way(torch=True)


def scores(q, k):
    """q (n_q, d_k), k (n_k, d_k) -> S (n_q, n_k)"""
    return q @ k.transpose(-1, -2)


def scores_by_einsum(q, k):
    return torch.einsum("id,jd->ij", q, k)


def scores_transposed(q, k):
    return k @ q.transpose(-1, -2)


def draw_pair(rng):
    return [{"q": rng.normal(size=(5, 3)), "k": rng.normal(size=(7, 3))}]


SCORES = Task(
    name="scores",
    reference=scores,
    parts=(Part("pair", 2.0, Text("한 쌍", "one pair"), draw_pair),),
    mistakes=(
        Mistake(scores_transposed, Text("뒤바뀌었습니다", "they changed places"), frozenset({"pair"})),
    ),
    right_answers=(scores_by_einsum,),
    see="tensors",
    way=TENSORS,
)


def softmax(logits):
    """Over the last axis."""
    shifted = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return shifted / shifted.sum(dim=-1, keepdim=True)


def softmax_by_torch(logits):
    return torch.softmax(logits, dim=-1)


def softmax_without_shift(logits):
    return logits.exp() / logits.exp().sum(dim=-1, keepdim=True)


def draw_logits(rng):
    return [{"logits": rng.normal(size=(5, 7))}]


def draw_large(rng):
    return [{"logits": 1000 + rng.normal(size=(5, 7))}]


SOFTMAX = Task(
    name="softmax",
    reference=softmax,
    parts=(
        Part("rows", 1.0, Text("행", "rows"), draw_logits),
        Part("large", 1.0, Text("큰 값", "large values"), draw_large),
    ),
    mistakes=(Mistake(softmax_without_shift, Text("넘칩니다", "it overflows"), frozenset({"large"})),),
    right_answers=(softmax_by_torch,),
    see="tensors",
    way=TENSORS,
)


def attention(q, k, v):
    """The output (n_q, d_v); its gradients are asked for, too."""
    weights = torch.softmax(q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5, dim=-1)
    return weights @ v


def attention_by_einsum(q, k, v):
    logits = torch.einsum("id,jd->ij", q, k) * k.shape[-1] ** -0.5
    return torch.einsum("ij,jd->id", logits.softmax(dim=-1), v)


def attention_unscaled(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2), dim=-1) @ v


def attention_detached(q, k, v):
    return torch.softmax(q.detach() @ k.transpose(-1, -2) / k.shape[-1] ** 0.5, dim=-1) @ v


def draw_three(rng):
    return [{"q": rng.normal(size=(5, 3)), "k": rng.normal(size=(7, 3)), "v": rng.normal(size=(7, 2))}]


ATTENTION = Task(
    name="attention",
    reference=attention,
    parts=(Part("gradients", 3.0, Text("gradient까지", "with gradients"), draw_three),),
    mistakes=(
        Mistake(attention_unscaled, Text("√d_k", "not divided by √d_k"), frozenset({"gradients"})),
        Mistake(attention_detached, Text("detach", "q is cut off"), frozenset({"gradients"})),
    ),
    right_answers=(attention_by_einsum,),
    see="tensors",
    way=Way(torch=True, gradients=("q", "k", "v")),
)


def clipped(x, low, high):
    """x with entries between low and high."""
    return torch.clamp(x, low, high)


def clipped_by_where(x, low, high):
    return torch.where(x < low, low, torch.where(x > high, high, x))


def clipped_above(x, low, high):
    return torch.clamp(x, max=high)


def draw_wide(rng):
    return [{"x": 3.0 * np.sort(rng.normal(size=11)), "low": -1.0, "high": 1.0}]


CLIPPED = Task(
    name="clipped",
    reference=clipped,
    parts=(Part("both", 1.0, Text("양쪽", "both ends"), draw_wide),),
    mistakes=(Mistake(clipped_above, Text("한쪽만", "one end only"), frozenset({"both"})),),
    right_answers=(clipped_by_where,),
    see="tensors",
    way=TENSORS,
)

BANK = Bank("tensors", (SCORES, SOFTMAX, ATTENTION, CLIPPED), modules=("torch",))
