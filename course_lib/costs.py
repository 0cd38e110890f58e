"""What a sublayer costs: parameters, FLOPs of one forward pass, bytes of its Key-Value cache. Exact integers.

Counted are the matrices and the matrix products, a multiply-add being 2 FLOPs. Left out, as in the lecture, are
biases, norms, activations, masks, Softmax and rotary angles; a causal mask gives no discount. One sequence: for a
batch, multiply FLOPs and bytes by its size. For the lecture's sizes (d_k = d_v = d/heads, d_ff = 4d):
attention has 4d^2 parameters and 8nd^2 + 4n^2d FLOPs, the FFN 8d^2 and 16nd^2, so both cost the same at n = 2d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from course_lib._common import require_kind, whole_number


@dataclass(frozen=True)
class Cost:
    """Parameters, those of them that one token uses (fewer in a mixture of experts), and forward FLOPs.

    Costs add up, by + and by sum(), and a cost times a whole number is that many of it: 32 * (attention + ffn).
    """

    parameters: int
    active_parameters: int
    flops: int

    def __add__(self, other: Cost) -> Cost:
        if not isinstance(other, Cost):
            return NotImplemented
        return Cost(
            self.parameters + other.parameters,
            self.active_parameters + other.active_parameters,
            self.flops + other.flops,
        )

    def __radd__(self, start: Literal[0]) -> Cost:
        return self if start == 0 else NotImplemented  # with it begins sum()

    def __mul__(self, times: int) -> Cost:
        times = whole_number("times", times)
        return Cost(times * self.parameters, times * self.active_parameters, times * self.flops)

    __rmul__ = __mul__

    def __str__(self) -> str:
        active = "" if self.active_parameters == self.parameters else f" ({self.active_parameters:,} active)"
        return f"{self.parameters:,} parameters{active}, {self.flops:,} FLOPs"


def attention_cost(
    n: int,
    d_model: int,
    *,
    heads: int = 1,
    kv_heads: int | None = None,
    d_k: int | None = None,
    d_v: int | None = None,
    n_k: int | None = None,
) -> Cost:
    """Multi-head and grouped-query attention: projections, Q K^T, A V and the output projection.

    Returns d_model (heads + kv_heads)(d_k + d_v) parameters; FLOPs are 2 per parameter and token that it meets
    (n for W_Q and W_O, n_k for W_K and W_V) and 2 n n_k heads (d_k + d_v) for Q K^T and A V.
    With the defaults 4 d^2 and 8 n d^2 + 4 n^2 d, whatever the number of heads.

    kv_heads: Key-Value heads, by default heads; 1 is multi-query. d_k: by default d_model / heads. d_v: by
    default d_k. n_k: tokens that are read in cross-attention, by default n.
    Errors: ValueError for a size below 0 (1 for heads), for heads that don't divide.
    Source: Vaswani et al. 2017, 3.2.2; Ainslie et al. 2023; chapter `attention-and-ffn`.
    """
    n, d_model, n_k = _sizes(n=n, d_model=d_model, n_k=n if n_k is None else n_k)
    heads, kv_heads = _heads(heads, kv_heads)
    d_k = _share(d_model, heads) if d_k is None else d_k
    d_k, d_v = _sizes(d_k=d_k, d_v=d_k if d_v is None else d_v)
    w_q_and_w_o = d_model * heads * (d_k + d_v)
    w_k_and_w_v = d_model * kv_heads * (d_k + d_v)
    products = n * n_k * heads * (d_k + d_v)
    return _dense(w_q_and_w_o + w_k_and_w_v, 2 * (n * w_q_and_w_o + n_k * w_k_and_w_v + products))


def latent_attention_cost(
    n: int,
    d_model: int,
    *,
    heads: int,
    d_head: int,
    d_rope: int,
    d_c: int,
    d_v: int | None = None,
    d_q: int | None = None,
) -> Cost:
    """Latent attention (MLA) as `latent_attention` computes it, Keys and Values made from the compressed vectors.

    Returns the parameters of W^DKV, W^UK, W^UV, W^KR, W^DQ, W^UQ, W^QR and W^O; FLOPs are 2 n per parameter and
    2 n^2 heads (d_head + d_rope + d_v) for Q K^T and A V.

    d_head, d_rope: widths of a head's compressed and rotary part. d_c: width of the compressed Keys and Values.
    d_v: by default d_head. d_q: width of the compressed Query; None where Queries are not compressed.
    Errors: ValueError for a size below 0 (1 for heads). Source: DeepSeek-AI 2024 (arXiv 2405.04434), 2.1.
    """
    heads, _ = _heads(heads, None)
    n, d_model, d_head, d_rope, d_c = _sizes(n=n, d_model=d_model, d_head=d_head, d_rope=d_rope, d_c=d_c)
    d_in, d_v = _sizes(d_q=d_model if d_q is None else d_q, d_v=d_head if d_v is None else d_v)
    down_q = 0 if d_q is None else d_model * d_in
    queries = down_q + d_in * heads * (d_head + d_rope)
    keys_and_values = d_model * (d_c + d_rope) + d_c * heads * (d_head + d_v)
    parameters = queries + keys_and_values + heads * d_v * d_model
    return _dense(parameters, 2 * n * parameters + 2 * n * n * heads * (d_head + d_rope + d_v))


def feed_forward_cost(n: int, d_model: int, *, d_ff: int | None = None) -> Cost:
    """The FFN, up and down: 2 d_model d_ff parameters and 4 n d_model d_ff FLOPs.

    With the default d_ff = 4 d_model that is 8 d^2 and 16 n d^2.
    Errors: ValueError for a size below 0. Source: Vaswani et al. 2017, 3.3; chapter `attention-and-ffn`.
    """
    n, d_model = _sizes(n=n, d_model=d_model)
    (d_ff,) = _sizes(d_ff=4 * d_model if d_ff is None else d_ff)
    return _dense(2 * d_model * d_ff, 4 * n * d_model * d_ff)


def swiglu_cost(n: int, d_model: int, *, d_ff: int) -> Cost:
    """SwiGLU, gate, up and down: 3 d_model d_ff parameters and 6 n d_model d_ff FLOPs.

    d_ff = 8/3 d_model keeps the 8 d^2 and 16 n d^2 of an FFN.
    Errors: ValueError for a size below 0. Source: Shazeer 2020; chapter `attention-and-ffn`.
    """
    n, d_model, d_ff = _sizes(n=n, d_model=d_model, d_ff=d_ff)
    return _dense(3 * d_model * d_ff, 6 * n * d_model * d_ff)


def mixture_of_experts_cost(n: int, d_model: int, expert: Cost, *, experts: int, top_k: int) -> Cost:
    """A router and `experts` equal experts, of which each token uses top_k.

    Returns d_model experts + experts P parameters, of which d_model experts + top_k P are active for a token, and
    2 n d_model experts + top_k F FLOPs, where `expert` costs P parameters and, for all n tokens, F FLOPs:
    mixture_of_experts_cost(n, d, swiglu_cost(n, d, d_ff=f), experts=8, top_k=2).
    Errors: ValueError for a size below 0, for a top_k that is not from 1 to experts.
    Source: Jiang et al. 2024 (Mixtral), 2.1; chapter `attention-and-ffn`.
    """
    n, d_model, experts, top_k = _sizes(n=n, d_model=d_model, experts=experts, top_k=top_k)
    require_kind(Cost, expert=expert)
    if not 1 <= top_k <= experts:
        raise ValueError(f"top_k must lie between 1 and the number of experts, {experts}: it is {top_k}")
    router = d_model * experts
    return Cost(
        router + experts * expert.parameters,
        router + top_k * expert.active_parameters,
        2 * n * router + top_k * expert.flops,
    )


def kv_cache_bytes(
    n: int, *, layers: int, kv_heads: int, d_k: int, d_v: int | None = None, itemsize: int = 2
) -> int:
    """n layers kv_heads (d_k + d_v) itemsize: the Keys and Values that n tokens leave behind, in bytes.

    kv_heads: as many as Query heads in multi-head attention, 1 in multi-query. d_v: by default d_k.
    itemsize: bytes of a number, by default the 2 of bfloat16 and float16.
    Errors: ValueError for a size below 0. Source: chapter `attention-and-ffn`.
    """
    n, layers, itemsize = _sizes(n=n, layers=layers, itemsize=itemsize)
    kv_heads, d_k, d_v = _sizes(kv_heads=kv_heads, d_k=d_k, d_v=d_k if d_v is None else d_v)
    return n * layers * kv_heads * (d_k + d_v) * itemsize


def latent_cache_bytes(n: int, *, layers: int, d_c: int, d_rope: int, itemsize: int = 2) -> int:
    """n layers (d_c + d_rope) itemsize: what n tokens leave behind in latent attention, in bytes.

    The number of heads does not matter. Parameters are those of `kv_cache_bytes` and `latent_attention_cost`.
    Errors: ValueError for a size below 0. Source: DeepSeek-AI 2024 (arXiv 2405.04434), 2.1.
    """
    n, layers, d_c, d_rope, itemsize = _sizes(n=n, layers=layers, d_c=d_c, d_rope=d_rope, itemsize=itemsize)
    return n * layers * (d_c + d_rope) * itemsize


def _dense(parameters: int, flops: int) -> Cost:
    return Cost(parameters, parameters, flops)


def _heads(heads: int, kv_heads: int | None) -> tuple[int, int]:
    heads = whole_number("heads", heads, least=1)
    kv_heads = heads if kv_heads is None else whole_number("kv_heads", kv_heads, least=1)
    if heads % kv_heads:
        raise ValueError(f"heads must be a multiple of kv_heads: heads is {heads}, kv_heads is {kv_heads}")
    return heads, kv_heads


def _share(d_model: int, heads: int) -> int:
    if d_model % heads:
        raise ValueError(
            f"heads must divide d_model, or d_k be given: heads is {heads}, d_model is {d_model}"
        )
    return d_model // heads


def _sizes(**sizes: int) -> list[int]:
    return [whole_number(name, size) for name, size in sizes.items()]
