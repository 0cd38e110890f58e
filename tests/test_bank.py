"""The test of the tests: right answers keep their points, named mistakes lose just what the bank says."""

import inspect
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from course_lib.checks import agree, call, judge
from course_lib.course import find_course
from course_lib.grading.bank import (
    BankError,
    draw_cases,
    draw_inputs,
    load_bank,
    load_bank_text,
    source_of,
    variant,
    visible_cases,
)

ROOT = Path(__file__).parent.parent
BANKS = {name: load_bank(ROOT / "solutions" / name) for name in find_course(ROOT).problem_sets}
TASKS = [pytest.param(task, id=f"{bank.name}-{task.name}") for bank in BANKS.values() for task in bank.tasks]
SEEDS = [f"draw {n}".encode() for n in range(7)]


def visible(task):
    return visible_cases(next(bank for bank in BANKS.values() if task in bank.tasks))


def test_a_hint_is_written_once():
    """What several tasks say is a name, in course_lib.grading.hints where it serves several problem sets."""
    written = defaultdict(set)
    for bank in BANKS.values():
        for task in bank.tasks:
            for mistake in task.mistakes:
                written[mistake.hint].add(id(mistake.hint))
    assert [hint.en for hint, objects in written.items() if len(objects) > 1] == []


# Every test of a bank runs on a few draws each time, and on more of them in the slow run.
some_and_more_draws = pytest.mark.parametrize(
    "draws", [pytest.param(1, id="some"), pytest.param(7, id="more", marks=pytest.mark.slow)]
)


@cache
def every_draw(task, draws=1):
    """The cases that students see, then what grading may draw."""
    seen = next(cases for cases in visible(task) if cases.name == task.name)
    seeds = SEEDS[: draws if task.memory is None else min(draws, 2)]  # what fills memory takes its time
    return [seen, *(draw_cases(task, seed, rounds=3) for seed in seeds)]


@some_and_more_draws
@pytest.mark.parametrize("task", TASKS)
def test_reference_keeps_all_points(task, draws):
    assert all(judge(cases, task.reference).points == task.points for cases in every_draw(task, draws))


def right_in_float32(task, cases):
    """Whether inputs of half the digits give what all digits give: results, and gradients where there are some."""
    for case in cases.cases:
        inputs = {name: less_precise(value) for name, value in case.inputs.items()}
        got = call(task.reference, cases.required, inputs, way=cases.way, forbidden=cases.forbidden)
        if not agree(got, case.right, rtol=cases.rtol, atol=cases.atol):
            return False
    return True


def less_precise(value):
    is_floating = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return value.astype(np.float32) if is_floating else value


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_reference_is_never_refused_by_chance_in_either_precision(task):
    for n in range(300):
        cases = draw_cases(task, f"chance {n}".encode())
        assert (n, judge(cases, task.reference).points) == (n, task.points)
        assert (n, right_in_float32(task, cases)) == (n, True)


@some_and_more_draws
@pytest.mark.parametrize("task", TASKS)
def test_reference_in_float32_keeps_all_points(task, draws):
    assert all(right_in_float32(task, cases) for cases in every_draw(task, draws))


TORCH = [pytest.param(task, id=task.name) for bank in BANKS.values() for task in bank.tasks if task.way.torch]


@pytest.mark.parametrize("task", TORCH)
def test_a_solution_in_torch_makes_its_tensors_beside_its_inputs(task):
    """On another device than the CPU: there is no GPU here, but meta tensors refuse to meet others as well."""
    torch = pytest.importorskip("torch")
    for _, inputs in draw_inputs(task, b"device"):
        given = {n: torch.as_tensor(v).to("meta") for n, v in inputs.items() if isinstance(v, np.ndarray)}
        for name in {*task.way.gradients} & {*given} - {*task.way.state}:
            given[name].requires_grad_()
        sizes = {name: value for name, value in inputs.items() if name not in given}
        if task.way.kind == "class":
            asked = task.reference(**sizes).to("meta")
            result = asked(**{name: value for name, value in given.items() if name not in task.way.state})
        else:
            result = task.reference(**given, **sizes)
        results = result if isinstance(result, tuple) else (result,)
        sum(one.sum() for one in results).backward()
        assert {one.device.type for one in results} == {"meta"}


@some_and_more_draws
@pytest.mark.parametrize("task", TASKS)
def test_right_answers_keep_all_points(task, draws):
    for cases in every_draw(task, draws):
        kept = {answer.__name__: judge(cases, answer).points for answer in task.right_answers}
        assert kept == dict.fromkeys(kept, task.points)


@cache
def judged(task, draws):
    """Each mistake with its verdict, on every draw."""
    return [
        (mistake, judge(cases, mistake.function))
        for cases in every_draw(task, draws)
        for mistake in task.mistakes
    ]


@some_and_more_draws
@pytest.mark.parametrize("task", TASKS)
def test_mistakes_lose_just_the_parts_the_bank_names(task, draws):
    for mistake, verdict in judged(task, draws):
        lost = {part.part.name for part in verdict.parts if not part.earned}
        assert (mistake.name, lost) == (mistake.name, mistake.loses)


@some_and_more_draws
@pytest.mark.parametrize("task", TASKS)
def test_mistakes_are_named_to_whoever_makes_them(task, draws):
    for mistake, verdict in judged(task, draws):
        assert verdict.mistakes == [mistake.name]


@pytest.mark.parametrize("task", TASKS)
def test_an_untouched_stub_earns_nothing(task):
    def stub(*_, **__):
        raise NotImplementedError

    assert judge(draw_cases(task, b"stub"), stub).points == 0


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_what_the_house_asks_for(task):
    assert len(task.mistakes) >= 8
    assert len(task.right_answers) >= 4
    names = [mistake.name for mistake in task.mistakes]
    assert len(names) == len(set(names))
    for text in [part.title for part in task.parts] + [mistake.hint for mistake in task.mistakes]:
        assert text.ko.strip()
        assert text.en.strip()
    assert all(mistake.loses <= {part.name for part in task.parts} for mistake in task.mistakes)
    assert all(mistake.loses for mistake in task.mistakes)


@pytest.mark.parametrize("task", TASKS)
def test_draws_are_the_same_for_a_seed_and_differ_between_seeds(task):
    def drawn(seed):
        return [
            value.tobytes()
            for case in draw_cases(task, seed).cases
            for value in case.inputs.values()
            if isinstance(value, np.ndarray)
        ]

    assert drawn(b"one") == drawn(b"one")
    assert drawn(b"one") != drawn(b"another")


@pytest.mark.parametrize("task", TASKS)
def test_see_names_a_place_in_the_book(task):
    chapter, label = task.see.split(".html#")
    assert f"({label})=" in (ROOT / "book" / "ko" / f"{chapter}.md").read_text(encoding="utf-8")


def reference(x):
    """x -> twice x"""
    return 2 * x


def test_variant_exchanges_a_piece_and_keeps_its_source():
    tripled = variant(reference, "tripled", ("2 * x", "3 * x"))
    assert (tripled(5), reference(5), tripled.__name__) == (15, 10, "tripled")
    assert inspect.getsource(tripled).startswith("def tripled(x):")


def test_variant_refuses_a_piece_that_is_not_there_once():
    with pytest.raises(BankError, match="stands 0 times in reference"):
        variant(reference, "wrong", ("4 * x", "x"))
    with pytest.raises(BankError, match="'x' stands 4 times"):
        variant(reference, "wrong", ("x", "y"))


class Doubled:
    """x -> factor * x"""

    def __init__(self, factor=2):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x


def test_variant_exchanges_a_piece_of_a_class_too():
    tripled = variant(Doubled, "Tripled", ("factor=2", "factor=3"))
    again = variant(tripled, "Negated", ("return self", "return -self"))
    assert (Doubled()(5), tripled()(5), again()(5), tripled.__name__) == (10, 15, -15, "Tripled")
    assert source_of(again).startswith("class Negated:")


def test_load_bank_says_what_is_missing(tmp_path):
    with pytest.raises(BankError, match=r"tasks\.py is missing"):
        load_bank(tmp_path)
    (tmp_path / "tasks.py").write_text("TASKS = []\n")
    with pytest.raises(BankError, match="must define BANK"):
        load_bank(tmp_path)


def test_load_bank_text_gives_the_bank_that_load_bank_gives():
    folder = ROOT / "tests" / "mini_course" / "solutions" / "mini"
    bank, again = load_bank(folder), load_bank_text((folder / "tasks.py").read_text(encoding="utf-8"), "mini")
    assert [draw_cases(task, b"seed").signature for task in again.tasks] == [
        draw_cases(task, b"seed").signature for task in bank.tasks
    ]
    assert "numpy.ndarray" in draw_cases(bank.task("mean"), b"seed").signature


WRITTEN = [pytest.param(written, id=written.name) for bank in BANKS.values() for written in bank.written]
# A formula or a number that a rubric asks for; the number of points is none.
ASKED = re.compile(r"(?<![\w.])(?:[\w()]+ = )?(?:\d+[a-z]\w*|√\w+|\w\^?²|\d+)(?!\w|\.\d)", re.A)


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("written", WRITTEN)
def test_model_answer_has_what_its_rubric_asks_for(written, language):
    rubric, answer = (getattr(text, language) for text in (written.rubric, written.model_answer))
    points = re.findall(r"(\d+)(?:점|\s+points?):", rubric)
    assert sum(map(int, points)) == written.points
    asked = set(ASKED.findall(re.sub(r"\d+(?:점|\s+points?):", "", rubric)))
    assert sorted(formula for formula in asked if formula not in answer) == []
