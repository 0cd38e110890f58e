"""Attention in several heads against torch, and against the formulas written head by head."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import oracle
import pytest
import torch
from conftest import Backend, every_backend, numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from course_lib import (
    LatentCache,
    LatentWeights,
    grouped_query_attention,
    latent_attention,
    latent_cache,
    merge_heads,
    multi_head_attention,
    qk_norm,
    rotary,
    split_heads,
)

BATCH, HEADS, N_Q, N_K, D_K, D_V, D_MODEL, D_MEMORY, D_OUT = 2, 3, 5, 7, 11, 13, 17, 19, 23
D_HEAD, D_ROPE, D_C, D_Q = 5, 2, 7, 11
# The third Query may read nothing.
MASK = np.random.default_rng(1).random((N_Q, N_K)) < 0.6
MASK[:, 0], MASK[2] = True, False

few = settings(max_examples=30, deadline=None, derandomize=True)


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def weights(heads: int = HEADS, kv_heads: int = HEADS, d_memory: int = D_MODEL) -> tuple[np.ndarray, ...]:
    return (
        drawn(D_MODEL, heads * D_K, seed=1) / 4,
        drawn(d_memory, kv_heads * D_K, seed=2) / 4,
        drawn(d_memory, kv_heads * D_V, seed=3),
        drawn(heads * D_V, D_OUT, seed=4),
    )


def latent_weights(*, compressed: bool = True, array: Callable[[Any], Any] = np.asarray) -> LatentWeights:
    d_in = D_Q if compressed else D_MODEL
    return LatentWeights(
        w_dkv=array(drawn(D_MODEL, D_C, seed=1)),
        w_uk=array(drawn(D_C, HEADS * D_HEAD, seed=2) / 4),
        w_uv=array(drawn(D_C, HEADS * D_V, seed=3)),
        w_kr=array(drawn(D_MODEL, D_ROPE, seed=4)),
        w_uq=array(drawn(d_in, HEADS * D_HEAD, seed=5) / 8),
        w_qr=array(drawn(d_in, HEADS * D_ROPE, seed=6) / 8),
        w_o=array(drawn(HEADS * D_V, D_OUT, seed=7)),
        w_dq=array(drawn(D_MODEL, D_Q, seed=8) / 4) if compressed else None,
    )


def close(actual: Any, expected: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(numpy(actual), numpy(expected), rtol=rtol, atol=rtol)


def head_by_head(
    x: np.ndarray,
    memory: np.ndarray,
    parts: tuple[np.ndarray, ...],
    heads: int,
    kv_heads: int,
    **selection: Any,
) -> np.ndarray:
    """Each head with its own columns of the weights; its output meets its own rows of W_O."""
    w_q, w_k, w_v, w_o = parts
    output: Any = 0
    for i in range(heads):
        j = i * kv_heads // heads
        q = x @ w_q[:, i * D_K : (i + 1) * D_K]
        k = memory @ w_k[:, j * D_K : (j + 1) * D_K]
        v = memory @ w_v[:, j * D_V : (j + 1) * D_V]
        output = output + oracle.attention(q, k, v, **selection) @ w_o[i * D_V : (i + 1) * D_V]
    return output


# Multi-head attention


@every_backend
def test_multi_head_attention_is_attention_in_each_head(backend: Backend) -> None:
    x = drawn(BATCH, N_Q, D_MODEL)
    output = multi_head_attention(*backend.arrays(x, *weights()), heads=HEADS)
    assert numpy(output).shape == (BATCH, N_Q, D_OUT)
    close(output, head_by_head(x, x, weights(), HEADS, HEADS))


@every_backend
def test_multi_head_attention_reads_the_memory_under_a_mask(backend: Backend) -> None:
    x, memory, parts = drawn(N_Q, D_MODEL), drawn(BATCH, N_K, D_MEMORY), weights(d_memory=D_MEMORY)
    output = multi_head_attention(
        *backend.arrays(x, *parts), heads=HEADS, memory=backend.array(memory), mask=backend.array(MASK)
    )
    close(output, head_by_head(x, memory, parts, HEADS, HEADS, allowed=MASK))
    assert not numpy(output)[:, 2].any()


@pytest.mark.parametrize(
    ("options", "selection"),
    [
        ({"causal": True}, {"allowed": oracle.allowed_keys(N_Q, N_Q, causal=True)}),
        ({"window": (1, 1)}, {"allowed": oracle.allowed_keys(N_Q, N_Q, window=(1, 1))}),
        ({"scale": 0.7, "softcap": 0.5}, {"scale": 0.7, "softcap": 0.5}),
    ],
    ids=["causal", "window", "scale and soft-cap"],
)
def test_multi_head_attention_hands_its_options_to_each_head(
    backend: Backend, options: dict[str, Any], selection: dict[str, Any]
) -> None:
    x = drawn(BATCH, N_Q, D_MODEL)
    output = multi_head_attention(*backend.arrays(x, *weights()), heads=HEADS, **options)
    close(output, head_by_head(x, x, weights(), HEADS, HEADS, **selection))


def test_multi_head_attention_aligns_a_causal_mask_with_the_end_of_the_memory(backend: Backend) -> None:
    x, memory, parts = drawn(N_Q, D_MODEL), drawn(N_K, D_MEMORY), weights(d_memory=D_MEMORY)
    output = multi_head_attention(
        *backend.arrays(x, *parts),
        heads=HEADS,
        memory=backend.array(memory),
        causal=True,
        align="bottom-right",
    )
    allowed = oracle.allowed_keys(N_Q, N_K, causal=True, align="bottom-right")
    close(output, head_by_head(x, memory, parts, HEADS, HEADS, allowed=allowed))


@pytest.mark.parametrize("cross", [False, True], ids=["self", "cross"])
@pytest.mark.parametrize("masked", ["no mask", "shared mask", "a mask for each head"])
def test_multi_head_attention_equals_torch_s_module(cross: bool, masked: str) -> None:
    d_model, n_k, d_memory = HEADS * D_K, N_K if cross else N_Q, D_MEMORY if cross else HEADS * D_K
    module = torch.nn.MultiheadAttention(
        d_model, HEADS, bias=False, batch_first=True, kdim=d_memory, vdim=d_memory, dtype=torch.float64
    )
    x = torch.tensor(drawn(BATCH, N_Q, d_model))
    memory = torch.tensor(drawn(BATCH, n_k, d_memory, seed=5)) if cross else x
    allowed = torch.tensor(np.random.default_rng(2).random((BATCH, HEADS, N_Q, n_k)) < 0.6)
    allowed[..., 0] = True
    mask = {"no mask": None, "shared mask": allowed[0, 0], "a mask for each head": allowed}[masked]
    # In this module of torch, True hides; a mask for each head has batch and heads in one axis.
    hidden = None if mask is None else ~(mask.flatten(0, 1) if mask.ndim == 4 else mask)
    expected, _ = module(x, memory, memory, attn_mask=hidden, need_weights=False)
    separate = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    parts = separate if cross else module.in_proj_weight.chunk(3)
    ours = multi_head_attention(
        x, *(part.T for part in parts), module.out_proj.weight.T, heads=HEADS, memory=memory, mask=mask
    )
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)


def test_multi_head_attention_of_one_head_and_unit_weights_is_attention(backend: Backend) -> None:
    x, unit = drawn(N_Q, D_K), np.eye(D_K)
    output = multi_head_attention(*backend.arrays(x, unit, unit, unit, unit), heads=1)
    close(output, oracle.attention(x, x, x))


@given(st.permutations(range(N_K)), st.sampled_from([(6, 6), (6, 3), (6, 2), (6, 1)]), st.integers(0, 99))
@few
def test_the_order_of_the_memory_does_not_matter(order: list[int], heads: tuple[int, int], seed: int) -> None:
    x, memory = drawn(N_Q, D_MODEL, seed=seed), drawn(N_K, D_MEMORY, seed=seed)
    parts = weights(*heads, D_MEMORY)
    call = partial(grouped_query_attention, x, *parts, heads=heads[0], kv_heads=heads[1])
    close(call(memory=memory[order], mask=MASK[:, order]), call(memory=memory, mask=MASK), 1e-11)


# Grouped queries


@every_backend
@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
def test_grouped_query_attention_shares_each_key_value_head_in_a_row(backend: Backend, kv_heads: int) -> None:
    x, memory, parts = drawn(BATCH, N_Q, D_MODEL), drawn(BATCH, N_K, D_MEMORY), weights(6, kv_heads, D_MEMORY)
    output = grouped_query_attention(
        *backend.arrays(x, *parts),
        heads=6,
        kv_heads=kv_heads,
        memory=backend.array(memory),
        mask=backend.array(MASK),
    )
    close(output, head_by_head(x, memory, parts, 6, kv_heads, allowed=MASK))


@pytest.mark.parametrize("kv_heads", [1, 2, 3])
def test_grouped_query_attention_equals_torch_s(kv_heads: int) -> None:
    x, parts = drawn(BATCH, N_Q, D_MODEL), weights(6, kv_heads)
    tensor, w_q, w_k, w_v, w_o = (torch.tensor(array) for array in (x, *parts))
    split = lambda w, heads: (tensor @ w).unflatten(-1, (heads, -1)).transpose(1, 2)  # noqa: E731
    mixed = functional.scaled_dot_product_attention(
        split(w_q, 6), split(w_k, kv_heads), split(w_v, kv_heads), is_causal=True, enable_gqa=True
    )
    expected = mixed.transpose(1, 2).flatten(2) @ w_o
    ours = grouped_query_attention(tensor, w_q, w_k, w_v, w_o, heads=6, kv_heads=kv_heads, causal=True)
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)


def test_grouped_queries_are_multi_head_attention_with_repeated_weights(backend: Backend) -> None:
    x, (w_q, w_k, w_v, w_o) = drawn(N_Q, D_MODEL), weights(6, 2)
    repeat = lambda w, d: np.repeat(w.reshape(-1, 2, d), 3, axis=1).reshape(len(w), -1)  # noqa: E731
    repeated = multi_head_attention(*backend.arrays(x, w_q, repeat(w_k, D_K), repeat(w_v, D_V), w_o), heads=6)
    close(grouped_query_attention(*backend.arrays(x, w_q, w_k, w_v, w_o), heads=6, kv_heads=2), repeated)


# Before the scores


def test_prepare_norms_each_head_s_queries_and_keys_before_their_product(backend: Backend) -> None:
    x, parts = drawn(N_Q, D_MODEL), weights()
    gain = 1 + np.arange(D_K) / 7
    prepare = partial(qk_norm, q_gain=backend.array(gain))
    output = multi_head_attention(*backend.arrays(x, *parts), heads=HEADS, prepare=prepare)
    expected = np.zeros((N_Q, D_OUT))
    for i in range(HEADS):
        q, k = (torch.tensor(x @ w[:, i * D_K : (i + 1) * D_K]) for w in parts[:2])
        q, k = (
            functional.rms_norm(q, (D_K,), torch.tensor(gain), eps=1e-6),
            functional.rms_norm(k, (D_K,), eps=1e-6),
        )
        v = x @ parts[2][:, i * D_V : (i + 1) * D_V]
        expected += oracle.attention(numpy(q), numpy(k), v) @ parts[3][i * D_V : (i + 1) * D_V]
    close(output, expected)


def test_prepare_is_given_all_heads_of_q_and_then_those_of_k() -> None:
    def prepare(q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert q.shape == (BATCH, 6, N_Q, D_K)
        assert k.shape == (BATCH, 3, N_K, D_K)
        return 0 * q, k

    x, memory, parts = drawn(BATCH, N_Q, D_MODEL), drawn(BATCH, N_K, D_MEMORY), weights(6, 3, D_MEMORY)
    output = grouped_query_attention(x, *parts, heads=6, kv_heads=3, memory=memory, prepare=prepare)
    close(output, head_by_head(x, memory, parts, 6, 3, scale=0.0))


def test_rotated_heads_see_distances_and_not_positions(backend: Backend) -> None:
    parts = (drawn(D_MODEL, HEADS * 4), drawn(D_MODEL, HEADS * 4, seed=1), *weights()[2:])
    arrays = backend.arrays(drawn(BATCH, N_Q, D_MODEL), *parts)

    def moved(by: int) -> Any:
        positions = backend.array(np.arange(N_Q) + by)
        turned = lambda q, k: (rotary(q, positions=positions), rotary(k, positions=positions))  # noqa: E731
        return multi_head_attention(*arrays, heads=HEADS, prepare=turned)

    close(moved(29), moved(0))
    unturned = multi_head_attention(*arrays, heads=HEADS)
    assert np.abs(numpy(moved(0)) - numpy(unturned)).max() > 0.1


# The rotary embedding


def turned(x: np.ndarray, positions: np.ndarray, base: float = 10000.0) -> np.ndarray:
    """Neighbouring features as one complex number, times exp(i angle)."""
    d = x.shape[-1]
    angles = np.asarray(positions)[..., None] / base ** (np.arange(0, d, 2) / d)
    return ((x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)).view(np.float64)


@every_backend
def test_rotary_turns_each_pair_by_its_angle(backend: Backend) -> None:
    x = drawn(BATCH, HEADS, N_Q, 10)
    close(rotary(backend.array(x)), turned(x, np.arange(N_Q)))
    close(rotary(backend.array(x), base=7.0), turned(x, np.arange(N_Q), 7.0))


@every_backend
@pytest.mark.parametrize("shape", [(N_Q,), (1,), (BATCH, 1, N_Q), (BATCH, HEADS, N_Q), ()])
def test_rotary_takes_positions(backend: Backend, shape: tuple[int, ...]) -> None:
    x, positions = drawn(BATCH, HEADS, N_Q, 6), np.random.default_rng(0).integers(0, 99, shape)
    expected = turned(x, np.broadcast_to(positions, x.shape[:-1]))
    close(rotary(backend.array(x), positions=backend.array(positions)), expected)


@every_backend
def test_rotary_pairs_the_halves_if_not_interleaved(backend: Backend) -> None:
    x = drawn(N_Q, 10)
    neighbours = np.stack([x[:, :5], x[:, 5:]], axis=-1).reshape(N_Q, 10)
    expected = turned(neighbours, np.arange(N_Q)).reshape(N_Q, 5, 2).transpose(0, 2, 1).reshape(N_Q, 10)
    close(rotary(backend.array(x), interleaved=False), expected)


def test_rotary_keeps_lengths_and_the_first_token(backend: Backend) -> None:
    x = drawn(N_Q, 6)
    output = numpy(rotary(backend.array(x)))
    close(np.linalg.norm(output, axis=-1), np.linalg.norm(x, axis=-1))
    np.testing.assert_array_equal(output[0], x[0])


def test_rotary_lets_a_product_see_the_difference_of_positions_and_its_sign(backend: Backend) -> None:
    q, k = drawn(2, 1, 6)

    def product(of_q: int, of_k: int) -> float:
        rows = (rotary(backend.array(row), positions=backend.array(np.array([position])))
                for row, position in ((q, of_q), (k, of_k)))  # fmt: skip
        return float(numpy(next(rows)).ravel() @ numpy(next(rows)).ravel())

    np.testing.assert_allclose(product(7, 5), product(13, 11), rtol=1e-12)
    assert abs(product(5, 7) - product(7, 5)) > 0.01


@pytest.mark.parametrize("shape", [(0, 6), (N_Q, 0), (0, N_Q, 2)])
def test_rotary_of_nothing_is_nothing(backend: Backend, shape: tuple[int, ...]) -> None:
    assert numpy(rotary(backend.array(np.zeros(shape)))).shape == shape


def test_rotary_of_half_precision_turns_by_angles_of_full_precision(backend: Backend) -> None:
    x, positions = drawn(N_Q, 6).astype(np.float16), np.arange(N_Q) + 3001
    output = rotary(backend.array(x), positions=backend.array(positions))
    assert str(output.dtype).endswith("float16")
    close(output, turned(x.astype(np.float64), positions), 2e-3)


# Latent attention


def latent_by_definition(x: np.ndarray, w: LatentWeights, **selection: Any) -> np.ndarray:
    compressed, q_in = x @ w.w_dkv, x if w.w_dq is None else x @ w.w_dq
    positions = np.arange(x.shape[-2])
    output = np.zeros((*x.shape[:-1], D_OUT))
    for i in range(HEADS):
        content, rope = slice(i * D_HEAD, (i + 1) * D_HEAD), slice(i * D_ROPE, (i + 1) * D_ROPE)
        value = slice(i * D_V, (i + 1) * D_V)
        q = np.concatenate([q_in @ w.w_uq[:, content], turned(q_in @ w.w_qr[:, rope], positions)], axis=-1)
        k = np.concatenate([compressed @ w.w_uk[:, content], turned(x @ w.w_kr, positions)], axis=-1)
        output += oracle.attention(q, k, compressed @ w.w_uv[:, value], **selection) @ w.w_o[value]
    return output


@every_backend
@pytest.mark.parametrize("compressed", [True, False], ids=["compressed Queries", "plain Queries"])
def test_latent_attention_matches_the_definition(backend: Backend, compressed: bool) -> None:
    x = drawn(BATCH, N_Q, D_MODEL)
    ours = latent_attention(
        backend.array(x), latent_weights(compressed=compressed, array=backend.array), heads=HEADS, causal=True
    )
    allowed = oracle.allowed_keys(N_Q, N_Q, causal=True)
    close(ours, latent_by_definition(x, latent_weights(compressed=compressed), allowed=allowed))


def test_latent_attention_scales_by_both_parts_of_a_key(backend: Backend) -> None:
    x, w = backend.array(drawn(N_Q, D_MODEL)), latent_weights(array=backend.array)
    scaled = latent_attention(x, w, heads=HEADS, scale=1 / math.sqrt(D_HEAD + D_ROPE))
    close(latent_attention(x, w, heads=HEADS), scaled)


def test_latent_attention_absorbs_its_up_projections(backend: Backend) -> None:
    """W^UK moved to the Queries and W^UV behind the sum: every head reads the cache itself, as multi-query."""
    x, w = drawn(N_Q, D_MODEL), latent_weights()
    compressed, rotated = latent_cache(x, w)
    assert w.w_dq is not None
    q_in = x @ w.w_dq
    q_content = (q_in @ w.w_uq).reshape(N_Q, HEADS, D_HEAD)
    q_rotated = turned((q_in @ w.w_qr).reshape(N_Q, HEADS, D_ROPE).transpose(1, 0, 2), np.arange(N_Q))
    absorbed = np.einsum("nhe,che->hnc", q_content, w.w_uk.reshape(D_C, HEADS, D_HEAD))
    mixed = oracle.attention(
        np.concatenate([absorbed, q_rotated], axis=-1),
        np.concatenate([compressed, rotated], axis=-1),
        compressed,
        scale=1 / math.sqrt(D_HEAD + D_ROPE),
    )
    heads = np.einsum("hnc,chv->nhv", mixed, w.w_uv.reshape(D_C, HEADS, D_V))
    expected = heads.reshape(N_Q, HEADS * D_V) @ w.w_o
    ours = latent_attention(backend.array(x), latent_weights(array=backend.array), heads=HEADS)
    close(ours, expected)


@every_backend
def test_latent_cache_holds_d_c_and_d_rope_numbers_a_token(backend: Backend) -> None:
    cache = latent_cache(backend.array(drawn(BATCH, N_K, D_MODEL)), latent_weights(array=backend.array))
    assert [numpy(part).shape for part in cache] == [(BATCH, N_K, D_C), (BATCH, N_K, D_ROPE)]


@every_backend
def test_latent_attention_continues_from_its_cache(backend: Backend) -> None:
    x, w = backend.array(drawn(BATCH, N_K, D_MODEL)), latent_weights(array=backend.array)
    whole = latent_attention(x, w, heads=HEADS, causal=True)
    cache = latent_cache(x, w)
    for first in (N_K - 1, N_K - 3):
        ours = latent_attention(
            x[:, first:, :],
            w,
            heads=HEADS,
            cache=cache,
            positions=backend.array(np.arange(first, N_K)),
            causal=True,
            align="bottom-right",
        )
        close(ours, whole[:, first:, :])


@pytest.mark.parametrize("shape", [(N_Q,), (BATCH, N_Q)])
def test_latent_attention_sees_distances_and_not_positions(backend: Backend, shape: tuple[int, ...]) -> None:
    x, w = backend.array(drawn(BATCH, N_Q, D_MODEL)), latent_weights(array=backend.array)
    positions = backend.array(np.broadcast_to(np.arange(N_Q) + 29, shape))
    close(latent_attention(x, w, heads=HEADS, positions=positions), latent_attention(x, w, heads=HEADS))


def test_latent_attention_without_a_rotary_part_is_multi_head_attention(backend: Backend) -> None:
    x, w = drawn(N_Q, D_MODEL), latent_weights(compressed=False)
    bare = replace(w, w_kr=w.w_kr[:, :0], w_qr=w.w_qr[:, :0])
    expected = multi_head_attention(x, w.w_uq, w.w_dkv @ w.w_uk, w.w_dkv @ w.w_uv, w.w_o, heads=HEADS)
    arrays = {f.name: getattr(bare, f.name) for f in fields(bare)}
    in_backend = LatentWeights(**{n: None if a is None else backend.array(a) for n, a in arrays.items()})
    close(latent_attention(backend.array(x), in_backend, heads=HEADS), expected)


# Split and merge


@every_backend
def test_split_heads_gives_each_head_its_run_of_features(backend: Backend) -> None:
    x = drawn(BATCH, N_Q, HEADS * D_K)
    output = numpy(split_heads(backend.array(x), HEADS))
    assert output.shape == (BATCH, HEADS, N_Q, D_K)
    np.testing.assert_array_equal(output[1, 2], x[1, :, 2 * D_K :])


@every_backend
def test_merge_heads_reverses_split_heads(backend: Backend) -> None:
    x = drawn(BATCH, N_Q, HEADS * D_K)
    np.testing.assert_array_equal(numpy(merge_heads(split_heads(backend.array(x), HEADS))), x)


@pytest.mark.parametrize("shape", [(0, 6), (N_Q, 0)])
def test_split_and_merge_of_nothing_keep_the_axes(backend: Backend, shape: tuple[int, int]) -> None:
    split = split_heads(backend.array(np.zeros(shape)), 3)
    assert numpy(split).shape == (3, shape[0], shape[1] // 3)
    assert numpy(merge_heads(split)).shape == shape


# Masked means gone, and inputs stay


POISON = [np.nan, np.inf, -np.inf]


@every_backend
@pytest.mark.parametrize("poison", POISON)
def test_a_poisoned_token_reaches_only_the_queries_that_may_read_it(backend: Backend, poison: float) -> None:
    x = drawn(N_Q, D_MODEL)
    expected = head_by_head(x, x, weights(), HEADS, HEADS, allowed=oracle.allowed_keys(N_Q, N_Q, causal=True))
    x[3, 1] = poison
    for kv_heads, parts in ((HEADS, weights()), (1, weights(HEADS, 1))):
        output = grouped_query_attention(
            *backend.arrays(x, *parts), heads=HEADS, kv_heads=kv_heads, causal=True
        )
        assert np.isnan(numpy(output)[3:]).all()
        assert np.isfinite(numpy(output)[:3]).all()
        if kv_heads == HEADS:
            close(output[:3, :], expected[:3])


@pytest.mark.parametrize("poison", POISON)
def test_poison_under_the_mask_leaves_every_gradient_as_it_was(poison: float) -> None:
    def gradients(hidden: float) -> tuple[torch.Tensor, ...]:
        memory = drawn(N_K, D_MEMORY)
        memory[4:] = hidden
        arrays = [drawn(N_Q, D_MODEL), *weights(d_memory=D_MEMORY), memory]
        inputs = [torch.tensor(array, requires_grad=True) for array in arrays]
        mask = torch.arange(N_K) < 4
        output = multi_head_attention(*inputs[:5], heads=HEADS, memory=inputs[5], mask=mask)
        return torch.autograd.grad(torch.sin(output).sum(), inputs)

    clean, poisoned = gradients(0.0), gradients(poison)
    for ours, expected in zip(poisoned, clean, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)
    assert not poisoned[5][4:].any()


def test_inputs_are_never_changed_and_strides_don_t_matter(backend: Backend) -> None:
    x, parts = drawn(BATCH, N_Q, D_MODEL), weights()
    arrays = backend.arrays(x, *parts)
    strided = [backend.array(np.repeat(a, 2, axis=-1))[..., ::2] for a in (x, *parts)]
    close(multi_head_attention(*strided, heads=HEADS), multi_head_attention(*arrays, heads=HEADS))
    for array, original in zip(arrays, (x, *parts), strict=True):
        np.testing.assert_array_equal(numpy(array), original)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("float16", 5e-2)])
def test_the_dtype_that_comes_in_goes_out(backend: Backend, dtype: str, tolerance: float) -> None:
    x, parts = drawn(N_Q, D_MODEL), weights()
    arrays = [backend.array(a / 4, dtype) for a in (x, *parts)]
    output = multi_head_attention(*arrays, heads=HEADS)
    assert output.dtype == arrays[0].dtype
    close(output, head_by_head(x / 4, x / 4, tuple(w / 4 for w in parts), HEADS, HEADS), tolerance)
    w = latent_weights(array=lambda values: backend.array(values, dtype))
    assert latent_attention(arrays[0], w, heads=HEADS).dtype == arrays[0].dtype


def test_integers_count_as_floating_numbers(backend: Backend) -> None:
    arrays = backend.arrays(*(np.round(3 * a).astype(int) for a in (drawn(N_Q, D_MODEL), *weights())))
    expected = multi_head_attention(*(backend.array(numpy(a), "float32") for a in arrays), heads=HEADS)
    close(multi_head_attention(*arrays, heads=HEADS), expected, 1e-3)


@pytest.mark.parametrize(("n_q", "n_k"), [(0, N_K), (N_Q, 0)])
def test_no_token_is_an_ordinary_case(backend: Backend, n_q: int, n_k: int) -> None:
    output = multi_head_attention(
        *backend.arrays(drawn(n_q, D_MODEL), *weights(d_memory=D_MEMORY)),
        heads=HEADS,
        memory=backend.array(drawn(n_k, D_MEMORY)),
    )
    np.testing.assert_array_equal(numpy(output), np.zeros((n_q, D_OUT)))


# Gradients


def learned(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.tensor(array, requires_grad=True) for array in arrays]


def small_weights(heads: int, kv_heads: int, d_memory: int = 3) -> list[np.ndarray]:
    shapes = ((3, heads * 2), (d_memory, kv_heads * 2), (d_memory, kv_heads), (heads, 2))
    return [drawn(*shape, seed=i) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("kv_heads", [1, 2])
def test_heads_gradients_equal_finite_differences(kv_heads: int) -> None:
    mask = torch.tensor([[1, 0, 1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 0, 0]], dtype=torch.bool)

    def call(x: torch.Tensor, memory: torch.Tensor, *parts: torch.Tensor) -> torch.Tensor:
        return grouped_query_attention(
            x, *parts, heads=2, kv_heads=kv_heads, memory=memory, mask=mask, causal=True, softcap=3.0
        )

    inputs = learned(drawn(3, 3), drawn(5, 7), *small_weights(2, kv_heads, 7))
    assert torch.autograd.gradcheck(call, inputs)


def test_latent_attention_s_gradients_equal_finite_differences() -> None:
    names = [field.name for field in fields(LatentWeights)]
    shapes = {"w_dkv": (3, 2), "w_uk": (2, 2), "w_uv": (2, 4), "w_kr": (3, 2), "w_uq": (3, 2), "w_qr": (3, 4)}
    shapes |= {"w_o": (4, 2), "w_dq": (3, 3)}

    def call(x: torch.Tensor, *arrays: torch.Tensor) -> torch.Tensor:
        return latent_attention(
            x, LatentWeights(**dict(zip(names, arrays, strict=True))), heads=2, causal=True
        )

    inputs = learned(drawn(5, 3), *(drawn(*shapes[name], seed=i) for i, name in enumerate(names)))
    assert torch.autograd.gradcheck(call, inputs)


def test_rotary_s_gradient_equals_finite_differences() -> None:
    assert torch.autograd.gradcheck(rotary, learned(drawn(3, 4)))
    assert torch.autograd.gradcheck(partial(rotary, interleaved=False), learned(drawn(3, 4)))


# Errors


X, PARTS, LATENT = drawn(N_Q, D_MODEL), weights(6, 3), latent_weights()
mha = partial(multi_head_attention, X, *weights(), heads=HEADS)
gqa = partial(grouped_query_attention, X, *PARTS, heads=6, kv_heads=3)
mla = partial(latent_attention, X, heads=HEADS)

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no head": (partial(mha, heads=0), "heads must be an integer, 1 or more: it is 0"),
    "half a head": (partial(mha, heads=1.5), "heads must be an integer, 1 or more: it is 1.5"),
    "heads that don't divide a weight": (
        partial(mha, heads=2),
        "w_q must divide into 2 heads: it has shape (17, 33)",
    ),
    "Key-Value heads that don't divide the heads": (
        partial(gqa, kv_heads=4),
        "heads must be a multiple of kv_heads: heads is 6, kv_heads is 4",
    ),
    "no Key-Value head": (partial(gqa, kv_heads=0), "kv_heads must be an integer, 1 or more: it is 0"),
    "Key-Value heads that don't divide their weight": (
        partial(gqa, kv_heads=2),
        "w_k must divide into 2 heads: it has shape (17, 33)",
    ),
    "x that does not fit": (
        lambda: multi_head_attention(X[:, 1:], *weights(), heads=HEADS),
        "x must have as many features as w_q has rows: x has shape (5, 16), w_q has shape (17, 33)",
    ),
    "memory that does not fit": (
        partial(mha, memory=drawn(N_K, D_MEMORY)),
        "memory must have as many features as w_k has rows: memory has shape (7, 19), w_k has shape (17, 33)",
    ),
    "an output weight that does not fit": (
        lambda: multi_head_attention(X, *weights()[:3], PARTS[3], heads=HEADS),
        "output must have as many features as w_o has rows: output has shape (5, 39), w_o has shape (78, 23)",
    ),
    "a weight in three axes": (
        lambda: multi_head_attention(X, weights()[0][None], *weights()[1:], heads=HEADS),
        "w_q must have shape (d_in, d_out): it has shape (1, 17, 33)",
    ),
    "two libraries": (
        lambda: multi_head_attention(X, torch.tensor(weights()[0]), *weights()[1:], heads=HEADS),
        "x and w_q must be arrays of one library (NumPy or Torch): x is numpy.ndarray, w_q is torch.Tensor; "
        "np.asarray and torch.asarray convert",
    ),
    "a list": (
        lambda: multi_head_attention(X.tolist(), *weights(), heads=HEADS),
        "x must be an array (NumPy or Torch): x is list; np.asarray and torch.asarray convert",
    ),
    "one token without its axis": (
        lambda: multi_head_attention(X[0], *weights(), heads=HEADS),
        "x must have shape (..., n, d_in): it has shape (17,)",
    ),
    "an integer mask": (
        partial(mha, mask=np.ones((N_Q, N_Q), dtype=int)),
        "mask must be boolean (True = may attend) or floating (added to the logits): its dtype is int64; "
        "write mask != 0 if 1 means may attend",
    ),
    "an odd rotary part": (
        lambda: mla(weights=replace(LATENT, w_kr=LATENT.w_kr[:, :1])),
        "rotary turns pairs, so w_kr must have an even last axis: it has shape (17, 1)",
    ),
    "rotary of an odd axis": (
        lambda: rotary(drawn(N_Q, 5)),
        "rotary turns pairs, so x must have an even last axis: it has shape (5, 5)",
    ),
    "an up-projection of another width": (
        lambda: mla(weights=replace(LATENT, w_uk=LATENT.w_uk[1:])),
        "compressed_kv must have as many features as w_uk has rows: "
        "compressed_kv has shape (5, 7), w_uk has shape (6, 15)",
    ),
    "latent heads that don't divide": (
        lambda: latent_attention(X, LATENT, heads=2),
        "w_qr must give each of 2 heads the d_rope = 2 of the rotary Key: it has shape (11, 6)",
    ),
    "a cache of another rotary width": (
        lambda: mla(weights=LATENT, cache=LatentCache(drawn(N_K, D_C), drawn(N_K, 4))),
        "w_qr must give each of 3 heads the d_rope = 4 of the rotary Key: it has shape (11, 6)",
    ),
    "a cache of two sequences": (
        lambda: mla(weights=LATENT, cache=LatentCache(drawn(N_K, D_C), drawn(N_Q, 2))),
        "compressed and rotated of a cache must be of the same tokens: "
        "compressed has shape (7, 7), rotated has shape (5, 2)",
    ),
    "a cache of another batch": (
        lambda: latent_attention(
            drawn(3, N_Q, D_MODEL),
            LATENT,
            heads=HEADS,
            cache=LatentCache(drawn(2, N_K, D_C), drawn(2, N_K, 2)),
        ),
        "the batch axes of x and compressed must broadcast: x has shape (3, 5, 17), compressed has shape (2, 7, 7)",
    ),
    "parts of a head that only together are as wide as the Key's": (
        lambda: mla(weights=replace(LATENT, w_uk=drawn(D_C, 9), w_qr=drawn(11, 12), w_kr=drawn(17, 4))),
        "w_uk and w_uq must give each head the same d_head: w_uk has shape (7, 9), w_uq has shape (11, 15)",
    ),
    "Keys of another width than Queries": (
        lambda: multi_head_attention(X, weights()[0], weights()[1][:, :30], *weights()[2:], heads=HEADS),
        "w_q and w_k must give each head the same d_k: w_q has shape (17, 33), w_k has shape (17, 30)",
    ),
    "memory of another batch": (
        lambda: multi_head_attention(
            drawn(3, N_Q, D_MODEL), *weights(), heads=HEADS, memory=drawn(2, N_K, D_MODEL)
        ),
        "the batch axes of x and memory must broadcast: x has shape (3, 5, 17), memory has shape (2, 7, 17)",
    ),
    "prepare that loses a head": (
        partial(mha, prepare=lambda q, k: (q[0], k)),
        "prepare must keep all axes but the last: q has shape (3, 5, 11), k has shape (3, 5, 11), "
        "and it returned shapes (5, 11) and (3, 5, 11)",
    ),
    "prepare that returns no array": (
        partial(mha, prepare=lambda q, k: (q, None)),
        "prepare's k must be an array (NumPy or Torch): prepare's k is NoneType",
    ),
    "positions that don't fit": (
        lambda: rotary(drawn(N_Q, 4), positions=np.arange(N_K)),
        "positions must broadcast to (..., n) = (5,): they have shape (7,)",
    ),
    "positions of more axes": (
        lambda: rotary(drawn(N_Q, 4), positions=np.zeros((2, N_Q))),
        "positions must broadcast to (..., n) = (5,): they have shape (2, 5)",
    ),
    "boolean positions": (
        lambda: rotary(drawn(N_Q, 4), positions=np.ones(N_Q, dtype=bool)),
        "positions must hold real numbers: their dtype is bool",
    ),
    "positions in a list": (
        lambda: rotary(drawn(N_Q, 4), positions=[0, 1, 2, 3, 4]),
        "positions must be an array (NumPy or Torch): positions is list; np.asarray and torch.asarray convert",
    ),
    "a base of 0": (
        lambda: rotary(drawn(N_Q, 4), base=0),
        "base must be a positive finite number: it is 0",
    ),
    "interleaved as a number": (
        lambda: rotary(drawn(N_Q, 4), interleaved=1),  # type: ignore[arg-type]
        "interleaved must be True or False: it is 1",
    ),
    "a vector to turn": (lambda: rotary(drawn(4)), "x must have shape (..., n, d): it has shape (4,)"),
    "features that don't split": (
        lambda: split_heads(drawn(N_Q, 7), 3),
        "x must divide into 3 heads: it has shape (5, 7)",
    ),
    "heads that can't merge": (
        lambda: merge_heads(drawn(N_Q, 7)),
        "x must have shape (..., heads, n, d): it has shape (5, 7)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arguments_get_their_sentence(name: str) -> None:
    call, sentence = REFUSED[name]
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == sentence


def test_an_option_that_attention_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="casual"):
        multi_head_attention(X, *weights(), heads=HEADS, casual=True)  # type: ignore[call-arg]
