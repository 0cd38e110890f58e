"""The lecture's numbers, each to its printed digit, and the same at full precision, on NumPy and on Torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Backend, numpy

from course_lib import attention, scale_and_mask, scores, soft_cap, softmax, weighted_sum

QUERY = [[1.0, 0.0, 1.0, 0.0]]
# Any Keys with these dot products will do: the lecture prints the scores only.
KEYS = [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
VALUES = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]


def rounded(array: Any, digits: int) -> Any:
    return np.round(numpy(array), digits).tolist()


def close(array: Any, expected: Any, rtol: float = 5e-5) -> None:
    np.testing.assert_allclose(numpy(array), expected, rtol=rtol)


# Computation: the masked example


def test_masked_example_scales_to_three_quarters_and_one(backend: Backend) -> None:
    logits = scale_and_mask(*masked_example(backend))
    assert numpy(logits).tolist() == [[0.75, 1.0, -math.inf]]


def masked_example(backend: Backend) -> tuple[Any, float, Any]:
    """The raw scores, the scale of d_k = 4, and M."""
    return backend.array([[1.5, 2.0, 3.0]]), 1 / math.sqrt(4), backend.array([[0.0, 0.0, -np.inf]])


def test_masked_example_weighs_the_first_two_keys(backend: Backend) -> None:
    weights = softmax(scale_and_mask(*masked_example(backend)))
    assert rounded(weights, 2) == [[0.44, 0.56, 0.0]]
    close(weights, [[0.43782, 0.56218, 0.0]])


def test_masked_example_mixes_the_first_two_values_and_keeps_its_shape(backend: Backend) -> None:
    weights = softmax(scale_and_mask(*masked_example(backend)))
    assert tuple(weights.shape) == (1, 3)
    unit_vectors = backend.array(np.eye(3))
    assert rounded(weighted_sum(weights, unit_vectors), 2) == [[0.44, 0.56, 0.0]]


def test_highest_raw_score_counts_for_nothing_under_the_mask(backend: Backend) -> None:
    raw, scale, mask = masked_example(backend)
    assert int(numpy(raw).argmax()) == 2
    weights = softmax(scale_and_mask(raw, scale, mask))
    for size in (1.0, 1e6):
        values = backend.array([[1.0], [2.0], [size]])
        close(weighted_sum(weights, values), [[0.43782 + 2 * 0.56218]])


def test_shapes_of_the_four_operations(backend: Backend) -> None:
    n_q, n_k, d_k, d_v = 3, 5, 2, 7
    q, k, v = (backend.array(np.ones(shape)) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))
    compared = scores(q, k)
    logits = scale_and_mask(compared, 1 / math.sqrt(d_k), backend.array(np.zeros((n_q, n_k))))
    weights = softmax(logits)
    assert tuple(compared.shape) == tuple(logits.shape) == tuple(weights.shape) == (n_q, n_k)
    assert tuple(weighted_sum(weights, v).shape) == (n_q, d_v)


# Scaling


@pytest.mark.parametrize("draw", ["normal", "sign"])
def test_variance_of_a_dot_product_is_d_k_and_one_after_scaling(draw: str) -> None:
    rng, d_k, count = np.random.default_rng(0), 64, 40000
    q, k = (
        rng.normal(size=(count, 1, d_k))
        if draw == "normal"
        else rng.choice([-1.0, 1.0], size=(count, 1, d_k))
        for _ in range(2)
    )
    products = scores(q, k)[:, 0, 0]
    # Four standard errors of a variance; the kurtosis is 3 + 6/d_k for normal components, less for signs.
    margin = 4 * math.sqrt((2 + 6 / d_k) / count)
    assert abs(products.var() / d_k - 1) < margin
    scaled = scale_and_mask(scores(q, k), 1 / math.sqrt(d_k))[:, 0, 0]
    assert abs(scaled.var() - 1) < margin
    assert abs(products.mean()) < 4 * math.sqrt(d_k / count)


def test_kurtosis_of_a_dot_product_nears_three_as_d_k_grows() -> None:
    rng, count = np.random.default_rng(2), 200_000
    for d_k in (2, 5, 64):
        q, k = (rng.normal(size=(count, 1, d_k)) for _ in range(2))
        products = scores(q, k)[:, 0, 0]
        kurtosis = np.mean(products**4) / np.mean(products**2) ** 2
        assert kurtosis == pytest.approx(3 + 6 / d_k, rel=0.05)


def test_variance_grows_with_the_fourth_power_of_the_components_spread() -> None:
    rng, d_k, count, sigma = np.random.default_rng(1), 16, 40000, 3.0
    q, k = (rng.normal(scale=sigma, size=(count, 1, d_k)) for _ in range(2))
    products = scores(q, k)[:, 0, 0]
    assert abs(products.var() / (sigma**4 * d_k) - 1) < 4 * math.sqrt((2 + 6 / d_k) / count)


def test_unscaled_logits_saturate(backend: Backend) -> None:
    weights = softmax(backend.array([[16.0, 8.0, 0.0]]))
    assert rounded(weights, 4) == [[0.9997, 0.0003, 0.0]]
    close(weights, [[0.999665, 3.354e-4, 1.125e-7]], rtol=4e-4)


def test_scaled_logits_leave_weight_to_every_key(backend: Backend) -> None:
    logits = scale_and_mask(backend.array([[16.0, 8.0, 0.0]]), 1 / math.sqrt(64))
    assert numpy(logits).tolist() == [[2.0, 1.0, 0.0]]
    weights = softmax(logits)
    assert rounded(weights, 3) == [[0.665, 0.245, 0.090]]
    close(weights, [[0.66524, 0.24473, 0.09003]])


def test_scaling_keeps_the_order_of_the_keys(backend: Backend) -> None:
    raw = backend.array([[8.0, 16.0, 0.0]])
    for scale in (None, 1 / 8, 3.0):
        weights = numpy(softmax(scale_and_mask(raw, scale)))
        assert np.argsort(weights[0]).tolist() == [2, 0, 1]


def test_slope_of_the_first_weight_is_tiny_unscaled_and_large_scaled() -> None:
    for logits, printed in (([16.0, 8.0, 0.0], "0.0003354"), ([2.0, 1.0, 0.0], "0.2227")):
        row = torch.tensor([logits], dtype=torch.float64, requires_grad=True)
        first = softmax(row)[0, 0]
        (slopes,) = torch.autograd.grad(first, row)
        p = first.item()
        assert slopes[0, 0].item() == pytest.approx(p * (1 - p), rel=1e-9)
        assert f"{slopes[0, 0].item():.4g}" == printed
        assert slopes[0, 0].item() <= 0.25


def test_slope_is_at_most_a_quarter_and_reaches_it_at_one_half() -> None:
    logits = np.linspace(-9, 9, 181)
    p = softmax(np.stack([logits, np.zeros_like(logits)], axis=-1))[:, 0]
    slopes = p * (1 - p)
    assert slopes.max() == 0.25
    assert p[slopes.argmax()] == 0.5


def test_variance_divides_by_the_square_of_the_constant() -> None:
    sample = np.random.default_rng(0).normal(size=(1, 1000))
    assert scale_and_mask(sample, 1 / 8).var() == pytest.approx(sample.var() / 64, rel=1e-12)


# Worked example


def worked_logits(backend: Backend) -> Any:
    return scale_and_mask(scores(*backend.arrays(QUERY, KEYS)), 1 / math.sqrt(4))


def test_worked_example_s_scores_and_logits(backend: Backend) -> None:
    assert numpy(scores(*backend.arrays(QUERY, KEYS))).tolist() == [[2.0, 0.0, 1.0]]
    assert numpy(worked_logits(backend)).tolist() == [[1.0, 0.0, 0.5]]


def test_worked_example_s_weights(backend: Backend) -> None:
    weights = softmax(worked_logits(backend))
    assert rounded(weights, 2) == [[0.51, 0.19, 0.31]]
    close(weights, [[0.50648, 0.18632, 0.30720]])


def test_worked_example_s_contributions_add_up_to_its_output(backend: Backend) -> None:
    weights, v = softmax(worked_logits(backend)), backend.array(VALUES)
    contributions = numpy(weights)[0, :, None] * numpy(v)
    assert np.round(contributions, 2).tolist() == [[0.51, 0.0], [0.0, 0.19], [0.15, 0.15]]
    close(contributions.sum(axis=0), numpy(weighted_sum(weights, v))[0], rtol=1e-12)


def test_worked_example_s_output(backend: Backend) -> None:
    output = attention(*backend.arrays(QUERY, KEYS, VALUES))
    assert tuple(output.shape) == (1, 2)
    assert rounded(output, 2) == [[0.66, 0.34]]
    close(output, [[0.66008, 0.33992]])


def test_ten_times_the_logits_sharpen_the_weights(backend: Backend) -> None:
    weights = softmax(10 * worked_logits(backend))
    (first, second, third) = numpy(weights)[0]
    assert (f"{first:.3f}", f"{second:.5f}", f"{third:.3f}") == ("0.993", "0.00005", "0.007")
    close(weights, [[0.993262, 4.509e-5, 6.693e-3]], rtol=1e-4)


def test_ten_times_the_logits_bring_the_output_near_the_first_value(backend: Backend) -> None:
    output = attention(*backend.arrays(QUERY, KEYS, VALUES), scale=10 / math.sqrt(4))
    close(output, [[0.99661, 0.00339]], rtol=2e-3)
    assert rounded(output, 5) == [[0.99661, 0.00339]]


def test_rounded_weights_need_not_sum_to_one(backend: Backend) -> None:
    weights = numpy(softmax(worked_logits(backend)))
    assert weights.sum() == pytest.approx(1, abs=1e-15)
    assert round(float(np.round(weights, 2).sum()), 2) == 1.01


def test_second_key_with_a_score_of_zero_takes_part(backend: Backend) -> None:
    weights = numpy(softmax(worked_logits(backend)))
    assert round(float(weights[0, 1]), 2) == 0.19


def test_vector_and_matrix_notation_are_one_computation(backend: Backend) -> None:
    rng = np.random.default_rng(0)
    rows_q, rows_k = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    one_by_one = [[float(q @ k) for k in rows_k] for q in rows_q]
    close(scores(*backend.arrays(rows_q, rows_k)), one_by_one, rtol=1e-12)


# Score control


def test_soft_cap_maps_scores_into_plus_minus_fifty(backend: Backend) -> None:
    capped = numpy(soft_cap(backend.array([[-500.0, -50.0, 0.0, 50.0, 200.0]])))
    close(capped, [[50 * math.tanh(a / 50) for a in (-500, -50, 0, 50, 200)]], rtol=1e-12)
    assert np.all(np.abs(capped) <= 50)
    assert np.all(np.abs(capped[0, 1:4]) < 50)
