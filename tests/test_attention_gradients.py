"""Gradients in Torch: right, finite, and exactly 0 where a Query reads nothing or a Key is masked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from course_lib import (
    attention,
    causal_mask,
    padding_mask,
    qk_norm,
    scale_and_mask,
    soft_cap,
    softmax,
    weighted_sum,
)

N_Q, N_K, D_K, D_V = 3, 5, 2, 7
MASK = torch.tensor([[1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 0]], dtype=torch.bool)
POISON = [np.nan, np.inf, -np.inf]


def learned(*shapes: tuple[int, ...], seed: int = 0) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.normal(size=shape), requires_grad=True) for shape in shapes]


def qkv(*batch: int, seed: int = 0) -> list[torch.Tensor]:
    return learned((*batch, N_Q, D_K), (*batch, N_K, D_K), (*batch, N_K, D_V), seed=seed)


def gradients(output: torch.Tensor, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Those of a sum with different factors, so that none cancels."""
    factors = torch.arange(1.0, 1 + output.numel(), dtype=output.dtype).reshape(output.shape)
    return torch.autograd.grad(output, inputs, grad_outputs=torch.sin(factors))


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "mask with an empty row": {"mask": MASK},
    "floating mask with an empty row": {"mask": torch.where(MASK, 0.5, -np.inf).double()},
    "causal": {"causal": True},
    "causal from the other corner": {"causal": True, "align": "bottom-right"},
    "window": {"window": (1, 1)},
    "window with empty rows": {"window": (0, 0), "align": "bottom-right", "mask": MASK},
    "soft-cap": {"softcap": 0.7, "mask": MASK},
    "scale": {"scale": -2.0},
    "no scale": {"scale": 0.0},
    "all": {"mask": MASK, "causal": True, "window": (2, 0), "softcap": 3.0, "scale": 1.5},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_attention_s_gradients_equal_finite_differences(name: str) -> None:
    options = OPTIONS[name]
    assert torch.autograd.gradcheck(lambda q, k, v: attention(q, k, v, **options), qkv(2))


def test_second_derivatives_equal_finite_differences() -> None:
    inputs = qkv()
    assert torch.autograd.gradgradcheck(lambda q, k, v: attention(q, k, v, mask=MASK, softcap=2.0), inputs)


def test_gradients_of_more_keys_than_queries_and_the_reverse_equal_finite_differences() -> None:
    for n_q, n_k in ((1, 3), (5, 2), (3, 1)):
        inputs = learned((n_q, D_K), (n_k, D_K), (n_k, D_V))
        for align in ("top-left", "bottom-right"):
            call = lambda q, k, v, align=align: attention(q, k, v, causal=True, align=align)  # noqa: E731
            assert torch.autograd.gradcheck(call, inputs)


def test_gradients_over_broadcast_batches_equal_finite_differences() -> None:
    inputs = learned((2, 1, N_Q, D_K), (N_K, D_K), (3, N_K, D_V))
    assert torch.autograd.gradcheck(lambda q, k, v: attention(q, k, v, mask=MASK), inputs)


def test_gradients_of_grouped_heads_equal_finite_differences() -> None:
    inputs = learned((6, N_Q, D_K), (2, N_K, D_K), (2, N_K, D_V))
    assert torch.autograd.gradcheck(lambda q, k, v: attention(q, k, v, enable_gqa=True, mask=MASK), inputs)


def test_gradient_of_a_learned_scale_equals_finite_differences() -> None:
    (scale,) = learned(())
    call = lambda q, k, v, scale: attention(q, k, v, scale=scale, mask=MASK, softcap=2.0)  # noqa: E731
    assert torch.autograd.gradcheck(call, [*qkv(), scale])


def test_gradient_of_a_learned_floating_mask_equals_finite_differences() -> None:
    (bias,) = learned((N_Q, N_K))
    call = lambda q, k, v, bias: attention(q, k, v, mask=bias, causal=True)  # noqa: E731
    assert torch.autograd.gradcheck(call, [*qkv(2), bias])


def test_gradient_of_a_floating_mask_is_zero_where_it_hides() -> None:
    q, k, v = qkv()
    bias = torch.where(MASK, 0.3, -np.inf).double().requires_grad_()
    (found,) = gradients(attention(q, k, v, mask=bias), bias)
    assert torch.all(found[~MASK] == 0)
    assert torch.all(found[MASK] != 0)


def test_gradients_equal_torch_s() -> None:
    for mask in (None, causal_mask(N_Q, N_K, like=MASK), MASK[[0, 2, 0]]):
        inputs = qkv(2)
        ours = gradients(attention(*inputs, mask=mask), *inputs)
        theirs = gradients(functional.scaled_dot_product_attention(*inputs, attn_mask=mask), *inputs)
        for our, their in zip(ours, theirs, strict=True):
            torch.testing.assert_close(our, their, rtol=1e-10, atol=1e-12)


def test_gradient_of_a_weight_by_its_own_logit_is_p_times_one_minus_p() -> None:
    for logits in ([16.0, 8.0, 0.0], [2.0, 1.0, 0.0]):
        row = torch.tensor([logits], dtype=torch.float64)
        jacobian = torch.autograd.functional.jacobian(softmax, row)[0, :, 0]
        weights = softmax(row)[0]
        expected = torch.diag(weights) - weights[:, None] * weights[None, :]
        torch.testing.assert_close(jacobian, expected, rtol=1e-10, atol=1e-14)


def test_gradients_of_a_query_without_keys_are_zero() -> None:
    q, k, v = qkv(2)
    for options in ({"mask": MASK}, {"mask": torch.where(MASK, 0.0, -np.inf)}):
        for found in gradients(attention(q, k, v, **options)[:, 1], q, k, v):
            assert torch.all(found == 0)


def test_gradients_without_any_key_or_query_are_zero() -> None:
    q, k, v = qkv()
    for found in gradients(attention(q, k[:0], v[:0]), q, k, v):
        assert torch.all(found == 0)
    for found in gradients(attention(q[:0], k, v), q, k, v):
        assert torch.all(found == 0)


def test_gradients_stay_finite_for_logits_of_any_size() -> None:
    q, k, v = qkv()
    for size in (1e4, 1e8, -1e8):
        for found in gradients(attention(q, k, v, scale=size, mask=MASK), q, k, v):
            assert torch.all(torch.isfinite(found))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_low_precision_gradients_come_back_in_their_dtype(dtype: torch.dtype) -> None:
    exact = qkv(2)
    low = [array.detach().to(dtype).requires_grad_() for array in exact]
    expected = gradients(attention(*exact, mask=MASK), *exact)
    for found, right in zip(gradients(attention(*low, mask=MASK), *low), expected, strict=True):
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), right, rtol=0.1, atol=0.1)


def test_gradients_of_half_precision_beyond_its_range_stay_finite() -> None:
    big = torch.full((4, 4), 200.0, dtype=torch.float16, requires_grad=True)
    (found,) = gradients(attention(big, big, big), big)
    assert torch.all(torch.isfinite(found))


# NaN and Inf


@pytest.mark.parametrize("poison", POISON)
@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("form", ["boolean", "floating", "window"])
def test_poison_under_the_mask_leaves_every_gradient_as_it_was(
    poison: float, softcap: float | None, form: str
) -> None:
    mask = padding_mask(torch.tensor([3, 4]), N_K)
    hidden = ~mask[:, 0]
    if form == "window":
        hidden = torch.tensor([[False, False, False, True, True]] * 2)
    options: dict[str, Any] = {
        "boolean": {"mask": mask},
        "floating": {"mask": torch.where(mask, 0.25, -np.inf)},
        "window": {"window": (-1, 0)},
    }[form]
    clean = qkv(2)
    poisoned = [array.detach().clone() for array in clean]
    poisoned[1][hidden] = poison
    poisoned[2][hidden] = poison
    expected = gradients(attention(*clean, softcap=softcap, **options), *clean)
    found = gradients(
        attention(*(p.requires_grad_() for p in poisoned), softcap=softcap, **options), *poisoned
    )
    for ours, right in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, right, rtol=1e-12, atol=1e-14)
    for ours in (*found[1:], *expected[1:]):
        assert torch.all(ours[hidden] == 0)


@pytest.mark.parametrize("poison", POISON)
@pytest.mark.parametrize("spoilt", [0, 1, 2], ids=["q", "k", "v"])
def test_poison_leaves_the_gradients_of_everything_else_finite(poison: float, spoilt: int) -> None:
    inputs = [array.detach().clone() for array in learned((2, 5, 3), (2, 5, 3), (2, 5, 3))]
    inputs[spoilt][1, 4] = poison
    found = gradients(attention(*(array.requires_grad_() for array in inputs), causal=True), *inputs)
    for at, gradient in enumerate(found):
        touched = torch.zeros(2, 5, dtype=torch.bool)
        touched[1, 4] = at == spoilt
        assert torch.all(torch.isfinite(gradient[~touched]))
        torch.testing.assert_close(gradient[0], gradients_of_clean_batch(inputs)[at], rtol=1e-12, atol=1e-14)


def gradients_of_clean_batch(inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    first = [array[0].detach().requires_grad_() for array in inputs]
    return gradients(attention(*first, causal=True), *first)


@pytest.mark.parametrize("poison", POISON)
def test_queries_before_a_poisoned_key_keep_their_gradients(poison: float) -> None:
    clean = learned((5, 3), (5, 3), (5, 3))
    expected = gradients(attention(*clean, causal=True)[:4], *clean)
    poisoned = [array.detach().clone() for array in clean]
    poisoned[1][4], poisoned[2][4] = poison, poison
    found = gradients(attention(*(p.requires_grad_() for p in poisoned), causal=True)[:4], *poisoned)
    for ours, right in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, right, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("poison", POISON)
def test_poison_under_the_mask_leaves_a_learned_scale_s_and_gain_s_gradient(poison: float) -> None:
    mask = torch.tensor([True, True, False, True, True])

    def found(spoil: bool) -> tuple[torch.Tensor, ...]:
        q, k, v = (array.detach() for array in qkv())
        q_gain, k_gain, scale = learned((D_K,), (D_K,), ())
        if spoil:
            k[2], v[2] = poison, poison
        q, k = qk_norm(q, k, q_gain=q_gain, k_gain=k_gain)
        return gradients(attention(q, k, v, mask=mask, scale=scale), q_gain, k_gain, scale)

    for ours, right in zip(found(True), found(False), strict=True):
        torch.testing.assert_close(ours, right, rtol=1e-12, atol=1e-14)


def test_poisoned_weights_leave_the_other_rows_gradients() -> None:
    weights, v = learned((3, 5), (5, 7))
    spoilt = weights.detach().clone()
    spoilt[1, 2] = np.nan
    spoilt.requires_grad_()
    for ours, right in zip(
        gradients(weighted_sum(spoilt, v)[[0, 2]], spoilt, v),
        gradients(weighted_sum(weights, v)[[0, 2]], weights, v),
        strict=True,
    ):
        torch.testing.assert_close(ours, right, rtol=1e-12, atol=1e-14)


# QK norm and soft-cap


@pytest.mark.parametrize("kind", ["rms", "layer", "l2"])
def test_qk_norm_s_gradients_equal_finite_differences(kind: Any) -> None:
    inputs = learned((2, 3, 5), (7, 5), (5,), (1,))

    def call(q: torch.Tensor, k: torch.Tensor, q_gain: torch.Tensor, k_gain: torch.Tensor) -> Any:
        return qk_norm(q, k, kind=kind, q_gain=q_gain, k_gain=k_gain)

    assert torch.autograd.gradcheck(call, inputs)


@pytest.mark.parametrize("kind", ["rms", "layer", "l2"])
def test_qk_norm_s_gradients_at_a_zero_vector_are_finite(kind: Any) -> None:
    q, k = (torch.zeros(3, 5, requires_grad=True) for _ in range(2))
    for found in gradients(torch.cat(qk_norm(q, k, kind=kind)), q, k):
        assert torch.all(torch.isfinite(found))


def test_l2_norm_with_one_learned_scale_learns_it() -> None:
    inputs = [*qkv(), *learned((), seed=1)]

    def call(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        q, k = qk_norm(q, k, kind="l2")
        return attention(q, k, v, scale=scale)

    assert torch.autograd.gradcheck(call, inputs)
    (found,) = gradients(call(*inputs), inputs[-1])
    assert found != 0


@pytest.mark.parametrize("shape", [(), (1,)])
def test_learned_scale_may_be_a_parameter_of_another_dtype(shape: tuple[int, ...]) -> None:
    scale = torch.nn.Parameter(torch.full(shape, 2.0))
    q, k, v = (array.detach().half() for array in qkv())
    output = attention(q, k, v, scale=scale)
    assert output.dtype == torch.float16
    (found,) = gradients(output, scale)
    assert found.dtype == torch.float32
    assert found.shape == shape
    assert torch.isfinite(found)
    assert found != 0


def test_soft_cap_s_gradient_is_one_at_zero_and_gone_far_out() -> None:
    (scores,) = learned((3, 5))
    assert torch.autograd.gradcheck(lambda scores: soft_cap(scores, 2.0), [scores])
    ends = torch.tensor([0.0, 5000.0, -5000.0], dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(soft_cap(ends, 50.0).sum(), ends)
    assert found.tolist() == [1.0, 0.0, 0.0]


def test_scale_and_mask_s_gradient_is_the_scale_where_allowed() -> None:
    (scores,) = learned((N_Q, N_K))
    logits = scale_and_mask(scores, 1 / math.sqrt(D_K), MASK)
    (found,) = torch.autograd.grad(logits, scores, grad_outputs=torch.ones_like(logits))
    torch.testing.assert_close(found, MASK.double() / math.sqrt(D_K))
