"""The sample class hands in what the bank holds: written as a notebook's cell, each answer still earns the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course_lib.checks import TaskCases, judge
from course_lib.course import find_course
from course_lib.grading.bank import Bank, load_bank, visible_cases
from course_lib.grading.sample import source_as

ROOT = Path(__file__).resolve().parents[1]


@cache
def bank_of(problem_set: str) -> tuple[Bank, dict[str, TaskCases]]:
    bank = load_bank(ROOT / "solutions" / problem_set)
    return bank, {cases.name: cases for cases in visible_cases(bank)}


def every_task() -> list[tuple[str, str]]:
    sets = find_course(ROOT).problem_sets
    return [(problem_set, task.name) for problem_set in sets for task in bank_of(problem_set)[0].tasks]


@pytest.mark.parametrize(("problem_set", "name"), every_task())
def test_source_as_stands_alone_and_earns_what_the_function_earns(problem_set: str, name: str) -> None:
    bank, cases = bank_of(problem_set)
    task = bank.task(name)
    for function in (*task.right_answers, *(mistake.function for mistake in task.mistakes)):
        names: dict[str, Any] = {"np": np}
        exec(source_as(function, name), names)
        written = judge(cases[name], names[name])
        assert written.points == judge(cases[name], function).points, function.__name__
