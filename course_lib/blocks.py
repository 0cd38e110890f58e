"""The Transformer block: FFN, SwiGLU, mixture of experts, norms, and the residual stream that they add to.

Weights are plain arrays (d_in, d_out) that stand to the right, x @ w, as in the formulas. A sublayer is any
function from (..., n, d_model) to the same shape: partial(swiglu, w_gate=..., w_up=..., w_down=...), for example.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

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
    require_functions,
    shape,
    shapes,
    whole_number,
)
from course_lib._per_token import SMALLEST, linear, normalised, per_feature
from course_lib.attention import softmax

Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
Sublayer: TypeAlias = Callable[[Array], Array]


@quiet
def feed_forward(
    x: Array,
    w_up: Array,
    w_down: Array,
    *,
    b_up: Array | None = None,
    b_down: Array | None = None,
    activation: Activation = "gelu",
) -> Array:
    """FFN(X) = act(X W_up + b_up) W_down + b_down: up, activation, down, for each token by itself.

    Returns (..., d_out) for x (..., d_model), w_up (d_model, d_ff) and w_down (d_ff, d_out); a bias is (d_ff,),
    (d_out,) or None.
    activation: "relu"; "gelu", x Phi(x) with the exact normal distribution function Phi; "gelu_tanh", GPT-2's
    approximation of it; "silu", x / (1 + exp(-x)).
    Errors: ValueError where shapes, dtypes or libraries don't fit, for another activation.
    Source: Vaswani et al. 2017, 3.3 (ReLU); Hendrycks and Gimpel 2016 (GELU); chapter `attention-and-ffn`.
    """
    if not isinstance(activation, str) or activation not in _ACTIVATIONS:
        raise ValueError(
            f"activation must be one of {', '.join(map(repr, _ACTIVATIONS))}: it is {activation!r}"
        )
    hidden = _activated(activation, _plus(linear(x=x, w_up=w_up), "n, d_ff", b_up=b_up))
    return _plus(linear(hidden=hidden, w_down=w_down), "n, d_out", b_down=b_down)


@quiet
def swiglu(x: Array, w_gate: Array, w_up: Array, w_down: Array) -> Array:
    """SwiGLU(X) = (SiLU(X W_gate) * X W_up) W_down: the gate decides how much of each hidden feature passes.

    Returns (..., d_out) for x (..., d_model), w_gate and w_up (d_model, d_ff), and w_down (d_ff, d_out).
    Errors: ValueError where shapes, dtypes or libraries don't fit. Source: Shazeer 2020, FFN_SwiGLU.
    """
    gate, up = linear(x=x, w_gate=w_gate), linear(x=x, w_up=w_up)
    if gate.shape != up.shape:
        raise ValueError(f"w_gate and w_up must have one shape: {shapes(w_gate=w_gate, w_up=w_up)}")
    return linear(hidden=_activated("silu", gate) * up, w_down=w_down)


@quiet
def mixture_of_experts(x: Array, w_router: Array, experts: Sequence[Sublayer], *, top_k: int) -> Array:
    """MoE(x) = sum over the chosen e of g_e Expert_e(x): the top_k experts with the largest x W_router are chosen,
    and g = Softmax over their top_k numbers alone.

    Returns (..., d_out) for x (..., d_model), w_router (d_model, number of experts) and experts that map
    (m, d_model) to (m, d_out). An expert is given the tokens that chose it and no others: for the rest it costs
    nothing, adds nothing, and gets no gradient. Of equal numbers the earlier expert is chosen.
    Errors: ValueError where shapes don't fit, for a top_k that is not from 1 to the number of experts.
    Source: Jiang et al. 2024 (Mixtral), 2.1; Shazeer et al. 2017; chapter `attention-and-ffn`.
    """
    xp = namespace_of(x=x, w_router=w_router)
    require_axes("n, d_model", x=x)
    top_k = _top_k(top_k, experts, w_router)
    tokens = xp.reshape(x, (math.prod(shape(x)[:-1]), x.shape[-1]))
    logits = linear(x=tokens, w_router=w_router)
    chosen = xp.argsort(logits, axis=-1, descending=True, stable=True)[:, :top_k]
    gates = softmax(xp.take_along_axis(logits, chosen, axis=-1))
    updates = _through_experts(tokens, chosen, experts)
    return xp.reshape(xp.sum(gates[:, :, None] * updates, axis=1), (*shape(x)[:-1], updates.shape[-1]))


def rms_norm(x: Array, gain: Array | None = None, *, eps: float = SMALLEST["rms"]) -> Array:
    """RMSNorm(x) = gain * x / sqrt(mean(x^2) + eps), over the features of each token.

    Returns the shape and dtype of x (..., d_model); gain (d_model,) is 1 where there is none.
    Errors: ValueError for a gain that does not broadcast, an eps of 0 or less.
    Source: Zhang and Sennrich 2019.
    """
    xp = namespace_of(x=x)
    require_axes("d_model", x=x)
    (x,) = floating(xp, x=x)
    return normalised("rms", finite_number("eps", eps, positive=True), x=x, gain=gain)


def layer_norm(
    x: Array, gain: Array | None = None, bias: Array | None = None, *, eps: float = SMALLEST["layer"]
) -> Array:
    """LayerNorm(x) = gain * (x - mean(x)) / sqrt(var(x) + eps) + bias, over the features of each token.

    Returns the shape and dtype of x (..., d_model); gain is 1 and bias 0 where there is none, else (d_model,).
    Errors: ValueError for a gain or bias that does not broadcast, an eps of 0 or less.
    Source: Ba et al. 2016.
    """
    xp = namespace_of(x=x)
    require_axes("d_model", x=x)
    (x,) = floating(xp, x=x)
    unit = normalised("layer", finite_number("eps", eps, positive=True), x=x, gain=gain)
    return xp.astype(_plus(unit, "n, d_model", bias=bias), x.dtype, copy=False)


class Residual(NamedTuple):
    """What a sublayer adds to the residual stream, and the stream after it: (..., n, d_model) both."""

    update: Array
    stream: Array


def residual(x: Array, sublayer: Sublayer, *, norm: Sublayer = rms_norm) -> Residual:
    """X + F(Norm(X)): the sublayer F reads a normed copy of the stream and adds its update; nothing is replaced.

    Returns the update F(Norm(X)) and the stream X + F(Norm(X)), in the shape of x (..., n, d_model).
    Errors: ValueError where the update has another shape than x.
    Source: He et al. 2016; Xiong et al. 2020 (norm before the sublayer); chapter `attention-and-ffn`.
    """
    return _added(x, sublayer=sublayer, norm=norm)


class BlockSteps(NamedTuple):
    """What each half of a block adds to the residual stream, and what the stream then holds."""

    attention_update: Array
    between: Array
    ffn_update: Array
    output: Array


def transformer_block(
    x: Array,
    attention: Sublayer,
    ffn: Sublayer,
    *,
    attention_norm: Sublayer = rms_norm,
    ffn_norm: Sublayer = rms_norm,
) -> Array:
    """H = X + Attention(Norm(X)), Y = H + FFN(Norm(H)): one pre-norm block.

    Attention carries information between positions; the FFN then works on each position, on what attention has
    already gathered there.

    Returns Y, in the shape of x (..., n, d_model). attention, ffn: sublayers, with their weights inside:
    partial(multi_head_attention, w_q=..., ..., heads=8, causal=True), and any FFN of this module. The norms
    may hold a gain: partial(rms_norm, gain=...).
    Errors: ValueError where an update has another shape than x. `block_steps` returns the updates too.
    Source: Vaswani et al. 2017, 3.1; Xiong et al. 2020 (pre-norm); chapter `attention-and-ffn`.
    """
    return block_steps(x, attention, ffn, attention_norm=attention_norm, ffn_norm=ffn_norm).output


def block_steps(
    x: Array,
    attention: Sublayer,
    ffn: Sublayer,
    *,
    attention_norm: Sublayer = rms_norm,
    ffn_norm: Sublayer = rms_norm,
) -> BlockSteps:
    """The block of `transformer_block`, with the update that each sublayer adds: output = x + both updates.

    Returns four arrays in the shape of x. Arguments, errors and source are those of `transformer_block`.
    """
    first = _added(x, attention=attention, attention_norm=attention_norm)
    second = _added(first.stream, ffn=ffn, ffn_norm=ffn_norm)
    return BlockSteps(*first, *second)


def _added(x: Array, **pair: Sublayer) -> Residual:
    """`residual`, for a sublayer and its norm, given by the names that an error shall use."""
    (name, sublayer), (norm_name, norm) = pair.items()
    xp = namespace_of(x=x)
    require_axes("n, d_model", x=x)
    require_functions(**pair)
    (x,) = floating(xp, x=x)
    update = _returned(name, sublayer, _returned(norm_name, norm, x))
    if shape(update) != shape(x):
        raise ValueError(
            f"{name} must return the shape of x: it returned {shape(update)}, x has shape {shape(x)}"
        )
    return Residual(update, x + update)


def _returned(name: str, function: Sublayer, x: Array) -> Array:
    """What a function that somebody gave us makes of x: an array of x's library, or a ValueError."""
    result = function(x)
    namespace_of(**{"x": x, f"what {name} returns": result})
    return result


def _plus(x: Array, axes: str, **bias: Array | None) -> Array:
    ((name, values),) = bias.items()
    if values is None:
        return x
    return x + per_feature(name, values, axes, x=x)


def _activated(activation: str, x: Array) -> Array:
    """act(x), at least in float32 and back: half precision overflows where exp and x^3 do not."""
    xp = namespace_of(x=x)
    return xp.astype(_ACTIVATIONS[activation](xp, at_least_float32(xp, x)), x.dtype, copy=False)


def _relu(xp: Any, x: Array) -> Array:
    return xp.where(x <= 0, 0.0, x)


def _gelu(xp: Any, x: Array) -> Array:
    """x Phi(x), Phi(x) = (1 + erf(x / sqrt(2))) / 2."""
    # The array API standard has no erf; Torch has one, which it can differentiate.
    erf = getattr(xp, "erf", _erf)
    return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))


def _gelu_tanh(xp: Any, x: Array) -> Array:
    return 0.5 * x * (1.0 + xp.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


def _silu(xp: Any, x: Array) -> Array:
    """x / (1 + exp(-x)), in a form whose gradient does not overflow."""
    return x * xp.exp(-xp.logaddexp(xp.zeros_like(x), -x))


_ACTIVATIONS = {"relu": _relu, "gelu": _gelu, "gelu_tanh": _gelu_tanh, "silu": _silu}


def _erf(x: Array) -> Array:
    """erf(x) number by number, through the standard library: exact, and no slower than a polynomial."""
    xp = namespace_of(x=x)
    values = np.vectorize(math.erf, otypes=[np.float64])(np.asarray(x))
    return xp.astype(xp.asarray(values, device=array_api_compat.device(x)), x.dtype)


def _top_k(top_k: int, experts: Sequence[Sublayer], w_router: Array) -> int:
    if not isinstance(experts, Sequence):
        raise ValueError(f"experts must be a list of functions: it is {type(experts).__name__}")
    require_functions(**{f"experts[{number}]": expert for number, expert in enumerate(experts)})
    if w_router.ndim != 2 or w_router.shape[-1] != len(experts):
        raise ValueError(
            f"w_router must have a column for each of {len(experts)} experts: it has shape {shape(w_router)}"
        )
    top_k = whole_number("top_k", top_k)
    if not 1 <= top_k <= len(experts):
        raise ValueError(f"top_k must lie between 1 and the number of experts, {len(experts)}: it is {top_k}")
    return top_k


def _through_experts(tokens: Array, chosen: Array, experts: Sequence[Sublayer]) -> Array:
    """Expert_e(x) for each token and each of its chosen experts: (n, top_k, d_out).

    The pairs of token and expert are sorted by expert, so that each expert works on one slice, and sorted back.
    """
    xp = namespace_of(tokens=tokens)
    n, top_k = shape(chosen)
    pairs = xp.reshape(chosen, (n * top_k,))
    order = xp.argsort(pairs, stable=True)
    sorted_tokens = xp.take(tokens, order // top_k, axis=0)
    updates, start = [], 0
    for number, expert in enumerate(experts):
        stop = start + int(xp.count_nonzero(pairs == number))
        updates.append(_expert_update(number, expert, sorted_tokens[start:stop, :]))
        start = stop
    if len({update.shape[1] for update in updates}) > 1:
        widths = ", ".join(str(update.shape[1]) for update in updates)
        raise ValueError(f"experts must return vectors of one width: they return widths {widths}")
    together = xp.take(xp.concat(updates, axis=0), xp.argsort(order), axis=0)
    return xp.reshape(together, (n, top_k, together.shape[-1]))


def _expert_update(number: int, expert: Sublayer, tokens: Array) -> Array:
    update = _returned(f"experts[{number}]", expert, tokens)
    if update.ndim != 2 or update.shape[0] != tokens.shape[0]:
        raise ValueError(
            f"experts[{number}] must map (m, d_model) to (m, d_out): of {shape(tokens)}, it made {shape(update)}"
        )
    return update
