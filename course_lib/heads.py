"""Attention in several heads: multi-head, grouped-query and latent (MLA), and the rotary embedding.

Weights are plain arrays (d_in, d_out) that stand to the right, x @ w, as in the formulas. A bias is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypedDict, Unpack

import array_api_compat
import numpy as np

from course_lib._common import (
    Array,
    at_least_float32,
    finite_number,
    floating,
    namespace_of,
    quiet,
    require_axes,
    require_batch,
    require_flags,
    require_functions,
    require_kind,
    require_one_device,
    shape,
    shapes,
    whole_number,
)
from course_lib._per_token import linear
from course_lib.attention import attention
from course_lib.masks import Align, Window

Prepare: TypeAlias = Callable[[Array, Array], tuple[Array, Array]]


class AttentionOptions(TypedDict, total=False):
    """What every head hands on to `attention`; a mask broadcasts to (..., heads, n_q, n_k)."""

    mask: Array | None
    causal: bool
    align: Align
    window: Window | None
    scale: float | Array | None
    softcap: float | None


def multi_head_attention(
    x: Array,
    w_q: Array,
    w_k: Array,
    w_v: Array,
    w_o: Array,
    *,
    heads: int,
    memory: Array | None = None,
    prepare: Prepare | None = None,
    **options: Unpack[AttentionOptions],
) -> Array:
    """Y = Concat(O_1, ..., O_heads) W_O, where O_i = Attention(X W_Q_i, M W_K_i, M W_V_i).

    Returns (..., n_q, d_out) for x (..., n_q, d_model), w_q (d_model, heads d_k), w_k (d_memory, heads d_k),
    w_v (d_memory, heads d_v) and w_o (heads d_v, d_out). Head i owns the i-th d_k (d_v) columns of its weights.

    memory: M (..., n_k, d_memory), what is read in cross-attention; by default x itself.
    prepare: what is done to q (..., heads, n_q, d_k) and k (..., heads, n_k, d_k) before they are compared:
    `qk_norm`, or `rotary` of both. It returns both, and may change their last axis alone.
    options: those of `attention`; a mask broadcasts to (..., heads, n_q, n_k).

    Errors: ValueError where shapes, dtypes or libraries don't fit, naming the rule and what came.
    Source: Vaswani et al. 2017, 3.2.2; chapter `heads`.
    """
    return grouped_query_attention(
        x, w_q, w_k, w_v, w_o, heads=heads, kv_heads=heads, memory=memory, prepare=prepare, **options
    )


def grouped_query_attention(
    x: Array,
    w_q: Array,
    w_k: Array,
    w_v: Array,
    w_o: Array,
    *,
    heads: int,
    kv_heads: int,
    memory: Array | None = None,
    prepare: Prepare | None = None,
    **options: Unpack[AttentionOptions],
) -> Array:
    """Y = Concat(O_1, ..., O_heads) W_O, where g = heads / kv_heads Query heads in a row share a Key-Value head:
    O_i = Attention(X W_Q_i, M W_K_j, M W_V_j) with j = ceil(i / g).

    Returns (..., n_q, d_out) as `multi_head_attention` does, but w_k is (d_memory, kv_heads d_k) and w_v
    (d_memory, kv_heads d_v). kv_heads=1 is multi-query attention, kv_heads=heads multi-head attention.
    Options and errors are those of `multi_head_attention`; kv_heads must divide heads.
    Source: Ainslie et al. 2023, 2.2; Shazeer 2019 (multi-query); chapter `heads`.
    """
    heads = whole_number("heads", heads, least=1)
    kv_heads = whole_number("kv_heads", kv_heads, least=1)
    if heads % kv_heads:
        raise ValueError(f"heads must be a multiple of kv_heads: heads is {heads}, kv_heads is {kv_heads}")
    source: dict[str, Array] = {"x": x} if memory is None else {"memory": memory}
    q = _in_heads(heads, x=x, w_q=w_q)
    k = _in_heads(kv_heads, **source, w_k=w_k)
    v = _in_heads(kv_heads, **source, w_v=w_v)
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"w_q and w_k must give each head the same d_k: {shapes(w_q=w_q, w_k=w_k)}")
    require_batch(**{"x": x, **source})
    if prepare is not None:
        q, k = _prepared(prepare, q, k)
    output = attention(q, k, v, enable_gqa=kv_heads != heads, **options)
    return linear(output=merge_heads(output), w_o=w_o)


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentWeights:
    """The weights of `latent_attention`, (d_in, d_out) each, by their names in the paper.

    One object, since eight arrays in a call would be easy to swap. d_head is the width of a head's compressed
    part, d_rope that of its rotary part.
    """

    w_dkv: Array
    """W^DKV (d_model, d_c): down to what is cached for Keys and Values together."""
    w_uk: Array
    """W^UK (d_c, heads d_head): up to the Keys of all heads."""
    w_uv: Array
    """W^UV (d_c, heads d_v): up to the Values of all heads."""
    w_kr: Array
    """W^KR (d_model, d_rope): the rotary Key, one for all heads."""
    w_uq: Array
    """W^UQ (d_q, heads d_head): up to the Queries, from the compressed x or, without W^DQ, from x."""
    w_qr: Array
    """W^QR (d_q, heads d_rope): the rotary Queries, one a head."""
    w_o: Array
    """W^O (heads d_v, d_out): the output."""
    w_dq: Array | None = None
    """W^DQ (d_model, d_q): down to the compressed Query; None where Queries are not compressed."""


class LatentCache(NamedTuple):
    """All that latent attention keeps of a token: d_c + d_rope numbers, whatever the number of heads."""

    compressed: Array
    """C^KV (..., n_k, d_c)."""
    rotated: Array
    """K^R (..., n_k, d_rope)."""


def latent_attention(
    x: Array,
    weights: LatentWeights,
    *,
    heads: int,
    cache: LatentCache | None = None,
    positions: Array | None = None,
    base: float = 10000.0,
    **options: Unpack[AttentionOptions],
) -> Array:
    """Y = Concat(O_1, ..., O_heads) W^O, where O_i = Attention([Q^C_i; Q^R_i], [K^C_i; K^R], V^C_i):
    Keys and Values are made from one small vector a token, and K^R, which carries the position, is shared.

        C^KV = X W^DKV    K^C = C^KV W^UK    V^C = C^KV W^UV    K^R = RoPE(X W^KR)
        C^Q  = X W^DQ     Q^C = C^Q W^UQ                        Q^R = RoPE(C^Q W^QR)

    Returns (..., n_q, d_out) for x (..., n_q, d_model); `LatentWeights` has the weights' shapes. The default
    scale is that of the joined vectors, 1/sqrt(d_head + d_rope).

    cache: what was kept of the tokens to read (`latent_cache`); by default that of x itself.
    positions, base: those of `rotary`, for the tokens of x; positions (..., n_q).
    options: those of `attention`; a mask broadcasts to (..., heads, n_q, n_k).
    DeepSeek-V2 also puts an RMSNorm after each compression (its 3.1.2), which these formulas leave out.

    Errors: ValueError where shapes, dtypes or libraries don't fit, naming the rule and what came.
    Source: DeepSeek-AI 2024 (arXiv 2405.04434), 2.1; chapter `heads`.
    """
    heads = whole_number("heads", heads, least=1)
    require_kind(LatentWeights, weights=weights)
    if cache is None:
        cache = latent_cache(x, weights, positions=positions, base=base)
    _require_cache(cache, x)
    _require_head_widths(heads, weights, cache)
    q = _latent_queries(x, weights, heads, positions, base)
    k, v = _latent_keys_and_values(cache, weights, heads)
    return linear(output=merge_heads(attention(q, k, v, **options)), w_o=weights.w_o)


def latent_cache(
    x: Array, weights: LatentWeights, *, positions: Array | None = None, base: float = 10000.0
) -> LatentCache:
    """C^KV = X W^DKV and K^R = RoPE(X W^KR): all that `latent_attention` needs of the tokens that it reads.

    Returns (..., n, d_c) and (..., n, d_rope) for x (..., n, d_model).
    Errors and source: as for `latent_attention`.
    """
    require_kind(LatentWeights, weights=weights)
    keys = linear(x=x, w_kr=weights.w_kr)
    _require_pairs(w_kr=weights.w_kr)
    return LatentCache(linear(x=x, w_dkv=weights.w_dkv), rotary(keys, positions=positions, base=base))


@quiet
def rotary(
    x: Array, *, positions: Array | None = None, base: float = 10000.0, interleaved: bool = True
) -> Array:
    """RoPE(x): each pair of features turned by the angle p base^(-2i/d), p the position and i the pair, from 0.
    Positions enter the dot product of a turned Query and a turned Key through their difference alone.

    Returns the shape (..., n, d) and dtype of x; angles are in radians, computed in at least float32, which knows
    them to about 1e-7 p.
    positions: p, broadcast to (..., n); by default 0 to n-1.
    interleaved: a pair is (0, 1), (2, 3), ..., or if False (0, d/2), (1, d/2 + 1), ...
    Errors: ValueError for an odd d, positions that don't broadcast, a base that is not positive.
    Source: Su et al. 2021, 3.2.2.
    """
    xp = namespace_of(x=x)
    require_axes("n, d", x=x)
    require_flags(interleaved=interleaved)
    _require_pairs(x=x)
    (x,) = floating(xp, x=x)
    angles = _angles(x, positions, finite_number("base", base, positive=True))
    cos, sin = xp.cos(angles), xp.sin(angles)
    half = x.shape[-1] // 2
    axis, last_axes = (-1, (half, 2)) if interleaved else (-2, (2, half))
    pairs = xp.reshape(x, (*shape(x)[:-1], *last_axes))
    first, second = (pairs[..., i] if interleaved else pairs[..., i, :] for i in (0, 1))
    turned = xp.stack([first * cos - second * sin, first * sin + second * cos], axis=axis)
    return xp.astype(xp.reshape(turned, shape(x)), x.dtype, copy=False)


def split_heads(x: Array, heads: int) -> Array:
    """The features of each token, shared out to the heads: (..., n, heads d) becomes (..., heads, n, d).

    Errors: ValueError where heads does not divide the last axis. Source: Vaswani et al. 2017, 3.2.2.
    """
    xp, heads = namespace_of(x=x), whole_number("heads", heads, least=1)
    require_axes("n, heads d", x=x)
    *batch, features = shape(x)
    if features % heads:
        raise ValueError(f"x must divide into {heads} heads: it has shape {shape(x)}")
    return _swapped(xp.reshape(x, (*batch, heads, features // heads)))


def merge_heads(x: Array) -> Array:
    """Concat over the heads, the reverse of `split_heads`: (..., heads, n, d) becomes (..., n, heads d).

    Errors: ValueError for fewer than three axes. Source: Vaswani et al. 2017, 3.2.2.
    """
    xp = namespace_of(x=x)
    require_axes("heads, n, d", x=x)
    *batch, heads, n, d = shape(x)
    return xp.reshape(_swapped(x), (*batch, n, heads * d))


def _swapped(x: Array) -> Array:
    """(..., a, b, d) as (..., b, a, d)."""
    # Torch can do this inside torch.vmap, but not moveaxis.
    *batch, a, b, d = range(x.ndim)
    return namespace_of(x=x).permute_dims(x, (*batch, b, a, d))


def _in_heads(heads: int, **pair: Array) -> Array:
    """linear(**pair), split into heads; an error names the weight."""
    (x_name, x), (name, w) = pair.items()
    namespace_of(**pair)
    require_axes("n, d_in", **{x_name: x})
    projected = linear(**pair)
    if w.shape[-1] % heads:
        raise ValueError(f"{name} must divide into {heads} heads: it has shape {shape(w)}")
    return split_heads(projected, heads)


def _prepared(prepare: Prepare, q: Array, k: Array) -> tuple[Array, Array]:
    require_functions(prepare=prepare)
    pair = prepare(q, k)
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ValueError(f"prepare must return (q, k): it returned {type(pair).__name__}")
    namespace_of(**{"prepare's q": pair[0], "prepare's k": pair[1]})
    if (shape(pair[0])[:-1], shape(pair[1])[:-1]) != (shape(q)[:-1], shape(k)[:-1]):
        raise ValueError(
            f"prepare must keep all axes but the last: {shapes(q=q, k=k)}, "
            f"and it returned shapes {shape(pair[0])} and {shape(pair[1])}"
        )
    return pair


def _require_cache(cache: LatentCache, x: Array) -> None:
    require_kind(LatentCache, cache=cache)
    parts = {"compressed": cache.compressed, "rotated": cache.rotated}
    namespace_of(x=x, **parts)
    require_axes("n_k, d", **parts)
    require_batch(x=x, compressed=cache.compressed)
    if shape(cache.compressed)[:-1] != shape(cache.rotated)[:-1]:
        raise ValueError(f"compressed and rotated of a cache must be of the same tokens: {shapes(**parts)}")


def _require_head_widths(heads: int, weights: LatentWeights, cache: LatentCache) -> None:
    """ValueError unless a head's Query and Key agree in both of their parts."""
    parts = {"w_uk": weights.w_uk, "w_uq": weights.w_uq, "w_qr": weights.w_qr}
    namespace_of(**parts)
    require_axes("d_in, d_out", **parts)
    if weights.w_uk.shape[-1] != weights.w_uq.shape[-1]:
        uk_and_uq = shapes(w_uk=weights.w_uk, w_uq=weights.w_uq)
        raise ValueError(f"w_uk and w_uq must give each head the same d_head: {uk_and_uq}")
    d_rope = cache.rotated.shape[-1]
    if weights.w_qr.shape[-1] != heads * d_rope:
        raise ValueError(
            f"w_qr must give each of {heads} heads the d_rope = {d_rope} of the rotary Key: "
            f"it has shape {shape(weights.w_qr)}"
        )


def _require_pairs(**array: Array) -> None:
    ((name, turned),) = array.items()
    if turned.shape[-1] % 2:
        raise ValueError(
            f"rotary turns pairs, so {name} must have an even last axis: it has shape {shape(turned)}"
        )


def _latent_queries(
    x: Array, weights: LatentWeights, heads: int, positions: Array | None, base: float
) -> Array:
    """[Q^C; Q^R], (..., heads, n_q, d_head + d_rope)."""
    xp = namespace_of(x=x)
    compressed = x if weights.w_dq is None else linear(x=x, w_dq=weights.w_dq)
    content = _in_heads(heads, compressed_q=compressed, w_uq=weights.w_uq)
    turned = _in_heads(heads, compressed_q=compressed, w_qr=weights.w_qr)
    if positions is not None:
        namespace_of(x=x, positions=positions)
        require_axes("n_q", positions=positions)
        positions = positions[..., None, :]
    return xp.concat([content, rotary(turned, positions=positions, base=base)], axis=-1)


def _latent_keys_and_values(cache: LatentCache, weights: LatentWeights, heads: int) -> tuple[Array, Array]:
    """[K^C; K^R] (..., heads, n_k, d_head + d_rope), the rotary part the same in each head, and V^C."""
    xp = namespace_of(compressed_kv=cache.compressed, rotated=cache.rotated)
    content = _in_heads(heads, compressed_kv=cache.compressed, w_uk=weights.w_uk)
    v = _in_heads(heads, compressed_kv=cache.compressed, w_uv=weights.w_uv)
    shared = cache.rotated[..., None, :, :]
    shared = xp.broadcast_to(shared, (*shape(content)[:-1], shared.shape[-1]))
    return xp.concat([content, shared], axis=-1), v


def _angles(x: Array, positions: Array | None, base: float) -> Array:
    """p base^(-2i/d), (..., n, d/2), for pair i of the token at position p."""
    xp, device = namespace_of(x=x), array_api_compat.device(x)
    dtype = at_least_float32(xp, x).dtype
    *_, n, d = shape(x)
    if positions is None:
        positions = xp.arange(n, device=device)
    _require_positions(xp, positions, x)
    frequencies = base ** (xp.arange(d // 2, dtype=dtype, device=device) * (-2.0 / max(d, 1)))
    return xp.astype(positions, dtype)[..., None] * frequencies


def _require_positions(xp: Any, positions: Array, x: Array) -> None:
    namespace_of(x=x, positions=positions)
    if not xp.isdtype(positions.dtype, ("integral", "real floating")):
        raise ValueError(f"positions must hold real numbers: their dtype is {positions.dtype}")
    tokens = shape(x)[:-1]
    try:
        fits = np.broadcast_shapes(shape(positions), tokens) == tokens
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"positions must broadcast to (..., n) = {tokens}: they have shape {shape(positions)}"
        )
    require_one_device(x=x, positions=positions)
