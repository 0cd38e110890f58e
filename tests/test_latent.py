"""The rotary embedding and latent attention, against their formulas."""

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
from conftest import Backend, close, drawn, every_backend, learned, message, numpy

from course_lib import (
    LatentCache,
    LatentWeights,
    latent_attention,
    latent_cache,
    multi_head_attention,
    rotary,
)

BATCH, HEADS, N_Q, N_K, D_MODEL, D_V, D_OUT = 2, 3, 5, 7, 17, 13, 23
D_HEAD, D_ROPE, D_C, D_Q = 5, 2, 7, 11


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


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_latent_attention_gives_the_dtype_that_comes_in(backend: Backend, dtype: str) -> None:
    w = latent_weights(array=lambda values: backend.array(values, dtype))
    x = backend.array(drawn(N_Q, D_MODEL) / 4, dtype)
    assert latent_attention(x, w, heads=HEADS).dtype == x.dtype


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


X, LATENT = drawn(N_Q, D_MODEL), latent_weights()
mla = partial(latent_attention, X, heads=HEADS)

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
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
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arguments_get_their_sentence(name: str) -> None:
    call, sentence = REFUSED[name]
    assert message(call) == sentence
