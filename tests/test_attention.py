"""The four operations and attention() against the definition, on NumPy and on Torch."""

from __future__ import annotations

import inspect
import math
import re
from typing import Any

import array_api_compat
import numpy as np
import oracle
import pytest
import torch
from conftest import Backend, close, every_backend, numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import course_lib
from course_lib import attention, scale_and_mask, scores, softmax, weighted_sum
from course_lib.attention import steps

N_Q, N_K, D_K, D_V = 3, 5, 2, 7
NONE_ALLOWED = 1
MASK = np.array([[1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 0]], dtype=bool)
BIAS = np.where(MASK, np.arange(15.0).reshape(3, 5) / 4, -np.inf)
NO_OPTIONS: dict[str, Any] = {
    "mask": None,
    "causal": False,
    "align": "top-left",
    "window": None,
    "scale": None,
    "softcap": None,
    "enable_gqa": False,
}

few = settings(max_examples=60, deadline=None, derandomize=True)


def drawn(*batch: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=(*batch, *last)) for last in ((N_Q, D_K), (N_K, D_K), (N_K, D_V)))  # type: ignore


# The definition


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "boolean mask": ({"mask": MASK}, {"allowed": MASK}),
    "floating mask": ({"mask": BIAS}, {"allowed": MASK, "bias": np.where(MASK, BIAS, 0)}),
    "causal": ({"causal": True}, {"allowed": oracle.allowed_keys(N_Q, N_K, causal=True)}),
    "causal from the other corner": (
        {"causal": True, "align": "bottom-right"},
        {"allowed": oracle.allowed_keys(N_Q, N_K, causal=True, align="bottom-right")},
    ),
    "window": ({"window": (1, 2)}, {"allowed": oracle.allowed_keys(N_Q, N_K, window=(1, 2))}),
    "all masks": (
        {"mask": MASK, "causal": True, "window": (1, -1)},
        {"allowed": MASK & oracle.allowed_keys(N_Q, N_K, causal=True, window=(1, -1))},
    ),
    "floating mask and causal": (
        {"mask": BIAS, "causal": True},
        {
            "allowed": MASK & oracle.allowed_keys(N_Q, N_K, causal=True),
            "bias": np.where(MASK, BIAS, 0),
        },
    ),
    "scale": ({"scale": -3.0}, {"scale": -3.0}),
    "soft-cap": (
        {"scale": 7.0, "softcap": 2.0, "mask": MASK},
        {"scale": 7.0, "softcap": 2.0, "allowed": MASK},
    ),
}


@every_backend
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("batch", [(), (2, 11)], ids=["single", "batch"])
def test_attention_matches_the_definition(backend: Backend, case: str, batch: tuple[int, ...]) -> None:
    options, selection = CASES[case]
    q, k, v = drawn(*batch)
    if "mask" in options:
        options = options | {"mask": backend.array(options["mask"])}
    output = attention(*backend.arrays(q, k, v), **options)
    close(output, oracle.attention(q, k, v, **selection))


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Inputs in any layout, and a selection of Keys: lengths from 0, masks with empty rows, any scale."""
    n_q, n_k, d_k, d_v = (draw(st.integers(least, 4)) for least in (0, 0, 1, 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    batch_q, batch_k, batch_v, batch_mask = draw(st.sampled_from(BATCHES))
    layout = draw(st.sampled_from(sorted(LAYOUTS)))
    size = draw(st.sampled_from([0.1, 1.0, 30.0]))
    shapes = {"q": (*batch_q, n_q, d_k), "k": (*batch_k, n_k, d_k), "v": (*batch_v, n_k, d_v)}
    arrays = {name: LAYOUTS[layout](size * rng.normal(size=shape)) for name, shape in shapes.items()}
    mask = rng.random((*batch_mask, n_q, n_k)) < draw(st.sampled_from([0.0, 0.4, 0.9]))
    window = st.tuples(st.integers(-1, 3), st.integers(-1, 3))
    return arrays | {
        "mask": draw(st.sampled_from([mask, None])),
        "causal": draw(st.booleans()),
        "align": draw(st.sampled_from(["top-left", "bottom-right"])),
        "window": draw(st.none() | window),
        "scale": draw(st.sampled_from([None, 0.0, -0.5, 1.0])),
        "softcap": draw(st.sampled_from([None, 0.5, 50.0])),
    }


BATCHES = [((), (), (), ()), ((2,), (2,), (2,), ()), ((3, 1), (2,), (1, 2), (2,)), ((), (5,), (), (2, 1))]
LAYOUTS = {
    "contiguous": lambda array: array,
    "transposed": lambda array: np.ascontiguousarray(np.swapaxes(array, -1, -2)).swapaxes(-1, -2),
    "strided": lambda array: np.repeat(np.repeat(array, 2, axis=-1), 3, axis=-2)[..., ::3, ::2],
}


@few
@given(problem=problems())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_attention_matches_the_definition_on_random_problems(
    backend: Backend, dtype: str, problem: dict[str, Any]
) -> None:
    arrays = [problem[name].astype(dtype, order="K") for name in "qkv"]
    n_q, n_k = arrays[0].shape[-2], arrays[1].shape[-2]
    chosen = {name: problem[name] for name in ("causal", "align", "window")}
    allowed = oracle.allowed_keys(n_q, n_k, **chosen)
    if problem["mask"] is not None:
        allowed = allowed & problem["mask"]
    shared = {name: problem[name] for name in ("scale", "softcap")}
    mask = None if problem["mask"] is None else backend.array(problem["mask"])
    native = [torch.from_numpy(array) if backend.name == "torch" else array for array in arrays]
    output = attention(*native, mask=mask, **chosen, **shared)
    expected = oracle.attention(*arrays, allowed=allowed, **shared)
    assert numpy(output).dtype == dtype
    # Where a logit is off by so many ulps of itself, its weight is by as many of its own.
    q, k, v = (np.abs(array).max(initial=0.0) for array in arrays)
    scale = 1 / math.sqrt(arrays[0].shape[-1]) if problem["scale"] is None else abs(problem["scale"])
    ulps = 8 + q * k * arrays[0].shape[-1] * scale
    assert np.all(np.abs(numpy(output) - expected) <= ulps * np.finfo(dtype).eps * v)


@few
@given(problem=problems())
def test_weights_sum_to_one_and_are_exactly_zero_where_masked(
    backend: Backend, problem: dict[str, Any]
) -> None:
    options = NO_OPTIONS | {name: problem[name] for name in ("causal", "align", "window", "scale", "softcap")}
    q, k, v = backend.arrays(*(problem[name] for name in "qkv"))
    mask = None if problem["mask"] is None else backend.array(problem["mask"])
    weights = numpy(steps(q, k, v, **(options | {"mask": mask})).weights)
    allowed = oracle.allowed_keys(
        q.shape[-2], k.shape[-2], **{name: problem[name] for name in ("causal", "align", "window")}
    )
    allowed = np.broadcast_to(
        allowed if problem["mask"] is None else allowed & problem["mask"], weights.shape
    )
    assert np.all(weights[~allowed] == 0)
    assert np.all(weights >= 0)
    np.testing.assert_allclose(weights.sum(axis=-1), allowed.any(axis=-1), rtol=1e-12)


@few
@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_attention_reads_keys_and_values_as_a_set(
    backend: Backend, problem: dict[str, Any], seed: int
) -> None:
    q, k, v = (problem[name] for name in "qkv")
    order = np.random.default_rng(seed).permutation(k.shape[-2])
    mask = np.ones((q.shape[-2], k.shape[-2]), bool) if problem["mask"] is None else problem["mask"]
    output = attention(*backend.arrays(q, k, v), mask=backend.array(mask))
    shuffled = backend.arrays(q, k[..., order, :], v[..., order, :])
    close(attention(*shuffled, mask=backend.array(mask[..., order])), numpy(output))


@few
@given(seed=st.integers(0, 2**32 - 1), shift=st.floats(-1e4, 1e4))
def test_softmax_does_not_see_a_shift_of_a_row(backend: Backend, seed: int, shift: float) -> None:
    logits = np.random.default_rng(seed).normal(size=(2, N_Q, N_K))
    close(softmax(backend.array(logits + shift)), numpy(softmax(backend.array(logits))), rtol=1e-10)


# Which Keys: polarity, empty rows, order, intersection


def test_attention_gives_zero_where_a_query_may_attend_to_no_key(backend: Backend) -> None:
    q, k, v = backend.arrays(*drawn(2))
    for mask in (MASK, BIAS):
        found = steps(q, k, v, **(NO_OPTIONS | {"mask": backend.array(mask)}))
        assert np.all(numpy(found.weights)[:, NONE_ALLOWED] == 0)
        assert np.all(numpy(found.output)[:, NONE_ALLOWED] == 0)
        close(numpy(found.weights).sum(axis=-1), [[1, 0, 1]] * 2)


def test_boolean_mask_true_means_may_attend(backend: Backend) -> None:
    q, k, v = backend.arrays(*drawn())
    only_third = backend.array([[False, False, True, False, False]] * N_Q)
    close(attention(q, k, v, mask=only_third), numpy(v)[[2, 2, 2]])


def test_floating_mask_is_added(backend: Backend) -> None:
    logits = scale_and_mask(backend.array([[1.0, 2.0, 3.0]]), 0.5, backend.array([[0.0, 0.25, -np.inf]]))
    assert numpy(logits).tolist() == [[0.5, 1.25, -np.inf]]


def test_finite_fill_is_added_and_not_taken_for_a_mask(backend: Backend) -> None:
    q, k, v = backend.arrays(*drawn())
    filled = attention(q, k, v, mask=backend.array(np.full((N_Q, N_K), -1e9)))
    close(filled, numpy(attention(q, k, v)), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_integer_mask_is_refused(backend: Backend, dtype: str) -> None:
    q, k, v = backend.arrays(*drawn())
    with pytest.raises(
        ValueError, match=r"mask must be boolean .* or floating .*its dtype is (torch.)?u?int"
    ):
        attention(q, k, v, mask=backend.array(MASK, dtype))


def test_mask_hides_a_key_below_every_finite_fill(backend: Backend) -> None:
    # The allowed scores lie below -1e9 and finfo.min would be no fill for them.
    q, k, v = np.array([[1.0]]), np.array([[-1e300], [-1e300], [5.0]]), np.array([[1.0], [3.0], [1e3]])
    output = attention(*backend.arrays(q, k, v), mask=backend.array([[True, True, False]]))
    assert numpy(output).tolist() == [[2.0]]


def test_mask_of_infinities_leaves_allowed_cells_finite(backend: Backend) -> None:
    logits = scale_and_mask(backend.array(np.zeros((N_Q, N_K))), mask=backend.array(BIAS))
    assert np.array_equal(np.isfinite(numpy(logits)), MASK)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_fill_beyond_the_range_of_the_scores_masks_without_a_warning(backend: Backend, dtype: str) -> None:
    fill = backend.array(np.where(MASK, 0.0, np.finfo(np.float64).min))
    logits = scale_and_mask(backend.array(np.zeros((N_Q, N_K)), dtype), mask=fill)
    assert np.array_equal(numpy(logits) == -np.inf, ~MASK)


def test_order_is_scale_then_cap_then_mask(backend: Backend) -> None:
    raw, mask = backend.array([[8.0, -3.0, 1e4]]), backend.array([[0.0, 1.5, -np.inf]])
    logits = scale_and_mask(raw, scale=0.5, mask=mask, softcap=2.0)
    close(logits, [[2 * math.tanh(4 / 2), 2 * math.tanh(-1.5 / 2) + 1.5, -np.inf]])


def test_softcap_does_not_leak_through_the_mask(backend: Backend) -> None:
    # A cap after the mask would leave e^-1 of the hidden Key.
    found = steps(*backend.arrays(*drawn()), **(NO_OPTIONS | {"mask": backend.array(MASK), "softcap": 1.0}))
    assert np.all(numpy(found.weights)[~MASK] == 0)


@pytest.mark.parametrize("mask", [MASK, BIAS], ids=["boolean", "floating"])
def test_mask_causal_and_window_intersect(backend: Backend, mask: np.ndarray) -> None:
    q, k, v = backend.arrays(*drawn())
    options = NO_OPTIONS | {"mask": backend.array(mask), "causal": True, "window": (1, 3)}
    expected = (
        MASK & oracle.allowed_keys(N_Q, N_K, causal=True) & oracle.allowed_keys(N_Q, N_K, window=(1, 3))
    )
    assert np.array_equal(numpy(steps(q, k, v, **options).weights) > 0, expected)


def test_causal_alignment_with_fewer_keys_than_queries_leaves_the_first_queries_empty(
    backend: Backend,
) -> None:
    rng = np.random.default_rng(0)
    q, k, v = backend.arrays(rng.normal(size=(5, 3)), rng.normal(size=(2, 3)), rng.normal(size=(2, 7)))
    output = numpy(attention(q, k, v, causal=True, align="bottom-right"))
    assert np.all(output[:3] == 0)
    close(output[3], numpy(v)[0])


@pytest.mark.parametrize(
    "shape", [(5,), (1,), (), (3, 1), (3, 5), (2, 1, 1, 5), (2, 1, 3, 5), (2, 11, 3, 5), (11, 3, 1), (1, 5)]
)
@pytest.mark.parametrize("kind", ["boolean", "floating"])
def test_mask_broadcasts_to_the_scores(backend: Backend, shape: tuple[int, ...], kind: str) -> None:
    q, k, v = drawn(2, 11)
    allowed = np.random.default_rng(1).random(shape) < 0.7
    mask = allowed if kind == "boolean" else np.where(allowed, 0.0, -np.inf)
    output = attention(*backend.arrays(q, k, v), mask=backend.array(mask))
    close(output, oracle.attention(q, k, v, allowed=np.broadcast_to(allowed, (2, 11, 3, 5))))


def test_mask_may_bring_batch_axes(backend: Backend) -> None:
    q, k, v = drawn()
    masks = np.stack([MASK, ~MASK])
    output = attention(*backend.arrays(q, k, v), mask=backend.array(masks))
    close(output, np.stack([oracle.attention(q, k, v, allowed=mask) for mask in masks]))


def test_batch_axes_broadcast(backend: Backend) -> None:
    q, k, v = drawn(11, 1)[0], drawn(2)[1], drawn(1, 2)[2]
    output = attention(*backend.arrays(q, k, v))
    assert tuple(output.shape) == (11, 2, N_Q, D_V)
    close(output, oracle.attention(q, k, v))


# NaN and Inf


POISON = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("poison", POISON)
@pytest.mark.parametrize("where", ["k", "v", "k and v"])
@pytest.mark.parametrize("softcap", [None, 2.0])
def test_poison_under_the_mask_is_gone(
    backend: Backend, poison: float, where: str, softcap: float | None
) -> None:
    q, k, v = drawn(2)
    mask = np.array([True, True, False, True, True])
    bad_k, bad_v = k.copy(), v.copy()
    if "k" in where:
        bad_k[:, 2, 1] = poison
    if "v" in where:
        bad_v[:, 2] = poison
    for form in (mask, np.where(mask, 0.0, -np.inf)):
        poisoned = attention(*backend.arrays(q, bad_k, bad_v), mask=backend.array(form), softcap=softcap)
        clean = attention(*backend.arrays(q, k, v), mask=backend.array(form), softcap=softcap)
        close(poisoned, numpy(clean))


@pytest.mark.parametrize("poison", POISON)
@pytest.mark.parametrize("options", [{"causal": True}, {"window": (2, 0)}], ids=["causal", "window"])
def test_poison_reaches_only_the_queries_that_may_attend_to_it(
    backend: Backend, poison: float, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, 7, 3)) for _ in range(3))
    expected = numpy(attention(*backend.arrays(q, k, v), **options))
    allowed = oracle.allowed_keys(7, 7, **options)
    for at in (3, 6):
        for spoilt in (0, 1):
            arrays = [q, k.copy(), v.copy()]
            arrays[1 + spoilt][1, at] = poison
            output = numpy(attention(*backend.arrays(*arrays), **options))
            reached = np.zeros((2, 7), bool)
            reached[1] = allowed[:, at]
            close(output[~reached], expected[~reached])
            assert not np.any(np.isfinite(output[reached]))


def test_poison_in_one_value_component_stays_in_its_column(backend: Backend) -> None:
    weights = backend.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    v = backend.array([[1.0, np.inf, np.nan, 2.0], [3.0, 1.0, 1.0, -np.inf], [4.0, 5.0, 6.0, 7.0]])
    output = numpy(weighted_sum(weights, v))
    np.testing.assert_array_equal(output, [[2.0, np.inf, np.nan, -np.inf], [4.0, 5.0, 6.0, 7.0]])


def test_weighted_sum_of_both_infinities_is_nan_and_a_sign_turns_infinity(backend: Backend) -> None:
    v = backend.array([[np.inf], [-np.inf]])
    output = weighted_sum(backend.array([[0.5, 0.5], [-1.0, 0.0], [0.0, -1.0], [0.0, 0.0]]), v)
    np.testing.assert_array_equal(numpy(output), [[np.nan], [-np.inf], [np.inf], [0.0]])


def test_nan_weight_wins_over_an_infinite_value(backend: Backend) -> None:
    weights, v = backend.arrays([[np.nan, 0.5], [0.5, 0.5]], [[np.inf, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(numpy(weighted_sum(weights, v)), [[np.nan, np.nan], [np.inf, 1.0]])


@pytest.mark.parametrize("poison", POISON)
def test_scores_are_nan_where_and_only_where_a_query_or_key_is_poisoned(
    backend: Backend, poison: float
) -> None:
    q, k, _ = drawn(2)
    bad_q, bad_k = q.copy(), k.copy()
    bad_q[1, 2, 0], bad_k[0, 4, 1] = poison, poison
    expected = q @ k.swapaxes(-1, -2)
    expected[1, 2], expected[0, :, 4] = np.nan, np.nan
    close(scores(*backend.arrays(bad_q, bad_k)), expected)


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_softmax_keeps_nan_in_its_row_and_masked_places_at_zero(backend: Backend, poison: float) -> None:
    weights = softmax(backend.array([[poison, 1.0, -np.inf], [1.0, 1.0, -np.inf], [-np.inf] * 3]))
    np.testing.assert_array_equal(numpy(weights), [[np.nan, np.nan, 0], [0.5, 0.5, 0], [0, 0, 0]])


def test_garbage_that_overflows_under_the_mask_is_gone_without_a_warning(backend: Backend) -> None:
    q, k, v = drawn()
    k[2] = 1e300
    mask = np.array([True, True, False, True, True])
    expected = oracle.attention(1e100 * q, k, v, allowed=np.broadcast_to(mask, (N_Q, N_K)), scale=1e-100)
    close(attention(*backend.arrays(1e100 * q, k, v), mask=backend.array(mask), scale=1e-100), expected)


# Numbers: large logits, low precision, scale


def test_softmax_survives_logits_of_any_size(backend: Backend) -> None:
    weights = softmax(backend.array([[1e4, 1e4 + 1], [-1e4, -1e4 - 1], [1e308, -1e308], [1e4, -1e4]]))
    p = 1 / (1 + math.e)
    close(weights, [[p, 1 - p], [1 - p, p], [1, 0], [1, 0]])


def test_softmax_measures_from_the_highest_allowed_key(backend: Backend) -> None:
    # Measured from the hidden 1e4, both allowed exponentials would be 0.
    q, k, v = backend.arrays([[1.0]], [[-1e4], [-1e4], [1e4]], [[1.0], [2.0], [1e3]])
    close(attention(q, k, v, scale=1.0, mask=backend.array([True, True, False])), [[1.5]])


def test_weights_of_a_square_sum_to_one_over_keys_not_over_queries(backend: Backend) -> None:
    weights = numpy(softmax(backend.array(np.random.default_rng(0).normal(size=(5, 5)))))
    close(weights.sum(axis=-1), np.ones(5))
    assert np.abs(weights.sum(axis=0) - 1).max() > 0.1


def test_half_precision_scores_beyond_its_range_stay_finite(backend: Backend) -> None:
    big = backend.array(np.full((4, 4), 200.0), "float16")
    output = attention(big, big, big)
    assert output.dtype == big.dtype
    assert np.all(numpy(output) == 200)
    assert np.all(numpy(scores(big, big)) == 160000)


def test_softmax_in_half_precision_sums_in_float32(backend: Backend) -> None:
    # The sum of 70000 ones is beyond float16.
    weights = softmax(backend.array(np.zeros((1, 70000)), "float16"))
    assert numpy(weights).dtype == np.float16
    np.testing.assert_allclose(numpy(weights), 1 / 70000, rtol=0.01)


def test_overflow_is_infinite_without_a_warning(backend: Backend) -> None:
    huge = backend.array([[1e308, 1e308]])
    assert numpy(scores(huge, huge)).tolist() == [[np.inf]]
    assert numpy(scale_and_mask(huge, 10.0)).tolist() == [[np.inf, np.inf]]
    assert numpy(weighted_sum(backend.array([[1.0, 1.0]]), huge.T)).tolist() == [[np.inf]]


def plain_formula(q: Any, k: Any, v: Any) -> Any:
    """The formula in the inputs' own precision from end to end, on Torch."""
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("size", [1.0, 4.0])
def test_low_precision_error_is_at_most_twice_the_plain_formula_s(dtype: torch.dtype, size: float) -> None:
    rng = np.random.default_rng(0)
    shapes = ((2, 61, 17), (2, 67, 17), (2, 67, 13))
    q, k, v = (torch.tensor(size * rng.normal(size=shape)).to(dtype) for shape in shapes)
    exact = plain_formula(q.double(), k.double(), v.double())
    allowed_error = 2 * (plain_formula(q, k, v).double() - exact).abs().max()
    output = attention(q, k, v)
    assert output.dtype == dtype
    assert (output.double() - exact).abs().max() <= allowed_error
    if dtype != torch.bfloat16:
        in_numpy = torch.tensor(attention(q.numpy(), k.numpy(), v.numpy()))
        assert in_numpy.dtype == dtype
        assert (in_numpy.double() - exact).abs().max() <= allowed_error


def test_default_scale_is_one_over_root_d_k(backend: Backend) -> None:
    q, k, v = backend.arrays(*drawn(2))
    explicit = attention(q, k, v, scale=1 / math.sqrt(D_K))
    assert np.array_equal(numpy(attention(q, k, v)), numpy(explicit))
    assert np.abs(numpy(attention(q, k, v, scale=1 / math.sqrt(D_V))) - numpy(explicit)).max() > 1e-3


def test_scale_of_zero_weighs_allowed_keys_alike(backend: Backend) -> None:
    found = steps(*backend.arrays(*drawn()), **(NO_OPTIONS | {"scale": 0, "mask": backend.array(MASK)}))
    close(found.weights, MASK / np.maximum(MASK.sum(axis=-1, keepdims=True), 1))


def test_negative_scale_reverses_the_ranking_and_a_positive_one_keeps_it(backend: Backend) -> None:
    q, k, v = backend.arrays(*drawn())
    ranking = np.argsort(numpy(scores(q, k)), axis=-1)
    for scale, expected in ((0.1, ranking), (3.0, ranking), (-0.1, ranking[:, ::-1])):
        weights = numpy(steps(q, k, v, **(NO_OPTIONS | {"scale": scale})).weights)
        assert np.array_equal(np.argsort(weights, axis=-1), expected)


@pytest.mark.parametrize("scale", [np.float64(0.25), np.float32(0.25), np.int64(1), 1])
@pytest.mark.parametrize("name", ["scale", "softcap"])
def test_number_of_any_kind_leaves_the_dtype(backend: Backend, name: str, scale: Any) -> None:
    logits = scale_and_mask(backend.array([[1.0, 2.0]], "float32"), **{name: scale})
    assert numpy(logits).dtype == np.float32


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_scale_may_be_an_array_of_one_number(backend: Backend, shape: tuple[int, ...]) -> None:
    q, k, v = (backend.array(array, "float32") for array in drawn())
    output = attention(q, k, v, scale=backend.array(np.full(shape, 0.3)))
    close(output, numpy(attention(q, k, v, scale=0.3)), rtol=1e-6)
    assert output.dtype == q.dtype


# Empty axes, dtypes, layouts, inputs left alone


@every_backend
def test_no_keys_give_zeros_and_no_queries_an_empty_output(backend: Backend) -> None:
    q, k, v = drawn(2)
    for options in ({}, {"causal": True}, {"window": (1, 1), "align": "bottom-right"}, {"softcap": 2.0}):
        no_keys = attention(*backend.arrays(q, k[:, :0], v[:, :0]), **options)
        assert numpy(no_keys).tolist() == np.zeros((2, N_Q, D_V)).tolist()
        assert tuple(attention(*backend.arrays(q[:, :0], k, v), **options).shape) == (2, 0, D_V)
    assert tuple(attention(*backend.arrays(q, k, v[..., :0])).shape) == (2, N_Q, 0)
    assert tuple(attention(*backend.arrays(q[:0], k[:0], v[:0])).shape) == (0, N_Q, D_V)
    for batch in ((0,), (2, 0), (0, 2), (5, 0, 1)):
        mask = backend.array(np.ones((*batch, N_Q, N_K), dtype=bool))
        q, k, v = drawn(*[1] * len(batch))
        shape = tuple(attention(*backend.arrays(q, k, v), mask=mask, causal=True).shape)
        assert shape == (*batch, N_Q, D_V)


def test_without_components_every_score_is_zero_and_the_values_are_averaged(backend: Backend) -> None:
    q, k, v = drawn()
    output = attention(*backend.arrays(q[:, :0], k[:, :0], v))
    close(output, np.broadcast_to(v.mean(axis=0), (N_Q, D_V)))


def test_integers_are_not_truncated(backend: Backend) -> None:
    q, k, v = np.array([[1, 0, 1, 0]]), np.eye(3, 4, dtype=int), np.array([[1, 0], [0, 1], [1, 1]])
    output = attention(*backend.arrays(q, k, v))
    assert numpy(output).dtype == {"numpy": np.float64, "torch": np.float32}[backend.name]
    close(output, oracle.attention(q, k, v), rtol=1e-6)
    assert numpy(softmax(backend.array([[0, 0]]))).tolist() == [[0.5, 0.5]]
    assert numpy(weighted_sum(*backend.arrays([[1, 2]], [[3], [4]]))).tolist() == [[11.0]]


@pytest.mark.parametrize(
    "dtypes",
    [("float32", "float64", "float32"), ("float16", "float16", "float32"), ("int8", "float32", "int64")],
)
def test_mixed_dtypes_follow_the_library_s_promotion(backend: Backend, dtypes: tuple[str, ...]) -> None:
    q, k, v = (backend.array(4 * array, dtype) for array, dtype in zip(drawn(), dtypes, strict=True))
    expected = backend.xp.result_type(q.dtype, k.dtype, v.dtype)
    assert attention(q, k, v).dtype == expected


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("mask_dtype", ["bool", "float16", "float64"])
def test_dtype_library_and_device_come_back(backend: Backend, dtype: str, mask_dtype: str) -> None:
    q, k, v = (backend.array(array, dtype) for array in drawn())
    output = attention(q, k, v, mask=backend.array(MASK, mask_dtype), causal=True, softcap=3.0)
    assert type(output) is type(q)
    assert output.dtype == q.dtype
    assert array_api_compat.device(output) == array_api_compat.device(q)


def test_inputs_are_never_changed(backend: Backend) -> None:
    q, k, v = backend.arrays(*drawn(2))
    for mask in (backend.array(MASK), backend.array(BIAS)):
        before = [numpy(array).copy() for array in (q, k, v, mask)]
        attention(q, k, v, mask=mask, causal=True, window=(1, 1), softcap=1.0)
        for array, kept in zip((q, k, v, mask), before, strict=True):
            assert np.array_equal(numpy(array), kept)


def test_single_operations_never_change_their_input(backend: Backend) -> None:
    logits = backend.array([[np.nan, 1.0], [-np.inf, -np.inf]])
    v = backend.array([[np.nan], [np.inf]])
    kept = numpy(logits).copy(), numpy(v).copy()
    softmax(logits)
    scale_and_mask(logits, 2.0, backend.array([True, False]), 3.0)
    weighted_sum(softmax(logits), v)
    scores(logits, logits)
    np.testing.assert_array_equal(numpy(logits), kept[0])
    np.testing.assert_array_equal(numpy(v), kept[1])


def test_read_only_reversed_and_broadcast_views_are_read() -> None:
    q, k, v = drawn(2)
    k_reversed, v_reversed = k[:, ::-1].copy()[:, ::-1], v[:, ::-1].copy()[:, ::-1]
    for array in (q, k_reversed):
        array.flags.writeable = False
    close(attention(q, k_reversed, v_reversed), attention(q, k, v))
    shared = np.broadcast_to(k[0], k.shape)
    close(attention(q, shared, v), oracle.attention(q, k[0], v))


@pytest.mark.parametrize("n", [7, 300])
def test_attention_is_the_same_in_every_call(backend: Backend, n: int) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (backend.array(rng.normal(size=(2, n, 5)), "float32") for _ in range(3))
    first = numpy(attention(q, k, v, causal=True))
    assert all(np.array_equal(numpy(attention(q, k, v, causal=True)), first) for _ in range(3))


def test_no_function_drops_out() -> None:
    # What a seed decides can't be checked: dropout belongs to a training loop.
    for name in course_lib.__all__:
        assert not re.search("drop|seed|rng", str(inspect.signature(getattr(course_lib, name))))


def test_steps_are_the_four_operations_and_end_in_attention_s_output(backend: Backend) -> None:
    q, k, v = backend.arrays(*drawn(2))
    mask = backend.array(MASK)
    found = steps(q, k, v, **(NO_OPTIONS | {"mask": mask, "softcap": 2.0}))
    by_hand = scores(q, k)
    assert np.array_equal(numpy(found.scores), numpy(by_hand))
    by_hand = scale_and_mask(by_hand, 1 / math.sqrt(D_K), mask, 2.0)
    assert np.array_equal(numpy(found.logits), numpy(by_hand))
    assert np.array_equal(numpy(found.weights), numpy(softmax(by_hand)))
    assert np.array_equal(numpy(found.output), numpy(weighted_sum(softmax(by_hand), v)))
    assert np.array_equal(numpy(found.output), numpy(attention(q, k, v, mask=mask, softcap=2.0)))


# Grouped queries


def test_grouped_heads_repeat_in_place(backend: Backend) -> None:
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(2, 6, 3, 5)), rng.normal(size=(2, 2, 7, 5)), rng.normal(size=(2, 2, 7, 11))
    output = numpy(attention(*backend.arrays(q, k, v), enable_gqa=True))
    close(output, oracle.attention(q, np.repeat(k, 3, axis=1), np.repeat(v, 3, axis=1)))
    tiled = oracle.attention(q, np.tile(k, (1, 3, 1, 1)), np.tile(v, (1, 3, 1, 1)))
    assert np.abs(output - tiled).max() > 1e-2


def test_grouped_heads_take_a_mask_of_the_query_heads(backend: Backend) -> None:
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(6, 3, 2)), rng.normal(size=(2, 5, 2)), rng.normal(size=(2, 5, 7))
    mask = rng.random((6, 3, 5)) < 0.6
    output = attention(*backend.arrays(q, k, v), mask=backend.array(mask), enable_gqa=True)
    close(output, oracle.attention(q, np.repeat(k, 3, axis=0), np.repeat(v, 3, axis=0), allowed=mask))


# Torch's own functions, where they compute the same


@pytest.mark.parametrize(
    "options",
    [{}, {"mask": MASK}, {"mask": BIAS}, {"causal": True}, {"scale": 0.3}, {"mask": MASK, "scale": -1.0}],
    ids=["plain", "boolean", "floating", "causal", "scale", "mask and scale"],
)
def test_attention_equals_torch_s(options: dict[str, Any]) -> None:
    q, k, v = (torch.tensor(array) for array in drawn(2, 3))
    mask = None if "mask" not in options else torch.tensor(options["mask"])
    ours = attention(q, k, v, **(options | {"mask": mask}))
    theirs = functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=options.get("causal", False), scale=options.get("scale")
    )
    close(ours, theirs.numpy())


def test_grouped_attention_equals_torch_s() -> None:
    rng = np.random.default_rng(0)
    shapes = ((2, 6, 3, 5), (2, 2, 7, 5), (2, 2, 7, 11))
    q, k, v = (torch.tensor(rng.normal(size=shape)) for shape in shapes)
    theirs = functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    close(attention(q, k, v, enable_gqa=True), theirs.numpy())


def test_softmax_equals_torch_s() -> None:
    logits = torch.tensor(np.random.default_rng(0).normal(size=(2, N_Q, N_K)))
    close(softmax(logits), torch.softmax(logits, dim=-1).numpy())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_attention_on_the_gpu_equals_the_cpu_s_and_stays_there() -> None:
    q, k, v = (torch.tensor(array, device="cuda") for array in drawn(2))
    scale = torch.tensor(0.3)
    output = attention(q, k, v, mask=torch.tensor(MASK, device="cuda"), causal=True, scale=scale)
    assert output.device == q.device
    expected = attention(q.cpu(), k.cpu(), v.cpu(), mask=torch.tensor(MASK), causal=True, scale=scale)
    close(output, expected.numpy(), rtol=1e-10)
