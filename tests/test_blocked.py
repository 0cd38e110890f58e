"""attention_in_blocks() against the plain formula and the definition, and what it is for: little memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import attention, blocked
from course_lib.attention import steps
from course_lib.blocked import attention_in_blocks

N_Q, N_K, D_K, D_V = 11, 23, 3, 5
TOLERANCE = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-12}


@pytest.fixture
def real_blocks() -> None:
    """Leaves the blocks as they are."""


@pytest.fixture(autouse=True)
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 Queries against two tiles of 8 Keys, so that small inputs have whole blocks and rests of all kinds."""
    if "real_blocks" not in request.fixturenames:
        monkeypatch.setattr(blocked, "QUERIES", 4)
        monkeypatch.setattr(blocked, "KEYS", 16)
        monkeypatch.setattr(blocked, "_SMALL_PRODUCT", 1)


def drawn(
    *batch: int, n_q: int = N_Q, n_k: int = N_K, d_k: int = D_K, d_v: int = D_V, seed: int = 0
) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(*batch, *last)) for last in ((n_q, d_k), (n_k, d_k), (n_k, d_v))]


def plain(q: np.ndarray, k: np.ndarray, v: np.ndarray, **options: Any) -> np.ndarray:
    none = {"mask": None, "causal": False, "align": "top-left", "window": None, "softcap": None}
    output = steps(q, k, v, **(none | {"scale": 1.0, "enable_gqa": False} | options)).output  # type: ignore
    assert isinstance(output, np.ndarray)
    return output


def assert_equal_to_plain(q: np.ndarray, k: np.ndarray, v: np.ndarray, **options: Any) -> None:
    found, expected = attention_in_blocks(q, k, v, **options), plain(q, k, v, **options)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = TOLERANCE[v.dtype.name]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# The definition


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[np.ndarray], dict[str, Any], dict[str, Any]]:
    """Inputs, options for the library, and the same for the oracle."""
    n_q, n_k = draw(st.integers(0, 13)), draw(st.integers(0, 37))
    batch = draw(st.sampled_from([(), (2,), (2, 3)]))
    seed = draw(st.integers(0, 99))
    inputs = drawn(
        *batch, n_q=n_q, n_k=n_k, d_k=draw(st.integers(1, 3)), d_v=draw(st.integers(1, 3)), seed=seed
    )
    side = st.integers(-1, 40)
    band: dict[str, Any] = {
        "causal": draw(st.booleans()),
        "align": draw(st.sampled_from(["top-left", "bottom-right"])),
        "window": draw(st.none() | st.tuples(side, side)),
    }
    scores = {"scale": draw(st.floats(-3, 3)), "softcap": draw(st.none() | st.floats(0.5, 5))}
    allowed = oracle.allowed_keys(n_q, n_k, **band)
    form = draw(st.sampled_from([None, "boolean", "floating"]))
    if form is None:
        return inputs, band | scores, {"allowed": allowed} | scores
    rng = np.random.default_rng(seed)
    shape = draw(st.sampled_from([(n_q, n_k), (1, n_k), (n_q, 1), (n_k,), (*batch, n_q, n_k), (1, 1, n_k)]))
    chosen = rng.random(shape) < draw(st.sampled_from([0.1, 0.9]))
    bias = rng.normal(size=shape) if form == "floating" else np.zeros(shape)
    mask = np.where(chosen, bias, -np.inf) if form == "floating" else chosen
    allowed = allowed & chosen
    return inputs, {"mask": mask} | band | scores, {"allowed": allowed, "bias": bias + 0 * allowed} | scores


@settings(max_examples=150, deadline=None, derandomize=True)
@given(calls())
def test_blocks_give_the_definition(call: tuple[list[np.ndarray], dict[str, Any], dict[str, Any]]) -> None:
    inputs, options, definition = call
    before = [array.copy() for array in inputs]
    with pytest.MonkeyPatch.context() as patch:
        # hypothesis runs many examples in one call of the fixture.
        patch.setattr(blocked, "_WORTH_THREADS", 300)
        output = attention_in_blocks(*inputs, **options)
    np.testing.assert_allclose(output, oracle.attention(*inputs, **definition), rtol=1e-10, atol=1e-12)
    for array, kept in zip(inputs, before, strict=True):
        assert np.array_equal(array, kept)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True}, {"causal": True, "align": "bottom-right"}, {"window": (2, 5)}, {"softcap": 0.7}],
    ids=str,
)
def test_blocks_give_the_plain_formula_in_every_dtype(dtype: str, options: dict[str, Any]) -> None:
    q, k, v = (array.astype(dtype) for array in drawn(2))
    assert_equal_to_plain(q, k, v, **options)
    assert_equal_to_plain(q, k[0], v[:1], **options)


@pytest.mark.usefixtures("real_blocks")
@pytest.mark.parametrize(("n_q", "n_k"), [(65, 2111), (300, 257), (1, 4097), (64, 2048)])
@pytest.mark.parametrize(
    "options", [{}, {"causal": True, "align": "bottom-right"}, {"window": (70, 9)}], ids=str
)
def test_blocks_of_the_real_size_give_the_plain_formula(n_q: int, n_k: int, options: dict[str, Any]) -> None:
    q, k, v = (array.astype("float32") for array in drawn(n_q=n_q, n_k=n_k, d_k=64, d_v=70))
    assert_equal_to_plain(q, k, v, scale=0.125, **options)


def test_inputs_in_any_memory_order_give_the_same() -> None:
    q, k, v = drawn(2)
    expected = attention_in_blocks(q, k, v)
    strided = [np.asfortranarray(array)[:, ::-1][:, ::-1] for array in (q, k, v)]
    np.testing.assert_allclose(attention_in_blocks(*strided), expected, rtol=1e-14)


# NaN, Inf and numbers beyond the range


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("spoilt", [0, 1, 2], ids=["q", "k", "v"])
@pytest.mark.parametrize("form", ["causal", "boolean", "floating"])
def test_poison_reaches_whom_it_reaches_in_the_plain_formula(poison: float, spoilt: int, form: str) -> None:
    q, k, v = drawn(2)
    (q, k, v)[spoilt][1, [3, 9], 1] = poison
    mask = np.random.default_rng(0).random((N_Q, N_K)) < 0.5
    options: dict[str, Any] = {
        "causal": {"causal": True},
        "boolean": {"mask": mask},
        "floating": {"mask": np.where(mask, 0.5, -np.inf)},
    }[form]
    assert_equal_to_plain(q, k, v, **options)
    assert np.all(np.isfinite(attention_in_blocks(q, k, v, **options)[0]))


def test_values_of_both_infinities_give_nan_only_where_both_are_read() -> None:
    q, k, v = drawn()
    v[2, 0], v[20, 0], v[21, 1] = np.inf, -np.inf, np.nan
    output = attention_in_blocks(q, k, v, mask=np.arange(N_K) < np.arange(13, 13 + N_Q)[:, None])
    assert np.all(output[:8, 0] == np.inf)
    assert np.all(np.isnan(output[8:, 0]))
    assert np.all(np.isfinite(output[:9, 1:]))
    assert np.all(np.isnan(output[9:, 1]))


def test_floating_mask_s_own_poison_stays_in_its_row() -> None:
    q, k, v = drawn()
    mask = np.zeros((N_Q, N_K))
    mask[1, 2], mask[3, 20] = np.nan, np.inf
    assert_equal_to_plain(q, k, v, mask=mask)
    assert np.isnan(attention_in_blocks(q, k, v, mask=mask)).any(axis=-1).nonzero()[0].tolist() == [1, 3]


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_logits_of_any_size_stay_finite(dtype: str) -> None:
    q, k, v = (array.astype(dtype) for array in drawn())
    big = np.full((N_Q, 4), 200, dtype=dtype)
    assert np.all(np.isfinite(attention_in_blocks(big, np.full((N_K, 4), 200, dtype=dtype), v)))
    for scale in (1e4, -1e4):
        assert_equal_to_plain(q, k, v, scale=scale)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_beyond_the_range_and_the_largest_values_give_the_plain_formula(dtype: str) -> None:
    most = np.finfo(dtype).max
    q, k, v = (array.astype(dtype) for array in drawn())
    v[:, 0], v[:, 1] = most / 2, -most / 3
    assert_equal_to_plain(q, k, v)
    q[2], k[5] = most / 2, 4
    assert_equal_to_plain(q, k, v, causal=True)


def test_order_of_the_keys_does_not_matter() -> None:
    q, k, v = drawn()
    # The highest logit comes first, in the middle and last.
    for ascending in (np.argsort(k[:, 0]), np.argsort(-k[:, 0]), np.arange(N_K)):
        found = attention_in_blocks(q, k[ascending], v[ascending], scale=30.0)
        np.testing.assert_allclose(found, plain(q, k, v, scale=30.0), rtol=1e-11, atol=1e-12)


# Without Keys


def test_queries_without_keys_give_zero() -> None:
    q, k, v = drawn(2)
    mask = np.ones((N_Q, N_K), dtype=bool)
    mask[4] = False
    for form in (mask, np.where(mask, 0.0, -np.inf)):
        assert np.all(attention_in_blocks(q, k, v, mask=form)[:, 4] == 0)
    assert np.all(attention_in_blocks(q, k, v, window=(0, 0), align="bottom-right", mask=mask)[:, 4] == 0)
    assert np.all(attention_in_blocks(k, q, q, causal=True, align="bottom-right")[:, : N_K - N_Q] == 0)


def test_no_keys_at_all_give_zeros_and_no_queries_nothing() -> None:
    q, k, v = drawn(2)
    assert np.array_equal(attention_in_blocks(q, k[:, :0], v[:, :0]), np.zeros((2, N_Q, D_V)))
    assert attention_in_blocks(q[:, :0], k, v).shape == (2, 0, D_V)
    assert attention_in_blocks(q[:0], k[:0], v[:0]).shape == (0, N_Q, D_V)


# Threads


def threads(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", str(count))
    monkeypatch.setattr(blocked, "_WORTH_THREADS", 0)


@pytest.mark.usefixtures("real_blocks")
def test_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = (array.astype("float32") for array in drawn(2, n_q=300, n_k=200, d_k=64))
    found = []
    for count in (1, 2, 5):
        threads(monkeypatch, count)
        found.append(attention_in_blocks(q, k, v, causal=True))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.usefixtures("real_blocks")
def test_overflow_in_a_thread_warns_as_little_as_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    threads(monkeypatch, 2)
    q, k, v = (array.astype("float32") for array in drawn(n_q=1100, n_k=1100))
    q[7] = 3e38
    v[1000] = np.inf
    output = attention_in_blocks(q, k, v, causal=True)
    assert np.all(np.isfinite(output[:1000][np.arange(1000) != 7]))


@pytest.mark.usefixtures("real_blocks")
def test_what_goes_wrong_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    threads(monkeypatch, 2)
    q, k, v = drawn(n_q=1100, n_k=1100)
    with pytest.raises(ValueError, match="cap must be a positive finite number"):
        attention_in_blocks(q, k, v, softcap=-1.0)


# Memory


def extra_mib(call: Any) -> float:
    """The most memory that NumPy held at once during the call, its result left out."""
    tracemalloc.start()
    try:
        result = call()
        return (tracemalloc.get_traced_memory()[1] - result.nbytes) / 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("real_blocks")
@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True}, {"window": (100, 50)}, {"mask": np.arange(4096) < 4000}, {"softcap": 5.0}],
    ids=["full", "causal", "window", "mask", "soft-cap"],
)
def test_memory_does_not_hold_the_scores(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    q, k, v = (array.astype("float32") for array in drawn(n_q=4096, n_k=4096, d_k=64, d_v=64))
    # The scores alone would be 64 MiB.
    assert extra_mib(lambda: attention(q, k, v, **options)) < 10


@pytest.mark.slow
@pytest.mark.usefixtures("real_blocks")
def test_memory_for_16384_tokens_is_below_64_mib() -> None:
    q, k, v = (array.astype("float32") for array in drawn(n_q=16384, n_k=16384, d_k=64, d_v=64))
    for options in ({}, {"causal": True}):
        assert extra_mib(lambda options=options: attention(q, k, v, **options)) < 64
