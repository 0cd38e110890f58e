"""Every mechanical mutant of a reference that computes something else is refused; those that don't are listed.

`surviving_mutants.toml` gives each survivor's reason, read by a person. A new survivor means that a draw doesn't show
what it should, or wants its reason there; one that survives no more leaves the list.
"""

import tomllib
from pathlib import Path

import pytest

from course_lib.course import find_course
from course_lib.grading.bank import Task, draw_cases, load_bank, visible_cases
from tests import mutants

ROOT = Path(__file__).parents[1]
LISTED = tomllib.loads((ROOT / "tests" / "surviving_mutants.toml").read_text(encoding="utf-8"))
BANKS = [load_bank(ROOT / "solutions" / name) for name in find_course(ROOT).problem_sets]
TASKS = [pytest.param(bank, task, id=f"{bank.name}-{task.name}") for bank in BANKS for task in bank.tasks]


@pytest.mark.slow
@pytest.mark.parametrize(("bank", "task"), TASKS)
def test_a_mutant_is_refused_or_computes_the_same_for_a_listed_reason(bank, task):
    seen = next(cases for cases in visible_cases(bank) if cases.name == task.name)
    drawn = [seen, *(draw_cases(task, f"mutants {n}".encode()) for n in range(3))]
    with mutants.bounded_memory():
        survivors = {name for name, mutant in mutants.mutants(task) if mutants.survives(mutant, drawn)}
    listed = LISTED.get(bank.name, {}).get(task.name, {})
    either_way = {name for name, reason in listed.items() if reason == "sort"}
    assert survivors - either_way == set(listed) - either_way


def test_every_listed_survivor_has_a_reason_and_every_reason_a_survivor():
    tables = {name: table for name, table in LISTED.items() if name != "reasons"}
    used = {reason for tasks in tables.values() for table in tasks.values() for reason in table.values()}
    assert used == set(LISTED["reasons"])
    known = {(bank.name, task.name) for bank in BANKS for task in bank.tasks}
    assert {(name, task) for name, tasks in tables.items() for task in tasks} <= known


def doubled_sum(x, y, n=2):
    """x, y -> n (x + y), by steps"""
    total = x - y
    total = x + y
    while n > 1:
        total, n = total + x + y, n - 1
    return total


def small(function):
    return Task("small", function, (), (), (), see="")


def test_mutants_change_operators_numbers_names_and_statements():
    names = {name for name, _ in mutants.mutants(small(doubled_sum))}
    assert {"x + y -> x - y", "n > 1 -> n >= 1", "n > 1 -> n > 2", "x + y -> y + y"} <= names
    assert any(name.endswith("while n > 1:; return total") for name in names)


def test_mutant_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr(mutants, "SECONDS", 1)

    def endless(x):
        while True:
            x = x + 0

    reference = BANKS[0].task("softmax")
    assert not mutants.survives(endless, [draw_cases(reference, b"endless")])
    assert mutants.survives(reference.reference, [draw_cases(reference, b"endless")])
