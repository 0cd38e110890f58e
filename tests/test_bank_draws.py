"""What every draw of every task shows: lengths that tell the axes apart, and inputs at which mistakes come to light.

A reference's docstring names the axes of its inputs, "q (..., n_q, d_k)": lengths are held against these names.
"""

import dis
import inspect
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from course_lib.course import find_course
from course_lib.grading.bank import draw_cases, draw_inputs, load_bank, source_of, visible_seed

ROOT = Path(__file__).parents[1]
BANKS = [load_bank(ROOT / "solutions" / name) for name in find_course(ROOT).problem_sets]
TASKS = [pytest.param(bank, task, id=f"{bank.name}-{task.name}") for bank in BANKS for task in bank.tasks]
HIDDEN = 20
# Parts whose lengths can't be primes.
DIVIDED = {
    ("running_states", "equal"): "blocks of one size divide n_k",
    ("blocked_attention", "even"): "blocks of one size divide n_k",
    ("causal_attention", "whole"): "blocks of one size divide n_q and n_k",
}
# Parts whose answer follows from the numbers that are given, which are what the task is about.
BY_NUMBERS = {("attention_mask", "causal"): "nothing is padded, so that the mask follows from n_q and n_k"}


def draws(bank, task):
    """The inputs that students see, then those of hidden draws: lists of (part, inputs)."""
    seeds = [visible_seed(bank, task), *(f"hidden {n}".encode() for n in range(HIDDEN))]
    return [list(draw_inputs(task, seed)) for seed in seeds[: 3 if task.memory else None]]


@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_inputs_have_the_same_digits_on_every_machine(bank, task):
    """A BLAS has no say in them, or a first `make` elsewhere would change the exercises."""
    found, known = [part.draw for part in task.parts], set()
    while found:
        function = found.pop()
        known.add(function)
        names = {str(step.argval) for step in dis.get_instructions(function) if step.argval is not None}
        operators = {step.argrepr for step in dis.get_instructions(function) if step.opname == "BINARY_OP"}
        assert not names & {"linalg", "dot", "matmul", "einsum", "tensordot", "inner", "vecdot"}, function
        assert not operators & {"@", "@="}, function
        called = (function.__globals__.get(name) for name in names)
        found += [one for one in called if inspect.isfunction(one) and one not in known]


def asked(task):
    """What takes the inputs: the function, or the method that is called of a class."""
    return task.reference.forward if task.way.kind == "class" else task.reference


def axes_of(task):
    """The axes of each input that the docstring names, "n_q" or "heads * d"; and the names of all axes."""
    axes = {}
    text = inspect.getdoc(asked(task))
    for names, inside in re.findall(r"((?:\w+(?:, | and ))*\w+) \(([^()]*)\)", text.split("->")[0]):
        for name in re.split(r", | and ", names):
            axes[name] = [axis for axis in re.split(r",\s*", inside) if axis]
    named = re.findall(r"\w+", " ".join(re.findall(r"\(([^()]*)\)", text)))
    return axes, set(named)


def lengths_of(task, inputs):
    """The length of every axis by its name; and by the array's name, those of arrays whose axes have no names."""
    axes, named = axes_of(task)
    together = {name: value for name, value in inputs.items() if isinstance(value, int) and name in named}
    apart = {}
    for name, value in inputs.items():
        if name in axes and isinstance(value, np.ndarray):
            for axis, length in lengths_by_axis(axes[name], value.shape, inputs):
                assert together.setdefault(axis, length) == length, (axis, together)
        elif isinstance(value, np.ndarray) and name not in task.way.state:  # parameters are heads * d_k wide
            apart[name] = [length for length in value.shape if length != 1]
    return [list(together.values()), *apart.values()]


def lengths_by_axis(declared, shape, inputs):
    """(axis, length) but for a length of 1, which broadcasts and tells nothing."""
    inner = [axis for axis in declared if axis != "..."]
    outer = [f"batch {n}" for n in range(len(shape) - len(inner), 0, -1)]
    for axis, length in zip(reversed(outer + inner), reversed(shape), strict=False):
        *factors, axis = axis.split(" * ")
        if length != 1 and not axis.isdigit():
            yield axis, length // math.prod(inputs[factor] for factor in factors)


def is_prime(n):
    return n > 1 and all(n % divisor for divisor in range(2, math.isqrt(n) + 1))


@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_axes_are_different_primes(bank, task):
    for drawn in draws(bank, task):
        for part, inputs in drawn:
            for lengths in lengths_of(task, inputs):
                assert len(set(lengths)) == len(lengths), (part.name, lengths)
                assert all(map(is_prime, lengths)) or (task.name, part.name) in DIVIDED, (part.name, lengths)


@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_no_part_asks_only_what_students_have_the_answers_of(bank, task):
    """Of what is always the same, the answers are in cases.npz, to be looked up."""

    def by_part(drawn):
        found = {}
        for part, inputs in drawn:
            values = [
                (name, np.asarray(value).shape, np.asarray(value).tobytes()) for name, value in inputs.items()
            ]
            found.setdefault(part.name, set()).add(tuple(values))
        return found

    visible, *hidden = map(by_part, draws(bank, task))
    for part, seen in visible.items():
        assert any(drawn[part] - seen for drawn in hidden), part


def batches_of(task, inputs):
    """The batch axes of each input that the docstring gives some."""
    for name, axes in axes_of(task)[0].items():
        if axes[:1] == ["..."] and isinstance(inputs.get(name), np.ndarray):
            yield inputs[name].shape[: inputs[name].ndim - len(axes) + 1]


@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_batch_axes_of_the_result_are_not_always_those_of_the_first_input(bank, task):
    """Who makes room for a result of the shape of q, and fills it, is right wherever K and V have no more axes."""
    for drawn in draws(bank, task):
        batches = [list(batches_of(task, inputs)) for _, inputs in drawn]
        if any(len({*shapes} - {()}) > 1 for shapes in batches):
            assert any(shapes[0] != np.broadcast_shapes(*shapes) for shapes in batches if shapes)


@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_an_axis_of_length_1_stays_in_a_result(bank, task):
    """Who drops it, by np.squeeze say, is right wherever every batch axis is longer."""
    if not re.search(r"\.\.\.|\bbatch\b", inspect.getdoc(asked(task))):
        pytest.skip("a task without batch axes")
    for seed in (visible_seed(bank, task), b"hidden"):
        right = [case.right for case in draw_cases(task, seed).cases]
        assert any(1 in value.shape for outcome in right for value in outcome.values)


def seen_at_a_glance(inputs):
    """Numbers, and the shapes of arrays: all that whoever looks at no entry knows."""
    return tuple((name, getattr(value, "shape", value)) for name, value in inputs.items())


@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_no_part_is_earned_by_what_usually_comes_out_for_such_shapes(bank, task):
    """Guessing the commonest answer of all draws for such shapes and numbers earns a part in half of them at most."""
    drawn = [draw_cases(task, f"hidden {n}".encode()).cases for n in range(3 if task.memory else HIDDEN)]
    for part in {part.name for part in task.parts} - {name for of, name in BY_NUMBERS if of == task.name}:
        answers = {}
        for n, cases in enumerate(drawn):
            for case in cases:
                if case.part == part:
                    answer = tuple(value.astype(float).round(4).tobytes() for value in case.right.values)
                    answers.setdefault((n, part), []).append((seen_at_a_glance(case.inputs), answer))
        commonest = {}
        for shapes in {shapes for given in answers.values() for shapes, _ in given}:
            counts = Counter(a for given in answers.values() for a in {a for s, a in given if s == shapes})
            answer, times = counts.most_common(1)[0]
            commonest[shapes] = answer if times > 1 else None
        guessed = [all(commonest[s] == answer for s, answer in given) for given in answers.values()]
        assert sum(guessed) <= len(guessed) / 2, part


def test_the_exceptions_exist():
    known = {(task.name, part.name) for bank in BANKS for task in bank.tasks for part in task.parts}
    assert {*DIVIDED, *BY_NUMBERS} <= known


@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_each_option_is_left_out_and_given_another_value(bank, task):
    """A call without a mask, a scale other than the default, and whatever else a function offers."""
    options = {
        name: parameter.default
        for name, parameter in inspect.signature(asked(task)).parameters.items()
        if parameter.default is not parameter.empty
    }
    for drawn in draws(bank, task):
        for name, default in options.items():
            given = [inputs[name] for _, inputs in drawn if name in inputs]
            assert len(given) < len(drawn), f"{name} is always given"
            assert any(value is not default for value in given), f"{name} is never given"


def in_columns(task):
    return axes_of(task)[0].get("q", [""])[-1] == "n_q"


def dead_rows(task, inputs):
    """For each input that can hold a row which reads nothing, whether one does."""
    for name in {"mask", "valid"} & inputs.keys():
        yield not inputs[name].any(axis=-2 if in_columns(task) else -1).all()
    for name in {"logits", "scores"} & inputs.keys():
        yield inputs[name].max(axis=-1).min() == -np.inf
    if "weights" in inputs:
        yield not inputs["weights"].any(axis=-1).all()
    for name in {"offset", "offsets"} & inputs.keys():
        yield np.min(inputs[name]) < 0
    if "first" in inputs:
        yield np.maximum(inputs["first"], inputs["second"])[..., 0].min() == -np.inf


@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_a_row_that_reads_nothing_occurs(bank, task):
    for drawn in draws(bank, task):
        found = [dead for _, inputs in drawn for dead in dead_rows(task, inputs)]
        assert any(found) or not found


def largest_logit(task, inputs):
    scale = abs(inputs.get("scale", 1.0))
    if "q" in inputs and "pairs" not in axes_of(task)[1]:
        q, k = (np.swapaxes(inputs[x], -1, -2) if in_columns(task) else inputs[x] for x in ("q", "k"))
        return scale * np.abs(finite(q) @ np.swapaxes(finite(k), -1, -2)).max()
    if "factors" in inputs:
        scale = np.abs(finite(inputs["factors"])).max()
    arrays = [inputs[name] for name in ("logits", "scores") if name in inputs]
    arrays = arrays or [value for value in inputs.values() if np.asarray(value).dtype.kind == "f"]
    return max((scale * np.abs(finite(array)).max() for array in arrays), default=0.0)


def finite(array):
    return np.where(np.isfinite(array), array, 0.0)


@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_logits_of_ten_thousand_occur_where_there_are_logits(bank, task):
    if not re.search(r"exp\(|softmax\(|attention\(|\bscores\b", source_of(task.reference)):
        return
    for drawn in draws(bank, task):
        assert max(largest_logit(task, inputs) for _, inputs in drawn) >= 1e4


def unread_values(task, inputs):
    """The Values that no Query may read."""
    name = "v" if "v" in inputs else "memory"
    if {"mask", name} <= inputs.keys() and inputs["mask"].ndim == 2:
        mask, values = inputs["mask"], inputs[name]
        if in_columns(task):
            mask, values = mask.T, values.T
        yield values[..., ~mask.any(axis=0), :]


@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_values_that_nobody_may_read_are_large(bank, task):
    for drawn in draws(bank, task):
        unread = [values for _, inputs in drawn for values in unread_values(task, inputs)]
        assert not unread or any((~(np.abs(values) < 1e3)).any() for values in unread)
