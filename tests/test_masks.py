"""Masks cell by cell, their broadcasting, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import oracle
import pytest
import torch
from conftest import Backend, every_backend, numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import additive_mask, attention, causal_mask, padding_mask, scores, window_mask

few = settings(max_examples=100, deadline=None, derandomize=True)
aligns = pytest.mark.parametrize("align", ["top-left", "bottom-right"])


def cells(mask: Any) -> list[list[int]]:
    return numpy(mask).astype(int).tolist()


# Causal and window


@every_backend
def test_causal_mask_starts_from_the_named_corner(backend: Backend) -> None:
    like = backend.array(0.0)
    assert cells(causal_mask(2, 5, like=like)) == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]
    assert cells(causal_mask(2, 5, align="bottom-right", like=like)) == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert cells(causal_mask(5, 2, like=like)) == [[1, 0], [1, 1], [1, 1], [1, 1], [1, 1]]
    assert cells(causal_mask(5, 2, align="bottom-right", like=like)) == [
        [0, 0],
        [0, 0],
        [0, 0],
        [1, 0],
        [1, 1],
    ]


def test_causal_mask_of_a_square_is_the_same_from_both_corners(backend: Backend) -> None:
    like = backend.array(0.0)
    expected = np.tril(np.ones((7, 7), dtype=bool))
    for align in ("top-left", "bottom-right"):
        assert np.array_equal(numpy(causal_mask(7, 7, align=align, like=like)), expected)


def test_causal_mask_equals_torch_s_biases() -> None:
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    q, k = torch.zeros(1, 1, 3, 2), torch.zeros(1, 1, 5, 2)
    for align, theirs in (("top-left", causal_upper_left), ("bottom-right", causal_lower_right)):
        rows = torch.arange(5.0).reshape(1, 1, 5, 1).expand(1, 1, 5, 7)
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, rows, attn_mask=theirs(3, 5))
        torch.testing.assert_close(attention(q, k, rows, causal=True, align=align), expected)


def test_window_sides_are_inclusive(backend: Backend) -> None:
    # Three Keys back and the Query's own: four in all.
    mask = numpy(window_mask(11, 11, (3, 0), like=backend.array(0.0)))
    assert mask.sum(axis=-1).tolist() == [1, 2, 3] + [4] * 8
    assert np.flatnonzero(mask[7]).tolist() == [4, 5, 6, 7]
    assert cells(window_mask(3, 5, (0, 1))) == [[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0]]


def test_window_is_measured_from_the_named_diagonal(backend: Backend) -> None:
    mask = window_mask(2, 5, (1, 0), align="bottom-right", like=backend.array(0.0))
    assert cells(mask) == [[0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]


def test_window_of_minus_one_is_unlimited(backend: Backend) -> None:
    like = backend.array(0.0)
    assert np.all(numpy(window_mask(3, 5, (-1, -1), like=like)))
    assert np.array_equal(numpy(window_mask(3, 5, (-1, 0), like=like)), numpy(causal_mask(3, 5, like=like)))


@aligns
def test_window_longer_than_the_sequence_is_unlimited(backend: Backend, align: Any) -> None:
    like = backend.array(0.0)
    for size in (8, 2**40, 10**30):
        assert np.all(numpy(window_mask(3, 5, (size, size), align=align, like=like)))


@few
@given(
    n_q=st.integers(0, 6),
    n_k=st.integers(0, 6),
    window=st.tuples(st.integers(-1, 7), st.integers(-1, 7)),
    align=st.sampled_from(["top-left", "bottom-right"]),
)
def test_window_mask_matches_the_definition(
    backend: Backend, n_q: int, n_k: int, window: tuple[int, int], align: Any
) -> None:
    mask = window_mask(n_q, n_k, window, align=align, like=backend.array(0.0))
    assert np.array_equal(numpy(mask), oracle.allowed_keys(n_q, n_k, window=window, align=align))
    causal = causal_mask(n_q, n_k, align=align, like=backend.array(0.0))
    assert np.array_equal(numpy(causal), oracle.allowed_keys(n_q, n_k, causal=True, align=align))


def test_masks_come_in_the_library_and_on_the_device_of_like() -> None:
    assert type(causal_mask(2, 3)) is np.ndarray
    assert type(window_mask(2, 3, (1, 1), like=np.zeros(1))) is np.ndarray
    on_meta = causal_mask(2, 3, like=torch.zeros(1, device="meta"))
    assert on_meta.device.type == "meta"
    assert on_meta.dtype == torch.bool


def test_lengths_and_sides_may_be_numpy_integers() -> None:
    assert cells(causal_mask(np.int64(2), np.uint8(3))) == [[1, 0, 0], [1, 1, 0]]
    assert cells(window_mask(2, 3, (np.int8(0), np.int64(0)))) == [[1, 0, 0], [0, 1, 0]]
    assert cells(window_mask(2, 3, np.array([0, 0]))) == [[1, 0, 0], [0, 1, 0]]


# Padding


@every_backend
def test_padding_mask_allows_the_first_keys_of_each_sequence(backend: Backend) -> None:
    mask = padding_mask(backend.array([2, 0, 3]), 3)
    assert tuple(mask.shape) == (3, 1, 3)
    assert cells(mask) == [[[1, 1, 0]], [[0, 0, 0]], [[1, 1, 1]]]


def test_padding_mask_takes_lengths_of_any_shape(backend: Backend) -> None:
    lengths = np.random.default_rng(0).integers(0, 8, size=(2, 3))
    mask = numpy(padding_mask(backend.array(lengths), 7))
    assert mask.shape == (2, 3, 1, 7)
    assert np.array_equal(mask.sum(axis=-1)[..., 0], lengths)
    assert cells(padding_mask(backend.array(2), 3)) == [[1, 1, 0]]
    assert tuple(padding_mask(backend.array(np.zeros(0, dtype=int)), 3).shape) == (0, 1, 3)
    assert tuple(padding_mask(backend.array([0, 0]), 0).shape) == (2, 1, 0)


def test_padding_mask_with_a_heads_axis_serves_every_head_and_query(backend: Backend) -> None:
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(2, 11, 3, 5)), rng.normal(size=(2, 11, 7, 5)), rng.normal(size=(2, 11, 7, 2))
    mask = padding_mask(backend.array([4, 0])[:, None], 7)
    assert tuple(mask.shape) == (2, 1, 1, 7)
    output = numpy(attention(*backend.arrays(q, k, v), mask=mask))
    np.testing.assert_allclose(output[0], oracle.attention(q[0], k[0, :, :4], v[0, :, :4]), rtol=1e-12)
    assert np.all(output[1] == 0)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("n_k", [200, 300, 40000])
def test_padding_mask_counts_beyond_the_range_of_small_lengths(
    backend: Backend, dtype: str, n_k: int
) -> None:
    mask = numpy(padding_mask(backend.array([100, 0], dtype), n_k))
    assert mask.sum(axis=-1)[:, 0].tolist() == [100, 0]


# Boolean to floating


@every_backend
def test_additive_mask_is_zero_where_true_and_minus_infinity_where_false(backend: Backend) -> None:
    mask = additive_mask(backend.array([[True, False], [False, True]]))
    assert numpy(mask).tolist() == [[0.0, -math.inf], [-math.inf, 0.0]]


@pytest.mark.parametrize("dtype", [None, "float16", "float32", "float64"])
def test_additive_mask_has_the_wanted_dtype(backend: Backend, dtype: str | None) -> None:
    mask = additive_mask(backend.array([True, False]), dtype=dtype and getattr(backend.xp, dtype))
    default = {"numpy": "float64", "torch": "float32"}[backend.name]
    assert numpy(mask).dtype == (dtype or default)
    assert numpy(mask).tolist() == [0.0, -math.inf]


def test_additive_mask_may_be_bfloat16() -> None:
    mask = additive_mask(torch.tensor([True, False]), dtype=torch.bfloat16)
    assert mask.dtype == torch.bfloat16
    assert mask.tolist() == [0.0, -math.inf]


def test_both_forms_of_a_mask_give_the_same_output(backend: Backend) -> None:
    rng = np.random.default_rng(0)
    q, k, v = backend.arrays(rng.normal(size=(3, 2)), rng.normal(size=(5, 2)), rng.normal(size=(5, 7)))
    mask = backend.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], "bool")
    boolean, floating = (numpy(attention(q, k, v, mask=form)) for form in (mask, additive_mask(mask)))
    # In Torch, one of the two may run through the fused kernel.
    np.testing.assert_allclose(boolean, floating, rtol=1e-12)


# What is refused


def message(call: Any) -> str:
    with pytest.raises(ValueError) as caught:
        call()
    return str(caught.value).replace("torch.", "")


@pytest.mark.parametrize("value", [-1, 2.0, 2.5, "2", None, True, [2], np.float64(2)], ids=repr)
def test_lengths_that_are_no_counts_are_refused(backend: Backend, value: Any) -> None:
    for name, arguments in {"n_q": (value, 3), "n_k": (3, value)}.items():
        text = f"{name} must be an integer, 0 or more: it is {value!r}"
        assert message(lambda given=arguments: causal_mask(*given)) == text
        assert message(lambda given=arguments: window_mask(*given, (1, 1))) == text
    text = f"n_k must be an integer, 0 or more: it is {value!r}"
    assert message(lambda: padding_mask(backend.array([1]), value)) == text


@pytest.mark.parametrize("align", ["bottom_right", "TOP-LEFT", "", None, 0, ["top-left"]], ids=repr)
def test_another_align_is_refused(align: Any) -> None:
    text = f"align must be 'top-left' or 'bottom-right': it is {align!r}"
    assert message(lambda: causal_mask(2, 3, align=align)) == text
    assert message(lambda: window_mask(2, 3, (1, 1), align=align)) == text


@pytest.mark.parametrize("window", [3, None, (1,), (1, 2, 3), (1.0, 0), (None, 0), (True, 0), "ab"], ids=repr)
def test_a_window_that_is_no_pair_of_integers_is_refused(window: Any) -> None:
    text = f"window must be two integers (left, right): it is {window!r}"
    assert message(lambda: window_mask(2, 3, window)) == text


def test_a_window_side_below_minus_one_is_refused() -> None:
    for window in ((-2, 0), (0, -2)):
        text = f"window sides must be -1 (unlimited) or a count of Keys: window is {window}"
        assert message(lambda given=window: window_mask(2, 3, given)) == text


def test_like_that_is_no_array_is_refused() -> None:
    text = "like must be an array (NumPy or Torch): like is str"
    assert message(lambda: causal_mask(2, 3, like="numpy")) == text


@pytest.mark.parametrize("value", [3, [3], None, "3"], ids=repr)
def test_lengths_that_are_no_array_are_refused(value: Any) -> None:
    text = f"lengths must be an array (NumPy or Torch): lengths is {type(value).__name__}"
    assert message(lambda: padding_mask(value, 5)).startswith(text)


@pytest.mark.parametrize("dtype", ["float64", "bool", "complex64"])
def test_lengths_that_are_no_integers_are_refused(backend: Backend, dtype: str) -> None:
    text = f"lengths must be integers: their dtype is {dtype}"
    assert message(lambda: padding_mask(backend.array([1], dtype), 5)) == text


def test_lengths_beyond_the_keys_are_refused(backend: Backend) -> None:
    text = "lengths must lie between 0 and n_k = 5: they run from {} to {}"
    assert message(lambda: padding_mask(backend.array([2, 6]), 5)) == text.format(2, 6)
    assert message(lambda: padding_mask(backend.array([[-1], [3]]), 5)) == text.format(-1, 3)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_additive_mask_of_anything_but_booleans_is_refused(backend: Backend, dtype: str) -> None:
    text = f"mask must be boolean, True = may attend: its dtype is {dtype}"
    assert message(lambda: additive_mask(backend.array([0, 1], dtype))) == text
    assert message(lambda: additive_mask(None)) == "mask must be an array (NumPy or Torch): mask is NoneType"


def test_additive_mask_in_a_dtype_that_holds_no_infinity_is_refused(backend: Backend) -> None:
    mask = backend.array([True])
    for dtype in (backend.xp.int64, backend.xp.bool, backend.xp.complex64, "float", 3):
        text = f"dtype must be a floating one of the mask's library: it is {dtype!r}".replace("torch.", "")
        assert message(lambda given=dtype: additive_mask(mask, dtype=given)) == text
    assert "one of the mask's library" in message(
        lambda: additive_mask(torch.tensor([True]), dtype=np.float32)
    )
    assert "one of the mask's library" in message(
        lambda: additive_mask(np.array([True]), dtype=torch.float32)
    )


def test_an_integer_mask_is_refused_with_the_way_out(backend: Backend) -> None:
    q, k, v = backend.arrays(np.zeros((2, 3)), np.zeros((5, 3)), np.zeros((5, 7)))
    text = "mask must be boolean (True = may attend) or floating (added to the logits): its dtype is int64; "
    text += "write mask != 0 if 1 means may attend"
    mask = backend.array([[1, 1, 0, 1, 1]])
    assert message(lambda: attention(q, k, v, mask=mask)) == text
    assert tuple(attention(q, k, v, mask=mask != 0).shape) == (2, 7)
    assert numpy(scores(q, k)).shape == (2, 5)
