"""What the four operations and attention() refuse: NumPy and Torch with one sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Backend, message

from course_lib import attention, scale_and_mask, scores, softmax, weighted_sum

N_Q, N_K, D_K, D_V = 3, 5, 2, 7
MASK = np.array([[1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 0]], dtype=bool)


def ones() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.ones((N_Q, D_K)), np.ones((N_K, D_K)), np.ones((N_K, D_V))


def zeros(backend: Backend, *shapes: tuple[int, ...]) -> list[Any]:
    return [backend.array(np.zeros(shape)) for shape in shapes]


SHAPES = {
    "scores d_k": (
        scores,
        [(2, 3), (5, 7)],
        "q and k must share d_k: q has shape (2, 3), k has shape (5, 7)",
    ),
    "attention d_k": (
        attention,
        [(2, 3), (5, 7), (5, 11)],
        "q and k must share d_k: q has shape (2, 3), k has shape (5, 7)",
    ),
    "attention n_k": (
        attention,
        [(2, 3), (5, 3), (7, 11)],
        "k and v must share n_k: k has shape (5, 3), v has shape (7, 11)",
    ),
    "attention batch": (
        attention,
        [(2, 2, 3), (3, 5, 3), (5, 7)],
        "the batch axes of q, k and v must broadcast: q has shape (2, 2, 3), k has shape (3, 5, 3), "
        "v has shape (5, 7)",
    ),
    "attention batch of v": (
        attention,
        [(2, 2, 3), (5, 3), (3, 5, 7)],
        "the batch axes of q, k and v must broadcast: q has shape (2, 2, 3), k has shape (5, 3), "
        "v has shape (3, 5, 7)",
    ),
    "scores batch": (
        scores,
        [(2, 2, 3), (3, 5, 3)],
        "the batch axes of q and k must broadcast: q has shape (2, 2, 3), k has shape (3, 5, 3)",
    ),
    "weighted_sum n_k": (
        weighted_sum,
        [(2, 3), (5, 7)],
        "weights and v must share n_k: weights has shape (2, 3), v has shape (5, 7)",
    ),
    "weighted_sum batch": (
        weighted_sum,
        [(2, 2, 3), (5, 3, 7)],
        "the batch axes of weights and v must broadcast: weights has shape (2, 2, 3), v has shape (5, 3, 7)",
    ),
    "one axis": (attention, [(3,), (5, 3), (5, 7)], "q must have shape (..., n_q, d_k): it has shape (3,)"),
    "one axis k": (attention, [(2, 3), (3,), (5, 7)], "k must have shape (..., n_k, d_k): it has shape (3,)"),
    "one axis v": (attention, [(2, 3), (5, 3), (5,)], "v must have shape (..., n_k, d_v): it has shape (5,)"),
    "scores one axis": (scores, [(3,), (5, 3)], "q must have shape (..., n, d_k): it has shape (3,)"),
    "softmax one axis": (softmax, [(3,)], "logits must have shape (..., n_q, n_k): it has shape (3,)"),
    "softmax no axis": (softmax, [()], "logits must have shape (..., n_q, n_k): it has shape ()"),
    "scale_and_mask one axis": (
        scale_and_mask,
        [(3,)],
        "scores must have shape (..., n_q, n_k): it has shape (3,)",
    ),
    "weighted_sum one axis": (
        weighted_sum,
        [(3,), (3, 5)],
        "weights must have shape (..., n_q, n_k): it has shape (3,)",
    ),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_that_do_not_fit_are_named(backend: Backend, case: str) -> None:
    function, shapes, text = SHAPES[case]
    assert message(lambda: function(*zeros(backend, *shapes))) == text


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 5), (3, 4), (7, 1, 1, 5, 1)])
@pytest.mark.parametrize("kind", [bool, float])
def test_mask_that_does_not_broadcast_is_refused(
    backend: Backend, shape: tuple[int, ...], kind: type
) -> None:
    q, k, v = zeros(backend, (N_Q, D_K), (N_K, D_K), (N_K, D_V))
    mask = backend.array(np.zeros(shape, dtype=kind))
    text = f"mask must broadcast to (..., n_q, n_k) = (3, 5): it has shape {shape}"
    assert message(lambda: attention(q, k, v, mask=mask)) == text
    assert message(lambda: attention(q, k, v, mask=mask, causal=True)) == text
    assert message(lambda: scale_and_mask(scores(q, k), mask=mask)) == text


def test_mask_never_lengthens_one_query_or_one_key(backend: Backend) -> None:
    q, k, v = zeros(backend, (1, D_K), (1, D_K), (1, D_V))
    mask = backend.array(np.ones((3, 5), dtype=bool))
    text = "mask must broadcast to (..., n_q, n_k) = (1, 1): it has shape (3, 5)"
    assert message(lambda: attention(q, k, v, mask=mask)) == text


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "align": ({"align": "bottomright"}, "align must be 'top-left' or 'bottom-right': it is 'bottomright'"),
    "align None": ({"align": None}, "align must be 'top-left' or 'bottom-right': it is None"),
    "causal text": ({"causal": "no"}, "causal must be True or False: it is 'no'"),
    "causal None": ({"causal": None}, "causal must be True or False: it is None"),
    "gqa number": ({"enable_gqa": 1}, "enable_gqa must be True or False: it is 1"),
    "window text": ({"window": "ab"}, "window must be two integers (left, right): it is 'ab'"),
    "window number": ({"window": 3}, "window must be two integers (left, right): it is 3"),
    "window floats": ({"window": (1.0, 0)}, "window must be two integers (left, right): it is (1.0, 0)"),
    "window booleans": (
        {"window": (True, False)},
        "window must be two integers (left, right): it is (True, False)",
    ),
    "window triple": ({"window": (1, 2, 3)}, "window must be two integers (left, right): it is (1, 2, 3)"),
    "window below": (
        {"window": (-2, 0)},
        "window sides must be -1 (unlimited) or a count of Keys: window is (-2, 0)",
    ),
    "scale NaN": ({"scale": math.nan}, "scale must be a finite number: it is nan"),
    "scale Inf": ({"scale": -math.inf}, "scale must be a finite number: it is -inf"),
    "scale text": ({"scale": "0.5"}, "scale must be a finite number: it is '0.5'"),
    "scale boolean": ({"scale": True}, "scale must be a finite number: it is True"),
    "scale complex": ({"scale": 1j}, "scale must be a finite number: it is 1j"),
    "scale huge": (
        {"scale": 10**400},
        "scale must be a finite number: it is 100000000000000000...0000000000000000000",
    ),
    "softcap zero": ({"softcap": 0}, "softcap must be a positive finite number: it is 0"),
    "softcap below": ({"softcap": -50.0}, "softcap must be a positive finite number: it is -50.0"),
    "softcap NaN": ({"softcap": math.nan}, "softcap must be a positive finite number: it is nan"),
    "softcap Inf": ({"softcap": math.inf}, "softcap must be a positive finite number: it is inf"),
    "softcap text": ({"softcap": "50"}, "softcap must be a positive finite number: it is '50'"),
    "softcap boolean": ({"softcap": True}, "softcap must be a positive finite number: it is True"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options_of_a_wrong_kind_are_named(backend: Backend, case: str) -> None:
    options, text = OPTIONS[case]
    q, k, v = zeros(backend, (N_Q, D_K), (N_K, D_K), (N_K, D_V))
    assert message(lambda: attention(q, k, v, **options)) == text
    if {"scale", "softcap"} & set(options):
        assert message(lambda: scale_and_mask(scores(q, k), **options)) == text


def test_array_in_place_of_an_option_is_named(backend: Backend) -> None:
    q, k, v = zeros(backend, (N_Q, D_K), (N_K, D_K), (N_K, D_V))
    mask = backend.array(MASK)
    assert message(lambda: attention(q, k, v, causal=mask)) == (
        "causal must be True or False: it is an array of shape (3, 5)"
    )
    assert (
        message(lambda: scale_and_mask(scores(q, k), mask)) == "scale must be one number: it has shape (3, 5)"
    )
    assert message(lambda: attention(q, k, v, softcap=mask)) == (
        "softcap must be a positive finite number: it is an array of shape (3, 5)"
    )
    assert message(lambda: attention(q, k, v, scale=backend.array(np.nan))) == (
        "scale must be a finite number: it is nan"
    )
    assert message(lambda: attention(q, k, v, scale=backend.array(True))).startswith(
        "scale must hold real numbers: its dtype is"
    )


NO_ARRAYS = [None, 1.0, "q", [[1.0, 2.0]], ((1.0, 2.0),), {}]


@pytest.mark.parametrize("value", NO_ARRAYS, ids=repr)
def test_what_is_no_array_is_refused_by_its_type(backend: Backend, value: Any) -> None:
    q, k, v = zeros(backend, (N_Q, D_K), (N_K, D_K), (N_K, D_V))

    def said(name: str) -> str:
        advice = "; np.asarray and torch.asarray convert" * isinstance(value, (float, list, tuple))
        return f"{name} must be an array (NumPy or Torch): {name} is {type(value).__name__}{advice}"

    assert message(lambda: attention(value, k, v)) == said("q")
    assert message(lambda: attention(q, k, value)) == said("v")
    assert message(lambda: scores(q, value)) == said("k")
    assert message(lambda: weighted_sum(value, v)) == said("weights")
    assert message(lambda: softmax(value)) == said("logits")
    assert message(lambda: scale_and_mask(value)) == said("scores")
    if value is not None:
        assert message(lambda: attention(q, k, v, mask=value)) == said("mask")
        assert message(lambda: scale_and_mask(q, mask=value)) == said("mask")


def test_all_that_are_no_arrays_are_named() -> None:
    q, k, v = ones()
    assert message(lambda: attention(q, k.tolist(), v.tolist())) == (
        "k and v must be arrays (NumPy or Torch): k is list, v is list; np.asarray and torch.asarray convert"
    )


def test_a_long_value_is_shown_by_its_beginning_and_end() -> None:
    q, k, v = ones()
    for value in (10**400, [1.0] * 1000, (q, k)):
        said = message(lambda given=value: attention(q, k, v, scale=given))
        assert said.startswith("scale must be a finite number: it is ")
        assert "..." in said
        assert len(said) < 120
        assert "\n" not in said


def test_arrays_of_two_libraries_are_refused() -> None:
    q, k, v = ones()
    assert message(lambda: attention(q, torch.tensor(k), v)) == (
        "q, k and v must be arrays of one library (NumPy or Torch): "
        "q is numpy.ndarray, k is torch.Tensor, v is numpy.ndarray; np.asarray and torch.asarray convert"
    )
    mask, scale = torch.tensor(MASK), torch.tensor(0.5)
    text = "and q must be arrays of one library (NumPy or Torch)"
    assert f"mask {text}" in message(lambda: attention(q, k, v, mask=mask))
    assert f"mask {text}" in message(lambda: attention(q, k, v, mask=mask, causal=True))
    assert f"scale {text}" in message(lambda: attention(q, k, v, scale=scale))
    ours = (torch.tensor(array) for array in (q, k, v))
    assert f"scale {text}" in message(lambda: attention(*ours, scale=np.array(0.5)))


@pytest.mark.parametrize("dtype", ["complex64", "bool"])
def test_values_that_are_no_real_numbers_are_refused(backend: Backend, dtype: str) -> None:
    q, k, v = backend.arrays(*ones())
    bad = backend.array(np.zeros((3, 2)), dtype)

    def text(call: Any) -> str:
        return message(call).replace("torch.", "")

    assert text(lambda: attention(bad, k, v)) == f"q must hold real numbers: its dtype is {dtype}"
    assert text(lambda: attention(q, bad, v[:3])) == f"k must hold real numbers: its dtype is {dtype}"
    assert text(lambda: attention(q, k[:3], bad)) == f"v must hold real numbers: its dtype is {dtype}"
    assert text(lambda: softmax(bad)) == f"logits must hold real numbers: its dtype is {dtype}"
    assert text(lambda: scale_and_mask(bad)) == f"scores must hold real numbers: its dtype is {dtype}"
    assert text(lambda: weighted_sum(bad, q[:2])) == f"weights must hold real numbers: its dtype is {dtype}"


@pytest.mark.parametrize("dtype", [object, str, "datetime64[s]"])
def test_numpy_arrays_of_other_things_are_refused(dtype: Any) -> None:
    _, k, v = ones()
    bad = np.zeros((N_Q, D_K), dtype=dtype)
    assert message(lambda: attention(bad, k, v)) == f"q must hold real numbers: its dtype is {bad.dtype}"


@pytest.mark.parametrize("kind", [np.ma.MaskedArray, np.asmatrix])
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_masked_arrays_and_matrices_are_refused(kind: Any) -> None:
    # A masked array would lose its mask, a matrix its axes.
    q, k, v = (kind(array) for array in ones())
    text = message(lambda: attention(q, k, v))
    assert text.startswith("q, k and v must be arrays (NumPy or Torch): q is numpy.")


def test_arrays_on_two_devices_are_refused() -> None:
    q, k, v = (torch.tensor(array) for array in ones())
    mask = torch.tensor(MASK).to("meta")
    on = "must be on one device"
    assert message(lambda: attention(q, k.to("meta"), v)) == (
        f"q, k and v {on}: q is on cpu, k is on meta, v is on cpu"
    )
    assert message(lambda: scores(q, k.to("meta"))) == f"q and k {on}: q is on cpu, k is on meta"
    for causal in (False, True):
        assert message(lambda causal=causal: attention(q, k, v, mask=mask, causal=causal)) == (
            f"mask and q {on}: mask is on meta, q is on cpu"
        )
    assert message(lambda: weighted_sum(torch.tensor(MASK).double(), v.to("meta"))) == (
        f"weights and v {on}: weights is on cpu, v is on meta"
    )


@pytest.mark.parametrize("heads", [(5, 2, 2), (6, 2, 3), (2, 4, 4), (2, 0, 0)])
def test_heads_that_do_not_divide_are_refused(backend: Backend, heads: tuple[int, int, int]) -> None:
    shapes = [(heads[0], 3, 2), (heads[1], 5, 2), (heads[2], 5, 7)]
    q, k, v = (backend.array(np.zeros(shape)) for shape in shapes)
    text = "grouped queries need as many heads in k as in v, and a multiple of them in q: q has shape {}, "
    text += "k has shape {}, v has shape {}"
    assert message(lambda: attention(q, k, v, enable_gqa=True)) == text.format(*shapes)
