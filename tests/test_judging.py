"""What earns the points of a part, and which mistake is named."""

import dataclasses

import numpy as np
import pytest
from double_task import TASK, X, double

from course_lib.checks import Case, Outcome, PartInfo, Text, agree, judge


def test_judge_accepts_any_name_and_kind_of_the_first_argument():
    assert judge(TASK, lambda values, plus=0: values * 2 + plus).points == 3
    assert judge(TASK, lambda values, plus=0: (2 * values + plus).tolist()).points == 3
    assert judge(TASK, lambda values, plus=0: (2 * values + plus).astype("float32")).points == 3


def test_judge_accepts_torch_tensors_with_gradients():
    torch = pytest.importorskip("torch")
    assert judge(TASK, lambda x, plus=0: 2 * torch.tensor(x, requires_grad=True) + plus).points == 3


def test_judge_calls_torch_in_one_thread_and_gives_the_threads_back():
    torch = pytest.importorskip("torch")
    before, threads = torch.get_num_threads(), []

    def double_in_threads(x, plus=0):
        threads.append(torch.get_num_threads())
        return double(x, plus)

    torch.set_num_threads(2)
    try:
        assert judge(TASK, double_in_threads).points == 3
        assert (set(threads), torch.get_num_threads()) == ({1}, 2)
    finally:
        torch.set_num_threads(before)


def test_judge_gives_the_points_of_the_parts_that_hold():
    assert judge(TASK, lambda x, plus=0: 2 * x).points == 2


def test_judge_names_a_mistake_only_where_all_of_it_fits():
    assert judge(TASK, lambda x, plus=0: 3 * x + plus).mistakes == ["tripled"]
    assert judge(TASK, lambda x, plus=0: 4 * x + plus).mistakes == []


def test_judge_names_the_mistake_of_one_part_alone():
    verdict = judge(TASK, lambda x, plus=0: 3 * x + 1 if plus else 2 * x)
    assert (verdict.points, verdict.mistakes) == (2, ["tripled"])


def three_parts(**mistakes):
    """A task of three cases, a part each: what `mistakes` give, beside twice x."""
    names = ("one", "two", "three")
    inputs = {"one": X, "two": X + 1, "three": X + 2}
    return dataclasses.replace(
        TASK,
        parts=tuple(PartInfo(name, 1, Text(name, name)) for name in names),
        hints={name: Text(name, name) for name in mistakes},
        cases=tuple(
            Case(
                name,
                {"x": inputs[name]},
                Outcome(2 * inputs[name]),
                {mistake: Outcome(function(inputs[name])) for mistake, function in mistakes.items()},
            )
            for name in names
        ),
    )


def test_judge_names_a_mistake_beside_another_in_fewer_parts():
    """Two of three parts are three times; the third is that and something else."""
    task = three_parts(tripled=lambda x: 3 * x)
    verdict = judge(task, lambda x: 3 * x if x[0, 0] < 3 else 7 * x)
    assert [part.mistake for part in verdict.parts] == ["tripled", "tripled", None]


def test_judge_names_of_two_mistakes_the_one_that_spares_what_is_right():
    task = three_parts(always=lambda x: 3 * x, late=lambda x: 3 * x if x[0, 0] == 3 else 2 * x)
    assert judge(task, lambda x: (3 if x[0, 0] == 3 else 2) * x).mistakes == ["late"]
    only_always = dataclasses.replace(task, hints={"always": Text("", "")})
    assert judge(only_always, lambda x: (3 if x[0, 0] == 3 else 2) * x).mistakes == ["always"]


def test_judge_names_no_mistake_by_an_error_alone_where_it_would_lose_more():
    """Errors and NaN come of many causes: what else would be lost, and is right, speaks against them."""

    def fails(x):
        raise ValueError("operands could not be broadcast")

    for outcome in (Outcome(error="ValueError"), Outcome(np.full_like(X, np.nan))):
        task = three_parts(always=lambda x: x)
        cases = [dataclasses.replace(case, mistakes={"always": outcome}) for case in task.cases]
        task = dataclasses.replace(task, cases=tuple(cases))
        wrong = fails if outcome.error else lambda x: np.full_like(x, np.nan)
        verdict = judge(task, lambda x, wrong=wrong: wrong(x) if x[0, 0] == 1 else 2 * x)
        assert (verdict.points, verdict.mistakes) == (2, [])
        assert judge(task, wrong).mistakes == ["always"]


def test_judge_names_no_mistake_by_an_error_where_what_it_would_earn_is_an_error_too():
    """What fails in every part comes of something else than a mistake that fails in one."""

    def fails(x):
        raise ValueError("operands could not be broadcast")

    task = three_parts(late=lambda x: 2 * x)
    *others, last = task.cases
    error = Outcome(error="ValueError", message="operands could not be broadcast")
    task = dataclasses.replace(task, cases=(*others, dataclasses.replace(last, mistakes={"late": error})))
    assert judge(task, lambda x: fails(x) if x[0, 0] == 3 else 2 * x).mistakes == ["late"]
    assert judge(task, lambda x: fails(x) if x[0, 0] == 3 else 7 * x).mistakes == ["late"]
    assert judge(task, fails).mistakes == []


def test_judge_names_no_mistake_by_nan_alone_where_more_parts_have_wrong_numbers():
    """A sum over the wrong axis is 0 here and there, too: that no maximum was subtracted is not what it shows."""
    task = three_parts(overflows=lambda x: np.full_like(x, np.nan) if x[0, 0] == 3 else 2 * x)
    assert judge(task, lambda x: np.full_like(x, np.nan) if x[0, 0] == 3 else 2 * x).mistakes == ["overflows"]
    assert judge(task, lambda x: np.full_like(x, np.nan) if x[0, 0] == 3 else 7 * x).mistakes == []


def test_judge_names_no_mistake_that_another_part_contradicts():
    """Where plus is 1, it is three times by chance; where it is not, it is something else."""
    assert judge(TASK, lambda x, plus=0: 3 * x + 1 if plus else 5 * x).mistakes == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, plus=0: (2 * x + plus).T,
        lambda x, plus=0: (2 * x + plus)[None],
        lambda x, plus=0: (2 * x + plus) * (1 + 1e-4),
        lambda x, plus=0: None,
        lambda x, plus=0: "2 * x",
        lambda x, plus=0: [object()],
        lambda x, plus=0: [[1, 2], [3]],
        lambda x, plus=0: 1 / 0,
        lambda x, plus=0: np.full(x.shape, np.nan),
        lambda x, plus=0: 2j * x,
        lambda x: 2 * x[0],
        None,
        7,
    ],
)
def test_judge_gives_nothing_for_what_is_wrong(wrong):
    assert judge(TASK, wrong).points == 0


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (Outcome(X), Outcome(X.astype("float32")), True),
        (Outcome(X), Outcome(X + 1e-3), False),
        (Outcome(X), Outcome(X[0]), False),
        (Outcome(np.array([np.nan, -np.inf])), Outcome(np.array([np.nan, -np.inf])), True),
        (Outcome(np.array([np.inf])), Outcome(np.array([-np.inf])), False),
        (Outcome(np.array([True])), Outcome(np.array([1.0])), False),
        (Outcome(np.array([1])), Outcome(np.array([1.0])), True),
        (Outcome(X), Outcome(X, changed=True), False),
        (Outcome(error="ValueError"), Outcome(error="ValueError", message="other words"), True),
        (Outcome(error="ValueError", message="some"), Outcome(error="ValueError", message="other"), False),
        (Outcome(error="TypeError", message="some"), Outcome(error="TypeError", message="other"), False),
        (
            Outcome(error="TypeError", message="unsupported operand type(s) for *: 'int' and 'NoneType'"),
            Outcome(error="TypeError", message="unsupported operand type(s) for +: 'NoneType' and 'int'"),
            True,
        ),
        (Outcome(error="KeyError", message="some"), Outcome(error="KeyError", message="other"), True),
        (
            Outcome(error="ValueError", message="shapes (5,7) (5,)"),
            Outcome(error="ValueError", message="shapes (3,2) (3,)"),
            True,
        ),
        (Outcome(error="ValueError"), Outcome(error="TypeError"), False),
        (Outcome(error="ValueError"), Outcome(X), False),
    ],
)
def test_agree_compares_what_counts(first, second, same):
    assert agree(first, second, rtol=1e-5, atol=1e-6) is same
    assert agree(second, first, rtol=1e-5, atol=1e-6) is same
