"""Whichever way attention() takes, it gives what the plain formula gives: blocks in NumPy, the kernel in Torch."""

from __future__ import annotations

import importlib
import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
import pytest
import torch
from conftest import Backend, message, numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from course_lib import attention, causal_mask, explain
from course_lib.attention import steps

# How far the output may be from that of explain(): the rounding of the dtype, and nothing else.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
N_Q, N_K, D_K, D_V = 5, 7, 3, 2


def drawn(*batch: int, n_q: int = N_Q, n_k: int = N_K, d_k: int = D_K, d_v: int = D_V) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(*batch, *last)) for last in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]


def tensors(*arrays: np.ndarray, dtype: str = "float64") -> list[torch.Tensor]:
    return [torch.tensor(array).to(getattr(torch, dtype)) for array in arrays]


def plain(q: Any, k: Any, v: Any, **options: Any) -> Any:
    none = {
        "mask": None,
        "causal": False,
        "align": "top-left",
        "window": None,
        "scale": None,
        "softcap": None,
    }
    return steps(q, k, v, **(none | {"enable_gqa": False} | options)).output  # type: ignore[arg-type]


def assert_close(found: Any, expected: Any, tolerance: float) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    found, expected = numpy(found).astype("float64"), numpy(expected).astype("float64")
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# The same output


@st.composite
def calls(draw: st.DrawFn, most: int) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Any inputs and options that attention() takes."""
    n_q, n_k = draw(st.integers(0, most)), draw(st.integers(0, most))
    batch = draw(st.sampled_from([(), (2,), (2, 6), (1, 2, 6)]))
    grouped = draw(st.booleans()) and batch[-1:] == (6,)
    seed = draw(st.integers(0, 99))
    rng = np.random.default_rng(seed)
    d_k, d_v = draw(st.sampled_from([(8, 8), (3, 5), (1, 2)]))
    batch_kv = (*batch[:-1], 2) if grouped else draw(st.sampled_from([batch, batch[1:], ()]))
    q = rng.normal(size=(*batch, n_q, d_k))
    k, v = rng.normal(size=(*batch_kv, n_k, d_k)), rng.normal(size=(*batch_kv, n_k, d_v))
    if draw(st.booleans()) and n_k:
        k[..., draw(st.integers(0, n_k - 1)), 0] = draw(st.sampled_from([np.nan, np.inf]))
        v[..., draw(st.integers(0, n_k - 1)), 0] = draw(st.sampled_from([np.nan, -np.inf]))
    sides = st.tuples(st.integers(-1, most), st.integers(-1, most))
    options = {
        "causal": draw(st.booleans()),
        "align": draw(st.sampled_from(["top-left", "bottom-right"])),
        "window": draw(st.none() | sides),
        "scale": draw(st.none() | st.floats(-2, 2)),
        "softcap": draw(st.none() | st.floats(0.5, 5)),
        "mask": draw(masks(rng, batch, n_q, n_k)),
        "enable_gqa": grouped,
    }
    return [q, k, v], options


@st.composite
def masks(draw: st.DrawFn, rng: np.random.Generator, batch: tuple[int, ...], n_q: int, n_k: int) -> Any:
    form = draw(st.sampled_from([None, "boolean", "floating"]))
    shape = draw(
        st.sampled_from([(n_q, n_k), (n_k,), (n_q, 1), (1, n_k), (*batch, n_q, n_k), (*batch, 1, n_k)])
    )
    allowed = rng.random(shape) < draw(st.sampled_from([0.2, 0.9]))
    return {None: None, "boolean": allowed, "floating": np.where(allowed, rng.normal(size=shape), -np.inf)}[
        form
    ]


def assert_equal_to_plain(
    backend: Backend, dtype: str, call: tuple[list[np.ndarray], dict[str, Any]]
) -> None:
    inputs, options = call
    if options["mask"] is not None:
        options["mask"] = backend.array(options["mask"])
    if backend.name == "torch":
        q, k, v = tensors(*inputs, dtype=dtype)
    else:
        q, k, v = (array.astype(dtype) for array in inputs)
    assert_close(attention(q, k, v, **options), plain(q, k, v, **options), TOLERANCE[dtype])


@settings(max_examples=120, deadline=None, derandomize=True)
@given(calls(most=9), st.sampled_from(["float64", "float32", "float16"]))
def test_blocks_in_numpy_give_the_plain_formula(
    call: tuple[list[np.ndarray], dict[str, Any]], dtype: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # The name course_lib.attention is the function; its module is what is patched.
        patch.setattr(importlib.import_module("course_lib.attention"), "_WORTH_BLOCKS", 0)
        assert_equal_to_plain(Backend("numpy"), dtype, call)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(calls(most=2).filter(lambda call: call[0][0].size < 100))
def test_long_sequences_in_numpy_give_the_plain_formula(
    call: tuple[list[np.ndarray], dict[str, Any]],
) -> None:
    inputs, options = call
    long = [np.resize(array, (*array.shape[:-2], 300, array.shape[-1])) for array in inputs if array.size]
    if len(long) == 3:
        assert_equal_to_plain(Backend("numpy"), "float32", (long, options | {"mask": None}))


@settings(max_examples=250, deadline=None, derandomize=True)
@given(calls(most=9), st.sampled_from(["float64", "float32", "float16", "bfloat16"]))
def test_torch_gives_the_plain_formula(call: tuple[list[np.ndarray], dict[str, Any]], dtype: str) -> None:
    assert_equal_to_plain(Backend("torch"), dtype, call)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(calls(most=6))
def test_torch_gives_the_definition(call: tuple[list[np.ndarray], dict[str, Any]]) -> None:
    (q, k, v), options = call
    if options["enable_gqa"] or not np.all(np.isfinite(k)) or not np.all(np.isfinite(v)):
        return
    mask, n_q, n_k = options["mask"], q.shape[-2], k.shape[-2]
    definition = {"scale": options["scale"], "softcap": options["softcap"]}
    allowed = oracle.allowed_keys(n_q, n_k, **{key: options[key] for key in ("causal", "align", "window")})
    if mask is not None:
        definition["bias"] = (
            np.where(mask > -np.inf, mask, 0) + np.zeros((n_q, n_k)) if mask.dtype != bool else None
        )
        allowed = allowed & (mask if mask.dtype == bool else mask > -np.inf)
        options["mask"] = torch.tensor(mask)
    expected = oracle.attention(q, k, v, allowed=allowed, **definition)
    found = attention(*tensors(q, k, v), **options)
    np.testing.assert_allclose(numpy(found), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_asking_for_the_steps_changes_the_output_by_rounding_alone(dtype: str) -> None:
    long = drawn(2, n_q=300, n_k=270, d_k=64, d_v=64)
    for options in ({}, {"causal": True}, {"scale": 0.5}, {"window": (5, 0)}):
        q, k, v = tensors(*long, dtype=dtype)
        assert_close(attention(q, k, v, **options), explain(q, k, v, **options).output, TOLERANCE[dtype])
        if dtype != "bfloat16":
            q, k, v = (array.astype(dtype) for array in long)
            assert_close(attention(q, k, v, **options), explain(q, k, v, **options).output, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("causal", [False, True])
def test_error_of_low_precision_is_at_most_twice_the_plain_formula_s(dtype: str, causal: bool) -> None:
    exact = tensors(*drawn(2, 2, n_q=300, n_k=300, d_k=64, d_v=64))
    q, k, v = (array.to(getattr(torch, dtype)) for array in exact)
    right = plain(*(array.double() for array in (q, k, v)), causal=causal)
    # Every step in the low precision itself.
    logits = q @ k.mT / math.sqrt(64)
    if causal:
        logits = logits.masked_fill(~causal_mask(300, 300, like=q), -math.inf)
    naive = torch.softmax(logits, dim=-1) @ v
    error = (attention(q, k, v, causal=causal).double() - right).abs().max()
    assert error <= 2 * (naive.double() - right).abs().max()


def test_torch_s_own_samples_give_what_its_attention_gives() -> None:
    # Only here: loading torch's samples of all operators takes seconds.
    from torch.testing._internal.common_methods_invocations import op_db

    (info,) = (info for info in op_db if info.name == "nn.functional.scaled_dot_product_attention")
    count = 0
    for dtype in TOLERANCE:
        for sample in info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=False):
            options = dict(sample.kwargs)
            if options.pop("dropout_p", 0.0):
                continue
            expected = functional.scaled_dot_product_attention(sample.input, *sample.args, **options)
            ours = {"attn_mask": "mask", "is_causal": "causal"}
            options = {ours.get(name, name): option for name, option in options.items()}
            found = attention(sample.input, *sample.args, **options)
            # Logits of these samples reach 100, which costs float32 a digit; half precision is raised to it.
            tolerance = 20 * TOLERANCE[dtype] if dtype == "float32" else TOLERANCE[dtype]
            assert_close(found, expected, tolerance)
            assert_close(plain(sample.input, *sample.args, **options), expected, tolerance)
            count += 1
    assert count >= 4 * 13


# Which way


@pytest.fixture
def kernel_calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Grows by one for each call of torch's kernel."""
    found: list[dict[str, Any]] = []
    kernel = functional.scaled_dot_product_attention

    def counted(*arrays: Any, **options: Any) -> Any:
        found.append(options)
        return kernel(*arrays, **options)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", counted)
    return found


ALLOWED = torch.tensor([[True] * N_K] * (N_Q - 1) + [[False] * N_K])
FUSED: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"causal": True},
    "causal from the other corner": {"causal": True, "align": "bottom-right"},
    "window": {"window": (2, 1)},
    "scale": {"scale": 0.5},
    "boolean mask": {"mask": ALLOWED},
    "boolean mask and causal": {"mask": ALLOWED, "causal": True},
    "floating mask": {"mask": torch.where(ALLOWED, 0.5, -math.inf).double()},
    "mask of one axis": {"mask": ALLOWED[0]},
}
NOT_FUSED: dict[str, dict[str, Any]] = {
    "soft-cap": {"softcap": 2.0},
    "negative scale": {"scale": -0.5},
    "no scale": {"scale": 0.0},
    "learned scale": {"scale": torch.tensor(0.5)},
    "learned mask": {"mask": torch.zeros(N_Q, N_K, dtype=torch.float64, requires_grad=True)},
    "mask with NaN": {"mask": torch.full((N_Q, N_K), math.nan, dtype=torch.float64)},
    "mask with Inf": {"mask": torch.full((N_Q, N_K), math.inf, dtype=torch.float64)},
    "mask of another dtype": {"mask": torch.zeros(N_Q, N_K, dtype=torch.float32)},
}


@pytest.mark.parametrize("name", FUSED)
def test_torch_s_kernel_runs_where_it_computes_the_same(
    name: str, kernel_calls: list[dict[str, Any]]
) -> None:
    q, k, v = tensors(*drawn(2, 2))
    output = attention(q, k, v, **FUSED[name])
    assert len(kernel_calls) == 1
    assert_close(output, plain(q, k, v, **FUSED[name]), 1e-12)
    assert len(kernel_calls) == 1


@pytest.mark.parametrize("name", NOT_FUSED)
def test_torch_s_kernel_does_not_run_where_it_computes_something_else(
    name: str, kernel_calls: list[dict[str, Any]]
) -> None:
    q, k, v = tensors(*drawn(2, 2))
    assert_close(attention(q, k, v, **NOT_FUSED[name]), plain(q, k, v, **NOT_FUSED[name]), 1e-12)
    assert not kernel_calls


@pytest.mark.parametrize("spoilt", [0, 1, 2], ids=["q", "k", "v"])
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf, 1e300])
def test_torch_s_kernel_gets_no_nan_no_inf_and_nothing_that_becomes_one(
    spoilt: int, poison: float, kernel_calls: list[dict[str, Any]]
) -> None:
    inputs = tensors(*drawn(2, 2))
    inputs[spoilt][0, 0, -1, 0] = poison
    output = attention(*inputs, causal=True)
    assert not kernel_calls
    assert_close(output, plain(*inputs, causal=True), 1e-12)
    # The last Query or Key is read by nobody before it.
    assert torch.all(torch.isfinite(output[0, 0, : N_Q - 1]))


def test_causal_attention_gives_the_kernel_no_mask_to_read(kernel_calls: list[dict[str, Any]]) -> None:
    q, k, v = tensors(*drawn(2, 2, n_k=N_Q))
    attention(q, k, v, causal=True)
    attention(q, k, v, causal=True, align="bottom-right")
    attention(q, k, v)
    assert [(call["attn_mask"], call["is_causal"]) for call in kernel_calls] == [
        (None, True),
        (None, True),
        (None, False),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"align": "left"},
        {"window": (1,)},
        {"window": ()},
        {"scale": math.nan},
        {"scale": "1"},
        {"softcap": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize("causal", [False, True])
def test_what_is_refused_is_refused_on_every_way(wrong: dict[str, Any], causal: bool) -> None:
    short, long = drawn(), drawn(n_q=300, n_k=300)
    calls: list[Callable[[], Any]] = [
        lambda: plain(*short, causal=causal, **wrong),
        lambda: attention(*short, causal=causal, **wrong),
        lambda: attention(*long, causal=causal, **wrong),
        lambda: attention(*tensors(*long), causal=causal, **wrong),
    ]
    assert len({message(call) for call in calls}) == 1


def test_scale_of_one_number_in_an_array_serves_long_sequences_too() -> None:
    q, k, v = drawn(n_q=300, n_k=300)
    assert_close(attention(q, k, v, scale=np.array([0.3])), plain(q, k, v, scale=0.3), 1e-12)
    with pytest.raises(ValueError, match="scale must be one number"):
        attention(q, k, v, scale=np.ones(2))


def test_long_sequences_in_numpy_take_less_memory_than_their_scores() -> None:
    q, k, v = drawn(n_q=2048, n_k=2048)
    attention(q, k, v)
    tracemalloc.start()
    attention(q, k, v)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2048 * 2048 * 8 / 2


# Gradients


@pytest.mark.parametrize("n", [N_Q, 130])
@pytest.mark.parametrize("name", FUSED)
def test_gradients_through_torch_s_kernel_are_the_plain_formula_s(name: str, n: int) -> None:
    options = dict(FUSED[name])
    if "mask" in options and n != N_Q:
        options["mask"] = (
            options["mask"].repeat_interleave(n // N_Q, dim=0)
            if options["mask"].ndim > 1
            else options["mask"]
        )
    inputs = [array.requires_grad_() for array in tensors(*drawn(2, 2, n_q=n, d_k=8, d_v=8))]
    outputs = attention(*inputs, **options), plain(*inputs, **options)
    factors = torch.sin(torch.arange(outputs[0].numel(), dtype=torch.float64)).reshape(outputs[0].shape)
    ours, right = (torch.autograd.grad(output, inputs, grad_outputs=factors) for output in outputs)
    for found, expected in zip(ours, right, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


def test_gradients_through_torch_s_kernel_are_zero_where_nothing_is_read(
    kernel_calls: list[dict[str, Any]],
) -> None:
    mask = torch.ones(N_Q, N_K, dtype=torch.bool)
    mask[1], mask[:, 4] = False, False
    for form in (mask, torch.where(mask, 0.25, -math.inf).double()):
        q, k, v = (array.requires_grad_() for array in tensors(*drawn(2, 2)))
        output = attention(q, k, v, mask=form)
        found = torch.autograd.grad(output.sum(), (q, k, v))
        assert torch.all(output[..., 1, :] == 0)
        assert torch.all(found[0][..., 1, :] == 0)
        assert all(torch.all(gradient[..., 4, :] == 0) for gradient in found[1:])
        assert all(torch.all(torch.isfinite(gradient)) for gradient in found)
    assert len(kernel_calls) == 2


def test_second_derivatives_come_from_torch_s_own_plain_kernel() -> None:
    inputs = [array.requires_grad_() for array in tensors(*drawn(1, 2, d_v=D_K))]
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert torch.autograd.gradgradcheck(attention, inputs)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", FUSED)
def test_kernels_of_the_gpu_give_the_plain_formula(name: str, dtype: str) -> None:
    q, k, v = (array.cuda() for array in tensors(*drawn(2, 2, d_k=8, d_v=8), dtype=dtype))
    options = {key: option.cuda() if key == "mask" else option for key, option in FUSED[name].items()}
    if "mask" in options and options["mask"].dtype == torch.float64:
        options["mask"] = options["mask"].to(q.dtype)
    assert_close(attention(q, k, v, **options), plain(q, k, v, **options), TOLERANCE[dtype])
