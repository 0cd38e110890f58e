"""Attention in several heads against torch, and against the formulas written head by head."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import oracle
import pytest
import torch
from conftest import Backend, close, drawn, every_backend, learned, message, numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from course_lib import (
    grouped_query_attention,
    merge_heads,
    multi_head_attention,
    qk_norm,
    rotary,
    split_heads,
)

BATCH, HEADS, N_Q, N_K, D_K, D_V, D_MODEL, D_MEMORY, D_OUT = 2, 3, 5, 7, 11, 13, 17, 19, 23
# The third Query may read nothing.
MASK = np.random.default_rng(1).random((N_Q, N_K)) < 0.6
MASK[:, 0], MASK[2] = True, False

few = settings(max_examples=30, deadline=None, derandomize=True)


def weights(heads: int = HEADS, kv_heads: int = HEADS, d_memory: int = D_MODEL) -> tuple[np.ndarray, ...]:
    return (
        drawn(D_MODEL, heads * D_K, seed=1) / 4,
        drawn(d_memory, kv_heads * D_K, seed=2) / 4,
        drawn(d_memory, kv_heads * D_V, seed=3),
        drawn(heads * D_V, D_OUT, seed=4),
    )


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


# Errors


X, PARTS = drawn(N_Q, D_MODEL), weights(6, 3)
mha = partial(multi_head_attention, X, *weights(), heads=HEADS)
gqa = partial(grouped_query_attention, X, *PARTS, heads=6, kv_heads=3)

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
    assert message(call) == sentence


def test_an_option_that_attention_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="casual"):
        multi_head_attention(X, *weights(), heads=HEADS, casual=True)  # type: ignore[call-arg]
