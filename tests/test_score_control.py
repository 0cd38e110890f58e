"""Soft-cap and QK norm: their formulas, their bounds, what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Backend, close, every_backend, numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from course_lib import attention, qk_norm, scale_and_mask, scores, soft_cap

few = settings(max_examples=60, deadline=None, derandomize=True)
kinds = pytest.mark.parametrize("kind", ["rms", "layer", "l2"])
N_Q, N_K, D_K = 3, 5, 7


def drawn(*batch: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(*batch, N_Q, D_K)), rng.normal(size=(*batch, N_K, D_K))


def norm_by_hand(vector: list[float], kind: str, eps: float) -> list[float]:
    """One vector, in plain loops."""
    if kind == "layer":
        mean = math.fsum(vector) / len(vector)
        vector = [component - mean for component in vector]
    size = math.fsum(component**2 for component in vector) / (1 if kind == "l2" else len(vector))
    return [component / math.sqrt(size + eps) for component in vector]


# Soft-cap


@every_backend
def test_soft_cap_is_cap_times_tanh(backend: Backend) -> None:
    values = [[-1e4, -50.0, -1.0, 0.0, 2.0, 75.0]]
    close(soft_cap(backend.array(values)), [[50 * math.tanh(a / 50) for a in values[0]]])
    close(soft_cap(backend.array(values), 3.0), [[3 * math.tanh(a / 3) for a in values[0]]])


def test_soft_cap_reaches_its_bound_in_floating_point(backend: Backend) -> None:
    assert numpy(soft_cap(backend.array([[500.0, -500.0]], "float32"), 50.0)).tolist() == [[50.0, -50.0]]
    assert numpy(soft_cap(backend.array([[np.inf, -np.inf]]), 50.0)).tolist() == [[50.0, -50.0]]


@few
@given(
    values=st.lists(st.floats(-1e30, 1e30), min_size=2, max_size=7),
    cap=st.sampled_from([0.5, 30.0, 50.0]),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_soft_cap_stays_within_its_bound_and_keeps_the_order(
    backend: Backend, values: list[float], cap: float, dtype: str
) -> None:
    capped = numpy(soft_cap(backend.array(sorted(values), dtype), cap))
    assert np.all(np.abs(capped) <= cap)
    # tanh itself may fall by an ulp between neighbours.
    assert np.all(np.diff(capped) >= -4 * np.finfo(dtype).eps * cap)


@pytest.mark.parametrize("n", [5, 300])
@pytest.mark.parametrize(("dtype", "cap"), [("float16", 1e-9), ("float32", 1e-60), ("float64", 5e-324)])
def test_soft_cap_too_small_for_the_dtype_leaves_the_mean(
    backend: Backend, n: int, dtype: str, cap: float
) -> None:
    q = backend.array(np.zeros((n, 4)), dtype)  # scores of exactly 0 among the rest
    k, v = backend.array(np.ones((n, 4)), dtype), backend.array(np.linspace(0, 1, n)[:, None], dtype)
    close(attention(q, k, v, softcap=cap), np.full((n, 1), 0.5), rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("cap", [1e-6, 1e-3, 0.7, 50.0, 60000.0, 70000.0, 1e6])
def test_soft_cap_and_scaling_in_half_precision_round_once(backend: Backend, cap: float) -> None:
    halves = backend.array([[-65504.0, -3.0, -0.01, 0.0, 6e-5, 1.0, 777.0, 3e4]], "float16")
    # A scale of 4 takes the largest beyond float16, before the cap brings them back.
    for scale, found in ((1, soft_cap(halves, cap)), (4, scale_and_mask(halves, 4, softcap=cap))):
        assert found.dtype == halves.dtype
        for a, ours in zip(numpy(halves)[0].tolist(), numpy(found)[0], strict=True):
            right = cap * math.tanh(scale * a / cap)
            if abs(right) < 65520:
                # float32 may tip what lies halfway between two numbers of float16.
                assert abs(float(ours) - right) <= 0.501 * np.spacing(np.abs(ours))
            else:
                assert float(ours) == math.copysign(math.inf, right)


@pytest.mark.parametrize("n", [5, 300])
@pytest.mark.parametrize(("dtype", "cap"), [("float16", 1e6), ("float32", 1e39), ("float64", 1.7e308)])
def test_soft_cap_too_large_for_the_dtype_caps_nothing(
    backend: Backend, n: int, dtype: str, cap: float
) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (backend.array(rng.normal(size=(n, 4)), dtype) for _ in range(3))
    close(
        attention(q, k, v, softcap=cap), numpy(attention(q, k, v)), rtol=1e-3 if dtype == "float16" else 1e-6
    )


def test_soft_cap_leaves_small_scores_nearly_alone(backend: Backend) -> None:
    close(soft_cap(backend.array([[0.5, -0.5]]), 50.0), [[0.5, -0.5]], rtol=1e-4)


def test_soft_cap_keeps_shape_dtype_and_input(backend: Backend) -> None:
    for shape in ((), (3,), (2, 3, 5)):
        given_scores = backend.array(np.full(shape, 70.0), "float32")
        capped = soft_cap(given_scores)
        assert tuple(capped.shape) == shape
        assert capped.dtype == given_scores.dtype
        assert np.all(numpy(given_scores) == 70)
    assert numpy(soft_cap(backend.array([70]))).dtype.kind == "f"


def test_attention_without_a_softcap_is_uncapped(backend: Backend) -> None:
    q, k = drawn()
    q, k, v = backend.arrays(9 * q, 9 * k, k)
    plain = numpy(attention(q, k, v))
    assert np.array_equal(numpy(attention(q, k, v, softcap=None)), plain)
    assert np.abs(numpy(attention(q, k, v, softcap=1.0)) - plain).max() > 0.1


@pytest.mark.parametrize("cap", [0, -1.0, math.nan, math.inf, "50", None, True, [50.0], 1j], ids=repr)
def test_a_cap_that_is_no_positive_number_is_refused(backend: Backend, cap: Any) -> None:
    with pytest.raises(ValueError) as caught:
        soft_cap(backend.array([[1.0]]), cap)
    assert str(caught.value) == f"cap must be a positive finite number: it is {cap!r}"


# QK norm


@every_backend
@kinds
@pytest.mark.parametrize("eps", [None, 0.25])
def test_qk_norm_matches_its_formula(backend: Backend, kind: Any, eps: float | None) -> None:
    q, k = drawn()
    default = 1e-12 if kind == "l2" else 1e-6
    for given_array, found in zip((q, k), qk_norm(*backend.arrays(q, k), kind=kind, eps=eps), strict=True):
        close(
            found, [norm_by_hand(row, kind, default if eps is None else eps) for row in given_array.tolist()]
        )


def test_qk_norm_equals_torch_s_norms() -> None:
    rng = np.random.default_rng(0)
    q, k, q_gain, k_gain = (torch.tensor(rng.normal(size=size)) for size in ((2, 3, 7), (2, 5, 7), 7, 7))
    gains = {"q_gain": q_gain, "k_gain": k_gain}
    theirs: dict[Any, Any] = {
        "rms": lambda array, gain: functional.rms_norm(array, (7,), gain, eps=1e-6),
        "layer": lambda array, gain: functional.layer_norm(array, (7,), gain, eps=1e-6),
        "l2": lambda array, gain: gain * functional.normalize(array, dim=-1),
    }
    for kind, norm in theirs.items():
        found = qk_norm(q, k, kind=kind, **gains)
        close(found[0], norm(q, q_gain).numpy(), rtol=1e-11)
        close(found[1], norm(k, k_gain).numpy(), rtol=1e-11)


def test_qk_norm_is_rms_by_default(backend: Backend) -> None:
    q, k = backend.arrays(*drawn())
    for plain, named in zip(qk_norm(q, k), qk_norm(q, k, kind="rms"), strict=True):
        assert np.array_equal(numpy(plain), numpy(named))


@kinds
def test_each_gain_scales_its_own_array(backend: Backend, kind: Any) -> None:
    q, k = backend.arrays(*drawn(2))
    gain = np.arange(1.0, D_K + 1)
    plain_q, plain_k = qk_norm(q, k, kind=kind)
    for shape in ((D_K,), (1, D_K)):
        with_q = qk_norm(q, k, kind=kind, q_gain=backend.array(gain.reshape(shape)))
        close(with_q[0], numpy(plain_q) * gain)
        close(with_q[1], numpy(plain_k))
    with_k = qk_norm(q, k, kind=kind, k_gain=backend.array(3.0))
    close(with_k[0], numpy(plain_q))
    close(with_k[1], numpy(plain_k) * 3)


@few
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-3, 1.0, 1e4]))
@kinds
def test_qk_norm_bounds_a_logit_by_its_gains(backend: Backend, kind: Any, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    q, k, q_gain, k_gain = backend.arrays(
        size * rng.normal(size=(N_Q, D_K)), size * rng.normal(size=(N_K, D_K)), *rng.normal(size=(2, D_K))
    )
    learned = rng.normal()
    if kind == "l2":
        logits, bound = learned * numpy(scores(*qk_norm(q, k, kind=kind))), abs(learned)
    else:
        normed = qk_norm(q, k, kind=kind, q_gain=q_gain, k_gain=k_gain)
        logits = numpy(scores(*normed)) / math.sqrt(D_K)
        bound = math.sqrt(D_K) * np.abs(numpy(q_gain)).max() * np.abs(numpy(k_gain)).max()
    assert np.all(np.abs(logits) <= bound * (1 + 1e-9))


def test_without_a_bound_on_the_gains_a_logit_has_none(backend: Backend) -> None:
    q = backend.array(np.ones((1, D_K)))
    gain = backend.array(np.full(D_K, 100.0))
    normed = qk_norm(q, q, q_gain=gain, k_gain=gain)
    close(scores(*normed), [[100 * 100 * D_K]], rtol=1e-5)


def test_logit_of_equal_rms_normed_vectors_reaches_root_d_k(backend: Backend) -> None:
    q = backend.array(np.full((1, D_K), 5.0))
    close(numpy(scores(*qk_norm(q, q))) / math.sqrt(D_K), [[math.sqrt(D_K)]], rtol=1e-6)


@kinds
def test_qk_norm_does_not_see_the_magnitude(backend: Backend, kind: Any) -> None:
    q, k = drawn()
    for size in (10.0, 1e6):
        found = qk_norm(*backend.arrays(size * q, size * k), kind=kind)
        for ours, plain in zip(found, qk_norm(*backend.arrays(q, k), kind=kind), strict=True):
            close(ours, numpy(plain), rtol=1e-4)


@kinds
def test_qk_norm_of_a_zero_vector_is_zero(backend: Backend, kind: Any) -> None:
    zeros = backend.array(np.zeros((2, D_K)), "float32")
    for found in qk_norm(zeros, zeros, kind=kind):
        assert np.all(numpy(found) == 0)


@kinds
@pytest.mark.parametrize("shape", [(0, 7), (3, 0), (0, 3, 7)])
def test_qk_norm_of_empty_arrays_is_empty(backend: Backend, kind: Any, shape: tuple[int, ...]) -> None:
    for found in qk_norm(*backend.arrays(np.zeros(shape), np.zeros(shape)), kind=kind):
        assert tuple(found.shape) == shape


@kinds
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_qk_norm_keeps_poison_in_its_own_vector(backend: Backend, kind: Any, poison: float) -> None:
    q, k = drawn()
    expected = numpy(qk_norm(*backend.arrays(q, k), kind=kind)[1]).copy()
    k[2, 3] = poison
    found = numpy(qk_norm(*backend.arrays(q, k), kind=kind)[1])
    expected[2] = np.nan
    close(found, expected)


@kinds
def test_qk_norm_in_half_precision_squares_in_float32(backend: Backend, kind: Any) -> None:
    # 300 squared is beyond float16.
    big = backend.array([[300.0, -300.0, 300.0, 300.0]], "float16")
    for found in qk_norm(big, big, kind=kind, q_gain=backend.array(1.0, "float64")):
        assert found.dtype == big.dtype
        exact = norm_by_hand([300.0, -300.0, 300.0, 300.0], kind, 1e-6)
        close(found, [exact], rtol=1e-3)


def test_qk_norm_keeps_its_inputs_and_promotes_integers(backend: Backend) -> None:
    q, k = backend.arrays([[3, 4]], [[6, 8]])
    unit_q, unit_k = qk_norm(q, k, kind="l2")
    close(unit_q, [[0.6, 0.8]], rtol=1e-6)
    close(unit_k, [[0.6, 0.8]], rtol=1e-6)
    assert numpy(q).tolist() == [[3, 4]]


# What QK norm refuses


def message(backend: Backend, **arguments: Any) -> str:
    q, k = backend.arrays(*drawn())
    with pytest.raises(ValueError) as caught:
        qk_norm(**({"q": q, "k": k} | arguments))
    return str(caught.value).replace("torch.", "")


@pytest.mark.parametrize("kind", ["RMS", "L2", "", None, ["rms"]], ids=repr)
def test_another_kind_is_refused(backend: Backend, kind: Any) -> None:
    assert message(backend, kind=kind) == f"kind must be one of 'rms', 'layer', 'l2': it is {kind!r}"


@pytest.mark.parametrize("eps", [0, -1e-6, math.nan, math.inf, "1e-6", True], ids=repr)
def test_an_eps_that_is_no_positive_number_is_refused(backend: Backend, eps: Any) -> None:
    assert message(backend, eps=eps) == f"eps must be a positive finite number: it is {eps!r}"


def test_vectors_of_two_lengths_are_refused(backend: Backend) -> None:
    short = backend.array(np.zeros((N_K, 2)))
    assert message(backend, k=short) == "q and k must share d_k: q has shape (3, 7), k has shape (5, 2)"
    flat = backend.array(np.zeros(D_K))
    assert message(backend, q=flat) == "q must have shape (..., n, d_k): it has shape (7,)"


@pytest.mark.parametrize("shape", [(2,), (3,), (2, 7), (5, 1), (2, 3, 1, 1, 2)])
def test_a_gain_that_does_not_broadcast_is_refused(backend: Backend, shape: tuple[int, ...]) -> None:
    text = f"q_gain must broadcast to (..., n, d_k) = (3, 7): it has shape {shape}"
    assert message(backend, q_gain=backend.array(np.ones(shape))) == text


def test_a_gain_never_multiplies_one_vector_into_several(backend: Backend) -> None:
    q = backend.array(np.ones((1, D_K)))
    text = "q_gain must broadcast to (..., n, d_k) = (1, 7): it has shape (3, 1)"
    assert message(backend, q=q, q_gain=backend.array(np.ones((3, 1)))) == text


@pytest.mark.parametrize("value", [2.0, [1.0], "1"], ids=repr)
def test_a_gain_that_is_no_array_is_refused(backend: Backend, value: Any) -> None:
    text = f"k_gain must be an array (NumPy or Torch): k_gain is {type(value).__name__}"
    assert message(backend, k_gain=value).startswith(text)


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_values_that_are_no_real_numbers_are_refused(backend: Backend, dtype: str) -> None:
    bad = backend.array(np.ones((1, D_K)), dtype)
    for name in ("q", "k", "q_gain", "k_gain"):
        assert message(backend, **{name: bad}) == f"{name} must hold real numbers: its dtype is {dtype}"


def test_a_gain_of_another_library_or_device_is_refused() -> None:
    q = torch.ones(3, 7)
    with pytest.raises(ValueError, match="q and q_gain must be arrays of one library"):
        qk_norm(q, q, q_gain=np.ones(7))
    with pytest.raises(
        ValueError, match="q and q_gain must be on one device: q is on cpu, q_gain is on meta"
    ):
        qk_norm(q, q, q_gain=torch.ones(7, device="meta"))
