"""Calls of what students write: on copies, within limits, along every way."""

import dataclasses
import functools
import itertools
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
from double_task import TASK, X

import course_lib
from course_lib.checks import PartVerdict, Verdict, Way, call, judge, report


def test_call_protects_the_inputs_and_notices_a_change():
    def in_place(x, plus=0):
        x *= 2
        x += plus
        return x

    before = X.copy()
    outcome = call(in_place, TASK.required, {"x": X})
    assert outcome.changed
    assert np.array_equal(X, before)
    verdict = judge(TASK, in_place)
    assert verdict.points == 0
    assert "바뀌었습니다" in report(verdict, "ko")
    assert "were changed" in report(verdict, "en")


def test_call_lets_warnings_and_stderr_pass(capsys):
    def noisy(x, plus=0):
        warnings.warn("deprecated", DeprecationWarning, stacklevel=1)
        print("careful", file=sys.stderr)
        return 2 * x + plus

    assert judge(TASK, noisy).points == 3
    assert capsys.readouterr().err == ""


def test_call_copies_results_that_share_one_buffer():
    buffer = np.empty_like(X)

    def reusing(x, plus=0):
        np.multiply(x, 2, out=buffer)
        buffer[...] += plus
        return buffer

    assert judge(TASK, reusing).points == 3


def whole(n):
    return np.ones((n, n)).sum()


def test_call_forbids_a_function_and_all_of_a_package():
    def sums(x):
        return np.linalg.norm(x)

    def softmax(x):
        return course_lib.softmax(x)

    assert call(sums, ("x",), {"x": X}, forbidden=("numpy.linalg.norm",)).error == "ForbiddenCall"
    outcome = call(softmax, ("x",), {"x": X}, forbidden=("course_lib", "torch.no_such.module"))
    assert (outcome.error, outcome.message) == ("ForbiddenCall", "course_lib")
    assert call(sums, ("x",), {"x": X}, forbidden=("course_lib",)).error is None


def test_call_within_a_memory_refuses_what_holds_more_at_once():
    assert call(whole, ("n",), {"n": 100}, memory=2**20).value == 10_000
    refused = call(whole, ("n",), {"n": 1000}, memory=2**20)
    assert (refused.error, refused.message) == ("TooMuchMemory", "7.6 MiB > 1.0 MiB")


def test_call_within_a_memory_counts_from_where_the_call_begins():
    tracemalloc.start()
    try:
        held = np.ones(2**20)
        assert call(whole, ("n",), {"n": 100}, memory=2**20).value == 10_000
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
    assert held.size == 2**20


def test_call_says_what_was_returned_before_it_asks_for_gradients():
    pytest.importorskip("torch")
    way = Way(torch=True, gradients=("x",))
    assert call(lambda x: None, ("x",), {"x": X}, way=way).error == "returned None"
    assert call(lambda x: (x, x), ("x",), {"x": X}, way=way).error == "returned tuple"
    several = Way(torch=True, results=2, gradients=("x",))
    assert call(lambda x: (x, None), ("x",), {"x": X}, way=several).error == "returned None"


def test_call_names_the_input_that_no_gradient_reaches():
    torch = pytest.importorskip("torch")
    way, inputs = Way(torch=True, gradients=("x", "y")), {"x": X, "y": X}
    for cut in (
        lambda x, y: x.detach() + y,
        lambda x, y: (x + y).detach(),
        torch.no_grad()(lambda x, y: x * y),
    ):
        outcome = call(cut, ("x", "y"), inputs, way=way)
        assert (outcome.error, outcome.message) == ("NoGradient", "x")
    outcome = call(lambda x, y: 2 * x, ("x", "y"), inputs, way=way)
    assert (outcome.error, outcome.message) == ("NoGradient", "y")
    task = dataclasses.replace(TASK, way=way, hints={})
    for language, hidden in itertools.product(("ko", "en"), (True, False)):
        part = PartVerdict(TASK.parts[0], TASK.cases[0], outcome)
        said = report(Verdict(task, (part,)), language, hidden=hidden)
        assert "y" in said
        assert "gradient" in said
        other = dataclasses.replace(part, outcome=dataclasses.replace(outcome, message="other words"))
        assert "x, y" in report(Verdict(task, (other,)), language, hidden=hidden)


@pytest.mark.parametrize("kind", [TypeError, ValueError, KeyError])
def test_call_names_an_error_whose_own_words_fail(kind: type[Exception]) -> None:
    class Wordless(kind):  # type: ignore[misc, valid-type]
        def __str__(self) -> str:
            return None  # type: ignore[return-value]

    def answer(x: np.ndarray) -> np.ndarray:
        raise Wordless

    outcome = call(answer, ("x",), {"x": X})
    assert (outcome.error, outcome.message, outcome.line) == ("Wordless", "", "raise Wordless")


@pytest.mark.parametrize(
    ("kind", "said"), [("O", "object"), ("U3", "str"), ("c16", "complex128"), ("M8[s]", "datetime64")]
)
def test_call_says_of_what_an_array_is(kind: str, said: str) -> None:
    outcome = call(lambda x: np.empty(3, kind), ("x",), {"x": X})
    assert outcome.error == f"returned ndarray(dtype={said})"


def helper(x: np.ndarray) -> np.ndarray:
    raise ValueError("no")


@pytest.mark.parametrize("wraps", [lambda function: function, functools.lru_cache, "no_grad"])
def test_call_shows_the_line_in_whichever_cell_of_its_author(wraps: object) -> None:
    def answer(x: int) -> np.ndarray:
        return helper(np.ones(x))

    wrap = pytest.importorskip("torch").no_grad() if wraps == "no_grad" else wraps
    assert call(wrap(answer), ("x",), {"x": 3}).line == 'raise ValueError("no")'


@pytest.mark.parametrize("chosen", ["meta", "float64"])
def test_call_does_not_depend_on_what_a_notebook_chose_for_new_tensors(chosen: str) -> None:
    torch = pytest.importorskip("torch")

    class Doubles(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 2, bias=False)

        def forward(self, x: object) -> object:
            return self.linear(x) + torch.zeros(2)

    way = Way(kind="class", state=("linear.weight",), torch=True, gradients=("x", "linear.weight"))
    inputs = {"linear.weight": np.ones((2, 3), np.float32), "x": np.ones((5, 3), np.float32)}
    is_device = chosen == "meta"
    (torch.set_default_device if is_device else torch.set_default_dtype)(
        chosen if is_device else torch.float64
    )
    try:
        outcome = call(Doubles, (), inputs, way=way)
        after = torch.empty(1)
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    assert (outcome.error, outcome.message) == (None, "")
    np.testing.assert_array_equal(outcome.values[0], np.full((5, 2), 3.0))
    assert after.device.type == "meta" if is_device else after.dtype == torch.float64
