"""FFN, experts, norms and the residual stream against torch, and against loops over tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Backend, close, drawn, every_backend, message, numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from course_lib import (
    block_steps,
    feed_forward,
    layer_norm,
    mixture_of_experts,
    multi_head_attention,
    residual,
    rms_norm,
    swiglu,
    transformer_block,
)

BATCH, N, D_MODEL, D_FF, D_OUT, EXPERTS = 2, 7, 5, 11, 3, 13
POISON = [np.nan, np.inf, -np.inf]

few = settings(max_examples=30, deadline=None, derandomize=True)


def learned(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [torch.tensor(drawn(*shape, seed=i), requires_grad=True) for i, shape in enumerate(shapes)]


# FFN and SwiGLU


TORCH_S: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "silu": functional.silu,
}


@every_backend
@pytest.mark.parametrize("biases", [False, True], ids=["no bias", "biases"])
@pytest.mark.parametrize("activation", TORCH_S)
def test_feed_forward_equals_torch_s_layers(backend: Backend, activation: Any, biases: bool) -> None:
    x, w_up, w_down = 3 * drawn(BATCH, N, D_MODEL), drawn(D_MODEL, D_FF), drawn(D_FF, D_OUT)
    b_up, b_down = (drawn(D_FF), drawn(D_OUT)) if biases else (None, None)
    given_biases = {"b_up": b_up, "b_down": b_down} if biases else {}
    ours = feed_forward(
        *backend.arrays(x, w_up, w_down),
        activation=activation,
        **{name: backend.array(bias) for name, bias in given_biases.items()},
    )
    tensors = [None if a is None else torch.tensor(a) for a in (x, w_up.T, b_up, w_down.T, b_down)]
    hidden = TORCH_S[activation](functional.linear(*tensors[:3]))  # type: ignore[arg-type]
    close(ours, functional.linear(hidden, *tensors[3:]))  # type: ignore[arg-type]


def test_feed_forward_s_activation_is_the_exact_gelu_by_default(backend: Backend) -> None:
    x, unit = backend.array(np.array([[1.0], [-2.0]])), backend.array(np.eye(1))
    close(feed_forward(x, unit, unit), [[math.erfc(-1 / math.sqrt(2)) / 2], [-math.erfc(math.sqrt(2))]])
    tanh = numpy(feed_forward(x, unit, unit, activation="gelu_tanh"))
    assert 1e-5 < np.abs(tanh - numpy(feed_forward(x, unit, unit))).max() < 1e-3


@pytest.mark.parametrize("activation", TORCH_S)
def test_activations_stay_finite_far_out(backend: Backend, activation: Any) -> None:
    unit = backend.array(np.eye(1), "float32")
    far = backend.array(np.array([[-1e4], [1e4]]), "float32")
    np.testing.assert_array_equal(numpy(feed_forward(far, unit, unit, activation=activation)), [[0], [1e4]])


@pytest.mark.parametrize("activation", TORCH_S)
def test_activations_gradients_equal_torch_s_far_out_too(activation: Any) -> None:
    x = torch.tensor([[-1000.0], [-30.0], [-1.0], [0.0], [2.0], [1000.0]], requires_grad=True)
    unit = torch.eye(1)
    (ours,) = torch.autograd.grad(feed_forward(x, unit, unit, activation=activation).sum(), x)
    (theirs,) = torch.autograd.grad(TORCH_S[activation](x).sum(), x)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("activation", TORCH_S)
def test_activations_of_half_precision_are_as_good_as_their_dtype(backend: Backend, activation: Any) -> None:
    x = np.linspace(-3, 3, 31, dtype=np.float16)[:, None]
    unit = backend.array(np.eye(1), "float16")
    ours = feed_forward(backend.array(x), unit, unit, activation=activation)
    expected = TORCH_S[activation](torch.tensor(x, dtype=torch.float64))
    np.testing.assert_allclose(numpy(ours), numpy(expected), rtol=2e-3, atol=1e-6)


@every_backend
def test_swiglu_equals_torch_s_layers(backend: Backend) -> None:
    x, gate, up = drawn(BATCH, N, D_MODEL), drawn(D_MODEL, D_FF), drawn(D_MODEL, D_FF, seed=1)
    down = drawn(D_FF, D_OUT)
    ours = swiglu(*backend.arrays(x, gate, up, down))
    tensors = [torch.tensor(array) for array in (x, gate, up, down)]
    close(ours, (functional.silu(tensors[0] @ tensors[1]) * (tensors[0] @ tensors[2])) @ tensors[3])


@pytest.mark.parametrize("activation", TORCH_S)
def test_each_position_is_transformed_by_itself(backend: Backend, activation: Any) -> None:
    x, w_up, w_down = backend.arrays(drawn(N, D_MODEL), drawn(D_MODEL, D_FF), drawn(D_FF, D_OUT))
    whole = feed_forward(x, w_up, w_down, activation=activation)
    for i in range(N):
        close(feed_forward(x[i, :], w_up, w_down, activation=activation), whole[i, :])


@every_backend
@pytest.mark.parametrize("poison", POISON)
def test_a_poisoned_token_stays_alone(backend: Backend, poison: float) -> None:
    x = drawn(N, D_MODEL)
    up, gate, down = drawn(D_MODEL, D_FF), drawn(D_MODEL, D_FF, seed=1), drawn(D_FF, D_MODEL)
    router = drawn(D_MODEL, EXPERTS)
    sublayers: dict[str, Callable[..., Any]] = {
        "ffn": lambda x, up, gate, down, _: feed_forward(x, up, down),
        "ffn with relu": lambda x, up, gate, down, _: feed_forward(x, up, down, activation="relu"),
        "swiglu": lambda x, up, gate, down, _: swiglu(x, gate, up, down),
        "moe": lambda x, up, gate, down, router: mixture_of_experts(
            x, router, [partial(swiglu, w_gate=gate, w_up=up, w_down=down)] * EXPERTS, top_k=3
        ),
        "rms": lambda x, *_: rms_norm(x),
        "layer": lambda x, *_: layer_norm(x),
    }
    poisoned = x.copy()
    poisoned[4, 2] = poison
    others = np.arange(N) != 4
    for call in sublayers.values():
        output = numpy(call(*backend.arrays(poisoned, up, gate, down, router)))
        assert np.isnan(output[4]).all()
        close(output[others], numpy(call(*backend.arrays(x, up, gate, down, router)))[others])


# Mixture of experts


def experts_of(weights: Sequence[tuple[Any, Any, Any]]) -> list[Callable[[Any], Any]]:
    return [partial(swiglu, w_gate=gate, w_up=up, w_down=down) for gate, up, down in weights]


def expert_weights(count: int = EXPERTS) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    return [
        (drawn(D_MODEL, D_FF, seed=3 * e), drawn(D_MODEL, D_FF, seed=3 * e + 1), drawn(D_FF, D_OUT, seed=e))
        for e in range(count)
    ]


def token_by_token(x: np.ndarray, router: np.ndarray, weights: Any, top_k: int) -> np.ndarray:
    """Each token asks its experts, one after the other."""
    outputs = []
    for token in x.reshape(-1, x.shape[-1]):
        logits = [math.fsum(token * router[:, e]) for e in range(router.shape[1])]
        chosen = sorted(range(len(logits)), key=lambda e: -logits[e])[:top_k]
        total = math.fsum(math.exp(logits[e]) for e in chosen)
        output = np.zeros(D_OUT)
        for e in chosen:
            gate, up, down = weights[e]
            hidden = token @ gate
            output += math.exp(logits[e]) / total * ((hidden / (1 + np.exp(-hidden)) * (token @ up)) @ down)
        outputs.append(output)
    return np.reshape(outputs, (*x.shape[:-1], D_OUT))


@every_backend
@pytest.mark.parametrize("top_k", [1, 2, EXPERTS])
def test_mixture_of_experts_asks_the_chosen_experts(backend: Backend, top_k: int) -> None:
    x, router, weights = drawn(BATCH, N, D_MODEL), drawn(D_MODEL, EXPERTS), expert_weights()
    experts = experts_of([backend.arrays(*parts) for parts in weights])
    ours = mixture_of_experts(*backend.arrays(x, router), experts, top_k=top_k)
    close(ours, token_by_token(x, router, weights, top_k))


@given(st.integers(0, 7), st.integers(1, 5), st.data())
@few
def test_mixture_of_experts_holds_for_any_number_of_tokens(n: int, experts: int, data: Any) -> None:
    top_k = data.draw(st.integers(1, experts))
    x, router, weights = drawn(n, D_MODEL), drawn(D_MODEL, experts), expert_weights(experts)
    expected = token_by_token(x, router, weights, top_k)
    close(mixture_of_experts(x, router, experts_of(weights), top_k=top_k), expected)
    close(
        mixture_of_experts(
            torch.tensor(x),
            torch.tensor(router),
            experts_of([tuple(map(torch.tensor, parts)) for parts in weights]),  # type: ignore[misc]
            top_k=top_k,
        ),
        expected,
    )


@every_backend
def test_an_expert_is_given_its_tokens_and_no_others(backend: Backend) -> None:
    x, router = drawn(N, D_MODEL), drawn(D_MODEL, EXPERTS)
    asked: list[np.ndarray] = []

    def expert(tokens: Any) -> Any:
        asked.append(numpy(tokens))
        return tokens

    mixture_of_experts(*backend.arrays(x, router), [expert] * EXPERTS, top_k=2)
    assert len(asked) == EXPERTS
    for e, tokens in enumerate(asked):
        chose = [token for token in x if e in np.argsort(token @ router)[-2:]]
        np.testing.assert_array_equal(tokens, np.reshape(chose, (len(chose), D_MODEL)))


@every_backend
def test_an_expert_that_was_not_chosen_adds_nothing_even_if_nan(backend: Backend) -> None:
    x, router, weights = drawn(N, D_MODEL), drawn(D_MODEL, EXPERTS), expert_weights()
    chosen = np.argsort(x @ router)[:, -2:]
    weights[chosen[0, 0]] = tuple(part * np.nan for part in weights[chosen[0, 0]])  # type: ignore[assignment]
    touched = (chosen == chosen[0, 0]).any(axis=1)
    assert 0 < touched.sum() < N
    experts = experts_of([backend.arrays(*parts) for parts in weights])
    output = numpy(mixture_of_experts(*backend.arrays(x, router), experts, top_k=2))
    assert np.isnan(output[touched]).all()
    expected = token_by_token(x[~touched], router, expert_weights(), 2)
    close(output[~touched], expected)


def test_an_expert_that_was_not_chosen_leaves_every_gradient_alone() -> None:
    def gradients(spoiled: float) -> list[torch.Tensor]:
        x, router = learned((N, D_MODEL), (D_MODEL, EXPERTS))
        unused = set(range(EXPERTS)) - set(torch.topk(x @ router, 2).indices.flatten().tolist())
        weights = [
            [torch.tensor(part + (spoiled if e in unused else 0), requires_grad=True) for part in parts]
            for e, parts in enumerate(expert_weights())
        ]
        assert unused
        output = mixture_of_experts(x, router, experts_of(weights), top_k=2)  # type: ignore[arg-type]
        flat = [part for parts in weights for part in parts]
        found = list(torch.autograd.grad(torch.sin(output).sum(), [x, router, *flat]))
        for e in unused:
            assert not any(gradient.any() for gradient in found[2 + 3 * e : 5 + 3 * e])
        return found

    for ours, expected in zip(gradients(np.nan), gradients(0.0), strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=0)


def test_equal_experts_are_chosen_from_the_first(backend: Backend) -> None:
    x, router = backend.arrays(drawn(N, D_MODEL), np.zeros((D_MODEL, 3)))
    experts = [lambda tokens, factor=factor: factor * tokens for factor in (2.0, 4.0, np.nan)]
    close(mixture_of_experts(x, router, experts, top_k=2), 3 * numpy(x))


# Norms


@every_backend
@pytest.mark.parametrize("learns", [False, True], ids=["bare", "learned"])
def test_norms_equal_torch_s(backend: Backend, learns: bool) -> None:
    x = 3 * drawn(BATCH, N, D_MODEL) + 1
    gain, bias = (drawn(D_MODEL), drawn(D_MODEL, seed=1)) if learns else (None, None)
    ours_gain, ours_bias = (None if a is None else backend.array(a) for a in (gain, bias))
    tensor, gain, bias = (None if a is None else torch.tensor(a) for a in (x, gain, bias))
    rms = functional.rms_norm(tensor, (D_MODEL,), gain, eps=1e-3)  # type: ignore[arg-type]
    layer = functional.layer_norm(tensor, (D_MODEL,), gain, bias, eps=1e-3)  # type: ignore[arg-type]
    close(rms_norm(backend.array(x), ours_gain, eps=1e-3), rms)
    close(layer_norm(backend.array(x), ours_gain, ours_bias, eps=1e-3), layer)


def test_norms_of_zeros_are_finite(backend: Backend) -> None:
    zeros = backend.array(np.zeros((N, D_MODEL)))
    for norm in (rms_norm, layer_norm):
        np.testing.assert_array_equal(numpy(norm(zeros)), np.zeros((N, D_MODEL)))


def test_norms_keep_half_precision_that_would_overflow_when_squared(backend: Backend) -> None:
    large = backend.array(np.full((N, D_MODEL), 3e4), "float16")
    output = rms_norm(large, backend.array(np.ones(D_MODEL), "float32"))
    assert output.dtype == large.dtype
    close(output, np.ones((N, D_MODEL)), 1e-3)
    assert layer_norm(large, None, backend.array(np.ones(D_MODEL))).dtype == large.dtype


# The residual stream and the block


def sublayers(backend: Backend) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    w_q, w_k, w_v = (backend.array(drawn(D_MODEL, 6, seed=i)) for i in range(3))
    attention = partial(
        multi_head_attention,
        w_q=w_q,
        w_k=w_k,
        w_v=w_v,
        w_o=backend.array(drawn(6, D_MODEL)),
        heads=3,
        causal=True,
    )
    up, down = backend.arrays(drawn(D_MODEL, D_FF), drawn(D_FF, D_MODEL))
    return attention, partial(feed_forward, w_up=up, w_down=down)


@every_backend
def test_transformer_block_is_two_updates_of_normed_copies(backend: Backend) -> None:
    x, (attention, ffn) = drawn(BATCH, N, D_MODEL), sublayers(Backend("torch"))
    stream = torch.tensor(x)
    for sublayer in (attention, ffn):
        stream = stream + sublayer(functional.rms_norm(stream, (D_MODEL,), eps=1e-6))
    close(transformer_block(backend.array(x), *sublayers(backend)), stream)


@pytest.mark.parametrize("heads", [1, 2])
def test_transformer_block_equals_torch_s_encoder_layer(heads: int) -> None:
    theirs = torch.nn.TransformerEncoderLayer(
        6,
        heads,
        D_FF,
        0.0,
        functional.gelu,
        batch_first=True,
        norm_first=True,
        bias=False,
        dtype=torch.float64,
    )
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(heads))
    module = theirs.self_attn
    w_q, w_k, w_v = (part.T for part in module.in_proj_weight.chunk(3))
    x = torch.tensor(drawn(BATCH, N, 6))
    ours = transformer_block(
        x,
        partial(
            multi_head_attention,
            w_q=w_q,
            w_k=w_k,
            w_v=w_v,
            w_o=module.out_proj.weight.T,
            heads=heads,
            causal=True,
        ),
        partial(feed_forward, w_up=theirs.linear1.weight.T, w_down=theirs.linear2.weight.T),
        attention_norm=partial(layer_norm, gain=theirs.norm1.weight, eps=1e-5),
        ffn_norm=partial(layer_norm, gain=theirs.norm2.weight, eps=1e-5),
    )
    expected = theirs(x, src_mask=torch.nn.Transformer.generate_square_subsequent_mask(N, dtype=x.dtype))
    torch.testing.assert_close(ours, expected, rtol=1e-11, atol=1e-11)


def test_block_steps_add_up_to_the_output(backend: Backend) -> None:
    x, (attention, ffn) = backend.array(drawn(BATCH, N, D_MODEL)), sublayers(backend)
    steps = block_steps(x, attention, ffn)
    close(steps.attention_update, attention(rms_norm(x)))
    close(steps.between, x + steps.attention_update)
    close(steps.ffn_update, ffn(rms_norm(steps.between)))
    close(steps.output, x + steps.attention_update + steps.ffn_update)
    np.testing.assert_array_equal(numpy(steps.output), numpy(transformer_block(x, attention, ffn)))


def test_attention_carries_between_positions_and_the_ffn_does_not(backend: Backend) -> None:
    """Change one token: under a causal mask the attention update changes from there on, the FFN's map only there."""
    attention, ffn = sublayers(backend)
    x = drawn(N, D_MODEL)
    changed = x.copy()
    changed[3] += 1

    def rows_that_change(sublayer: Callable[[Any], Any]) -> list[int]:
        before, after = (numpy(residual(backend.array(a), sublayer).update) for a in (x, changed))
        return np.flatnonzero(np.abs(after - before).max(axis=-1) > 1e-9).tolist()

    assert rows_that_change(ffn) == [3]
    assert rows_that_change(attention) == [3, 4, 5, 6]
    # What reaches the FFN in a block already holds the context that attention gathered.
    both = [block_steps(backend.array(a), attention, ffn).ffn_update for a in (x, changed)]
    assert (np.abs(numpy(both[1]) - numpy(both[0])).max(axis=-1) > 1e-9).tolist() == [False] * 3 + [True] * 4


def test_a_block_whose_updates_are_zero_leaves_the_stream(backend: Backend) -> None:
    x = drawn(N, D_MODEL)
    output = transformer_block(backend.array(x), lambda x: 0 * x, lambda x: 0 * x)
    np.testing.assert_array_equal(numpy(output), x)


def test_inputs_are_never_changed_and_strides_don_t_matter(backend: Backend) -> None:
    x, attention_and_ffn = drawn(BATCH, N, D_MODEL), sublayers(backend)
    array = backend.array(x)
    strided = backend.array(np.repeat(x, 2, axis=1))[:, ::2, :]
    close(transformer_block(strided, *attention_and_ffn), transformer_block(array, *attention_and_ffn))
    np.testing.assert_array_equal(numpy(array), x)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_dtype_that_comes_in_goes_out(backend: Backend, dtype: str) -> None:
    x, up, gate, router = (
        backend.array(a / 4, dtype)
        for a in (drawn(N, D_MODEL), drawn(D_MODEL, D_FF), drawn(D_MODEL, D_FF, seed=1), drawn(D_MODEL, 3))
    )
    down = backend.array(drawn(D_FF, D_MODEL), dtype)
    gated = partial(swiglu, w_gate=gate, w_up=up, w_down=down)
    plain = [partial(feed_forward, w_up=up, w_down=down, activation=name) for name in TORCH_S]
    for sublayer in (
        *plain,
        gated,
        partial(mixture_of_experts, w_router=router, experts=[gated] * 3, top_k=2),
    ):
        assert residual(x, sublayer).stream.dtype == x.dtype


def test_integers_count_as_floating_numbers(backend: Backend) -> None:
    ones = backend.array(np.ones((2, 2), dtype=int))
    close(feed_forward(ones, ones, ones, activation="relu"), np.full((2, 2), 4.0))
    close(rms_norm(3 * ones), np.ones((2, 2)), 1e-6)
    close(residual(ones, lambda x: x, norm=lambda x: x / 2).stream, np.full((2, 2), 1.5))


# Gradients


@pytest.mark.parametrize("activation", TORCH_S)
def test_feed_forward_s_gradients_equal_finite_differences(activation: Any) -> None:
    call = lambda x, up, down, b, c: feed_forward(x, up, down, b_up=b, b_down=c, activation=activation)  # noqa: E731
    assert torch.autograd.gradcheck(call, learned((5, 2), (2, 3), (3, 7), (3,), (7,)))


def test_swiglu_s_gradients_equal_finite_differences() -> None:
    assert torch.autograd.gradcheck(swiglu, learned((5, 2), (2, 3), (2, 3), (3, 7)))


def test_mixture_of_experts_gradients_equal_finite_differences() -> None:
    def call(x: Any, router: Any, *weights: Any) -> Any:
        experts = [
            partial(feed_forward, w_up=up, w_down=down)
            for up, down in zip(weights[::2], weights[1::2], strict=True)
        ]
        return mixture_of_experts(x, router, experts, top_k=2)

    assert torch.autograd.gradcheck(call, learned((5, 2), (2, 3), *([(2, 3), (3, 2)] * 3)))


def test_norms_gradients_equal_finite_differences() -> None:
    assert torch.autograd.gradcheck(rms_norm, learned((2, 5, 3), (3,)))
    assert torch.autograd.gradcheck(layer_norm, learned((2, 5, 3), (3,), (3,)))


def test_transformer_block_s_gradients_equal_finite_differences() -> None:
    def call(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, up: Any, down: Any, gain: Any) -> Any:
        attention = partial(multi_head_attention, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, heads=2, causal=True)
        ffn = partial(feed_forward, w_up=up, w_down=down)
        return transformer_block(x, attention, ffn, ffn_norm=partial(rms_norm, gain=gain))

    assert torch.autograd.gradcheck(call, learned((5, 3), *[(3, 4)] * 3, (4, 3), (3, 2), (2, 3), (3,)))


# Errors


X, UP, DOWN = drawn(N, D_MODEL), drawn(D_MODEL, D_FF), drawn(D_FF, D_OUT)
moe = partial(mixture_of_experts, X, drawn(D_MODEL, 3), [lambda tokens: tokens] * 3, top_k=2)

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "an unknown activation": (
        lambda: feed_forward(X, UP, DOWN, activation="swish"),  # type: ignore[arg-type]
        "activation must be one of 'relu', 'gelu', 'gelu_tanh', 'silu': it is 'swish'",
    ),
    "an activation that is no name": (
        lambda: feed_forward(X, UP, DOWN, activation=["relu"]),  # type: ignore[arg-type]
        "activation must be one of 'relu', 'gelu', 'gelu_tanh', 'silu': it is ['relu']",
    ),
    "x that does not fit": (
        lambda: feed_forward(X[:, 1:], UP, DOWN),
        "x must have as many features as w_up has rows: x has shape (7, 4), w_up has shape (5, 11)",
    ),
    "a down-projection that does not fit": (
        lambda: feed_forward(X, UP, DOWN[1:]),
        "hidden must have as many features as w_down has rows: "
        "hidden has shape (7, 11), w_down has shape (10, 3)",
    ),
    "a bias that does not fit": (
        lambda: feed_forward(X, UP, DOWN, b_up=np.zeros(3)),
        "b_up must broadcast to (..., n, d_ff) = (7, 11): it has shape (3,)",
    ),
    "a bias of the output that does not fit": (
        lambda: feed_forward(X, UP, DOWN, b_down=np.zeros(11)),
        "b_down must broadcast to (..., n, d_out) = (7, 3): it has shape (11,)",
    ),
    "complex numbers": (
        lambda: feed_forward(X + 1j, UP, DOWN),
        "x must hold real numbers: its dtype is complex128",
    ),
    "gate and up of two widths": (
        lambda: swiglu(X, UP, UP[:, 1:], DOWN),
        "w_gate and w_up must have one shape: w_gate has shape (5, 11), w_up has shape (5, 10)",
    ),
    "no expert a token": (
        partial(moe, top_k=0),
        "top_k must lie between 1 and the number of experts, 3: it is 0",
    ),
    "more experts than there are": (
        partial(moe, top_k=4),
        "top_k must lie between 1 and the number of experts, 3: it is 4",
    ),
    "a router of another width": (
        lambda: mixture_of_experts(X, drawn(D_MODEL, 4), [lambda tokens: tokens] * 3, top_k=2),
        "w_router must have a column for each of 3 experts: it has shape (5, 4)",
    ),
    "a router that does not fit x": (
        lambda: mixture_of_experts(X, drawn(D_FF, 3), [lambda tokens: tokens] * 3, top_k=2),
        "x must have as many features as w_router has rows: x has shape (7, 5), w_router has shape (11, 3)",
    ),
    "an expert that loses tokens": (
        lambda: mixture_of_experts(X, drawn(D_MODEL, 1), [lambda tokens: tokens[1:]], top_k=1),
        "experts[0] must map (m, d_model) to (m, d_out): of (7, 5), it made (6, 5)",
    ),
    "experts of two widths": (
        lambda: mixture_of_experts(X, drawn(D_MODEL, 2), [lambda t: t, lambda t: t[:, 1:]], top_k=1),
        "experts must return vectors of one width: they return widths 5, 4",
    ),
    "a gain that does not fit": (
        lambda: rms_norm(X, np.ones(3)),
        "gain must broadcast to (..., n, d_model) = (7, 5): it has shape (3,)",
    ),
    "a bias of a norm that does not fit": (
        lambda: layer_norm(X, None, np.ones(3)),
        "bias must broadcast to (..., n, d_model) = (7, 5): it has shape (3,)",
    ),
    "an eps of 0": (lambda: rms_norm(X, eps=0), "eps must be a positive finite number: it is 0"),
    "an update of another width": (
        lambda: transformer_block(X, lambda x: x, partial(feed_forward, w_up=UP, w_down=DOWN)),
        "ffn must return the shape of x: it returned (7, 3), x has shape (7, 5)",
    ),
    "an update that is no array": (
        lambda: residual(X, lambda x: None),
        "what sublayer returns must be an array (NumPy or Torch): what sublayer returns is NoneType",
    ),
    "an array for a sublayer": (
        lambda: transformer_block(X, lambda x: x, X),
        "ffn must be a function: it is an array of shape (7, 5)",
    ),
    "an expert that returns nothing": (
        lambda: mixture_of_experts(X, drawn(D_MODEL, 2), [lambda t: None] * 2, top_k=1),
        "what experts[0] returns must be an array (NumPy or Torch): what experts[0] returns is NoneType",
    ),
    "a norm that returns nothing": (
        lambda: residual(X, lambda x: x, norm=lambda x: None),
        "what norm returns must be an array (NumPy or Torch): what norm returns is NoneType",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arguments_get_their_sentence(name: str) -> None:
    call, sentence = REFUSED[name]
    assert message(call) == sentence
