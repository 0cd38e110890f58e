"""Costs against the lecture's formulas, published models, and torch's own count of the products we run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from functools import partial
from math import prod
from typing import Any

import pytest
import torch
from conftest import message
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from course_lib import (
    Cost,
    LatentWeights,
    attention_cost,
    feed_forward,
    feed_forward_cost,
    grouped_query_attention,
    kv_cache_bytes,
    latent_attention,
    latent_attention_cost,
    latent_cache,
    latent_cache_bytes,
    mixture_of_experts,
    mixture_of_experts_cost,
    swiglu,
    swiglu_cost,
)

# The lecture's formulas


@pytest.mark.parametrize(("n", "d"), [(1024, 768), (7, 12), (1, 1), (0, 3)])
def test_vanilla_costs_are_the_lecture_s_formulas(n: int, d: int) -> None:
    attention = attention_cost(n, d)
    assert (attention.parameters, attention.flops) == (4 * d**2, 8 * n * d**2 + 4 * n**2 * d)
    ffn = feed_forward_cost(n, d)
    assert (ffn.parameters, ffn.flops) == (8 * d**2, 16 * n * d**2)


def test_costs_at_1024_tokens_of_width_768() -> None:
    assert attention_cost(1024, 768).flops == 8_053_063_680
    assert feed_forward_cost(1024, 768).flops == 9_663_676_416


@pytest.mark.parametrize("d", [1, 13, 768])
def test_attention_costs_as_much_as_the_ffn_at_twice_the_width(d: int) -> None:
    difference = [
        attention_cost(n, d).flops - feed_forward_cost(n, d).flops for n in (2 * d - 1, 2 * d, 2 * d + 1)
    ]
    assert difference[0] < difference[1] == 0 < difference[2]


def test_the_number_of_heads_leaves_the_cost_of_attention() -> None:
    assert len({attention_cost(7, 12, heads=heads) for heads in (1, 2, 3, 4, 6, 12)}) == 1


def test_kv_heads_of_all_heads_is_multi_head_attention() -> None:
    assert attention_cost(7, 12, heads=6, kv_heads=6) == attention_cost(7, 12)
    assert attention_cost(7, 12, heads=6, kv_heads=1).parameters == 2 * 12**2 + 2 * 12 * 2


def test_swiglu_keeps_the_cost_of_an_ffn_at_eight_thirds_of_its_width() -> None:
    assert swiglu_cost(7, 12, d_ff=8 * 12 // 3) == feed_forward_cost(7, 12)


def test_a_mixture_of_one_expert_costs_that_expert_and_a_router() -> None:
    expert = feed_forward_cost(7, 12)
    assert mixture_of_experts_cost(7, 12, expert, experts=1, top_k=1) == expert + Cost(12, 12, 2 * 7 * 12)


def test_a_mixture_uses_what_its_experts_use() -> None:
    cost = mixture_of_experts_cost(7, 2, Cost(13, 5, 11), experts=3, top_k=2)
    assert cost == Cost(2 * 3 + 3 * 13, 2 * 3 + 2 * 5, 2 * 7 * 2 * 3 + 2 * 11)


# Published models


def test_the_parts_of_mixtral_8x7b_add_up_to_its_parameters() -> None:
    d = 4096
    attention = attention_cost(1, d, heads=32, kv_heads=8)
    experts = mixture_of_experts_cost(1, d, swiglu_cost(1, d, d_ff=14336), experts=8, top_k=2)
    norms, embeddings = Cost(2 * d, 2 * d, 0), Cost(2 * 32000 * d, 2 * 32000 * d, 0)
    model = 32 * (attention + experts + norms) + embeddings + Cost(d, d, 0)
    assert model.parameters == 46_702_792_704
    assert model.active_parameters == 12_879_925_248


def test_the_parts_of_deepseek_v2_add_up_to_its_parameters() -> None:
    d, vocabulary = 5120, 102400
    attention = latent_attention_cost(1, d, heads=128, d_head=128, d_rope=64, d_c=512, d_q=1536).parameters
    norms = 2 * d + 512 + 1536
    routed = mixture_of_experts_cost(1, d, swiglu_cost(1, d, d_ff=1536), experts=160, top_k=6).parameters
    shared, dense = swiglu_cost(1, d, d_ff=2 * 1536).parameters, swiglu_cost(1, d, d_ff=12288).parameters
    layers = 60 * (attention + norms) + dense + 59 * (routed + shared)
    assert layers + 2 * vocabulary * d + d == 235_741_434_880


# torch's count


def run_and_counted(call: Callable[..., Any], *arrays: torch.Tensor) -> int:
    # torch counts no FLOPs in its fused CPU kernel, so that attention is computed by its products here.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        call(*arrays)
    return counter.get_total_flops()


def arrays(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in shapes]


ATTENTION: list[dict[str, Any]] = [
    {"n": 7, "d_model": 15, "heads": 3, "kv_heads": 3, "d_k": 5, "d_v": 5, "n_k": 7},
    {"n": 7, "d_model": 15, "heads": 1, "kv_heads": 1, "d_k": 15, "d_v": 15, "n_k": 7},
    {"n": 7, "d_model": 13, "heads": 6, "kv_heads": 3, "d_k": 5, "d_v": 11, "n_k": 7},
    {"n": 7, "d_model": 13, "heads": 6, "kv_heads": 1, "d_k": 5, "d_v": 11, "n_k": 17},
    {"n": 128, "d_model": 96, "heads": 4, "kv_heads": 2, "d_k": 24, "d_v": 24, "n_k": 128},
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", ATTENTION)
def test_torch_counts_the_flops_of_attention_as_we_do(sizes: dict[str, Any], causal: bool) -> None:
    n, d, heads, kv_heads, d_k, d_v, n_k = sizes.values()
    x, memory, *weights = arrays(
        (n, d), (n_k, d), (d, heads * d_k), (d, kv_heads * d_k), (d, kv_heads * d_v), (heads * d_v, d)
    )
    call = partial(
        grouped_query_attention, x, *weights, heads=heads, kv_heads=kv_heads, memory=memory, causal=causal
    )
    cost = attention_cost(**sizes)
    assert run_and_counted(call) == cost.flops
    assert sum(weight.numel() for weight in weights) == cost.parameters == cost.active_parameters


def test_torch_counts_a_batch_as_that_many_sequences() -> None:
    x, *weights = arrays((3, 7, 15), *[(15, 15)] * 4)
    call = partial(grouped_query_attention, x, *weights, heads=5, kv_heads=5)
    assert run_and_counted(call) == (3 * attention_cost(7, 15, heads=5)).flops


def test_torch_counts_1024_tokens_of_width_768_as_the_lecture_does() -> None:
    x, *weights = arrays((1024, 768), *[(768, 768)] * 4)
    attend = partial(grouped_query_attention, heads=12, kv_heads=12)
    assert run_and_counted(attend, x, *weights) == 8_053_063_680
    up, down = arrays((768, 4 * 768), (4 * 768, 768))
    assert run_and_counted(feed_forward, x, up, down) == 9_663_676_416


@pytest.mark.parametrize("d_q", [None, 11])
@pytest.mark.parametrize("n", [1, 7])
def test_torch_counts_the_flops_of_latent_attention_as_we_do(n: int, d_q: int | None) -> None:
    d, heads, d_head, d_rope, d_c, d_v = 17, 3, 5, 2, 7, 13
    shapes: dict[str, tuple[int, int]] = {
        "w_dkv": (d, d_c),
        "w_uk": (d_c, heads * d_head),
        "w_uv": (d_c, heads * d_v),
        "w_kr": (d, d_rope),
        "w_uq": (d_q or d, heads * d_head),
        "w_qr": (d_q or d, heads * d_rope),
        "w_o": (heads * d_v, d),
    } | ({"w_dq": (d, d_q)} if d_q else {})
    weights = LatentWeights(**dict(zip(shapes, arrays(*shapes.values()), strict=True)))
    cost = latent_attention_cost(n, d, heads=heads, d_head=d_head, d_rope=d_rope, d_c=d_c, d_v=d_v, d_q=d_q)
    (x,) = arrays((n, d))
    assert run_and_counted(partial(latent_attention, heads=heads), x, weights) == cost.flops
    assert sum(map(prod, shapes.values())) == cost.parameters


@pytest.mark.parametrize("n", [1, 7, 128])
def test_torch_counts_the_flops_of_every_ffn_as_we_do(n: int) -> None:
    d, d_ff, experts, top_k = 5, 11, 7, 2
    x, gate, up, down, router = arrays((n, d), (d, d_ff), (d, d_ff), (d_ff, d), (d, experts))
    assert run_and_counted(feed_forward, x, up, down) == feed_forward_cost(n, d, d_ff=d_ff).flops
    expert = swiglu_cost(n, d, d_ff=d_ff)
    assert run_and_counted(swiglu, x, gate, up, down) == expert.flops
    mixture = partial(
        mixture_of_experts,
        experts=[partial(swiglu, w_gate=gate, w_up=up, w_down=down)] * experts,
        top_k=top_k,
    )
    cost = mixture_of_experts_cost(n, d, expert, experts=experts, top_k=top_k)
    assert run_and_counted(mixture, x, router) == cost.flops


# The Key-Value cache


def test_kv_cache_of_32k_tokens() -> None:
    shared = partial(kv_cache_bytes, 32 * 1024, layers=32, d_k=4096 // 32)
    assert shared(kv_heads=32) == 17_179_869_184
    assert shared(kv_heads=8) == 4_294_967_296
    assert shared(kv_heads=1, itemsize=4) == 2 * shared(kv_heads=1) == shared(kv_heads=32) // 16


def test_latent_attention_caches_576_numbers_where_128_heads_cache_32768() -> None:
    assert latent_cache_bytes(1, layers=1, d_c=512, d_rope=64, itemsize=1) == 576
    assert kv_cache_bytes(1, layers=1, kv_heads=128, d_k=128, itemsize=1) == 32_768


def test_cache_bytes_are_those_of_the_arrays_that_are_kept() -> None:
    n, layers, kv_heads, d_k, d_v, d_c, d_rope = 7, 11, 3, 5, 13, 17, 2
    k, v = arrays((kv_heads, n, d_k), (kv_heads, n, d_v))
    assert kv_cache_bytes(n, layers=layers, kv_heads=kv_heads, d_k=d_k, d_v=d_v, itemsize=4) == layers * (
        k.nbytes + v.nbytes
    )
    x, w_dkv, w_kr = (array.bfloat16() for array in arrays((n, 19), (19, d_c), (19, d_rope)))
    others = {field.name: None for field in fields(LatentWeights)}
    cache = latent_cache(x, LatentWeights(**(others | {"w_dkv": w_dkv, "w_kr": w_kr})))
    kept = sum(part.nbytes for part in cache)
    assert latent_cache_bytes(n, layers=layers, d_c=d_c, d_rope=d_rope) == layers * kept


# Cost itself


def test_a_cost_prints_its_numbers() -> None:
    assert str(attention_cost(1024, 768)) == "2,359,296 parameters, 8,053,063,680 FLOPs"
    mixture = mixture_of_experts_cost(2, 3, feed_forward_cost(2, 3), experts=5, top_k=2)
    assert str(mixture) == "375 parameters (159 active), 636 FLOPs"


def test_costs_are_exact_integers_of_any_size() -> None:
    cost = feed_forward_cost(10**9 + 7, 10**9 + 9)
    assert cost.flops == 16 * (10**9 + 7) * (10**9 + 9) ** 2
    assert all(type(getattr(cost, field.name)) is int for field in fields(cost))


def test_costs_add_up_and_repeat() -> None:
    assert Cost(2, 3, 5) + Cost(7, 11, 13) == Cost(9, 14, 18)
    assert 3 * Cost(2, 3, 5) == Cost(2, 3, 5) * 3 == Cost(6, 9, 15)
    assert sum([Cost(2, 3, 5), Cost(7, 11, 13)]) == Cost(9, 14, 18)
    for other in (1, None):
        with pytest.raises(TypeError, match="unsupported operand"):
            Cost(2, 3, 5) + other  # type: ignore[operator]


def test_a_cost_can_t_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        attention_cost(7, 12).flops = 0  # type: ignore[misc]


latent = partial(latent_attention_cost, 7, 12, heads=3, d_head=5, d_rope=2, d_c=11)
mixture = partial(mixture_of_experts_cost, 7, 12, feed_forward_cost(7, 12), experts=3, top_k=2)

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "fewer than no tokens": (partial(attention_cost, -1, 12), "n must be an integer, 0 or more: it is -1"),
    "half a token": (partial(feed_forward_cost, 0.5, 12), "n must be an integer, 0 or more: it is 0.5"),
    "a width of True": (
        partial(feed_forward_cost, 7, True),
        "d_model must be an integer, 0 or more: it is True",
    ),
    "a negative d_ff": (
        partial(feed_forward_cost, 7, 12, d_ff=-1),
        "d_ff must be an integer, 0 or more: it is -1",
    ),
    "a fractional d_ff": (
        partial(swiglu_cost, 7, 10, d_ff=80 / 3),
        "d_ff must be an integer, 0 or more: it is 26.666666666666668",
    ),
    "no head": (
        partial(attention_cost, 7, 12, heads=0),
        "heads must be an integer, 1 or more: it is 0",
    ),
    "no Key-Value head": (
        partial(attention_cost, 7, 12, heads=3, kv_heads=0),
        "kv_heads must be an integer, 1 or more: it is 0",
    ),
    "Key-Value heads that don't divide": (
        partial(attention_cost, 7, 12, heads=6, kv_heads=4),
        "heads must be a multiple of kv_heads: heads is 6, kv_heads is 4",
    ),
    "heads that don't divide the width": (
        partial(attention_cost, 7, 12, heads=5),
        "heads must divide d_model, or d_k be given: heads is 5, d_model is 12",
    ),
    "a negative d_k": (partial(attention_cost, 7, 12, d_k=-1), "d_k must be an integer, 0 or more: it is -1"),
    "a negative d_v": (partial(attention_cost, 7, 12, d_v=-1), "d_v must be an integer, 0 or more: it is -1"),
    "a negative n_k": (partial(attention_cost, 7, 12, n_k=-1), "n_k must be an integer, 0 or more: it is -1"),
    "no latent head": (
        partial(latent, heads=0),
        "heads must be an integer, 1 or more: it is 0",
    ),
    "a negative d_c": (partial(latent, d_c=-1), "d_c must be an integer, 0 or more: it is -1"),
    "a negative d_q": (partial(latent, d_q=-1), "d_q must be an integer, 0 or more: it is -1"),
    "no expert a token": (
        partial(mixture, top_k=0),
        "top_k must lie between 1 and the number of experts, 3: it is 0",
    ),
    "more experts than there are": (
        partial(mixture, top_k=4),
        "top_k must lie between 1 and the number of experts, 3: it is 4",
    ),
    "a cache of negative layers": (
        partial(kv_cache_bytes, 7, layers=-1, kv_heads=3, d_k=5),
        "layers must be an integer, 0 or more: it is -1",
    ),
    "a latent cache of half a width": (
        partial(latent_cache_bytes, 7, layers=1, d_c=0.5, d_rope=2),
        "d_c must be an integer, 0 or more: it is 0.5",
    ),
    "a part of a cost": (lambda: 0.5 * Cost(2, 2, 2), "times must be an integer, 0 or more: it is 0.5"),  # type: ignore[operator]
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arguments_get_their_sentence(name: str) -> None:
    call, sentence = REFUSED[name]
    assert message(call) == sentence
