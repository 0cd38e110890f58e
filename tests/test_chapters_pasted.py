"""No code of a chapter, and no function of the library, pasted into a task, earns all its points.

A cell becomes an answer in two ways, after all cells of its chapter have run:
- every function that a chapter defines is the answer to every task, called with what it names alike, else by place;
  so is every function of the library;
- every cell is the body of an answer: it runs with the task's inputs under their own names and under those of the
  chapter, and gives back its last expression, or what its last assignment binds.
"""

import ast
import contextlib
import inspect
import io
import re
from functools import cache
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

import course_lib
from course_lib.checks import agree, call, judge, report
from course_lib.course import find_course
from course_lib.grading.bank import for_students, load_bank, visible_cases

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted(path.stem for path in (ROOT / "book" / "en").glob("*.md"))
BANKS = [load_bank(ROOT / "solutions" / name) for name in find_course(ROOT).problem_sets]
FENCE = re.compile(r"^`{3}\{code-cell\}[^\n]*\n(.*?)^`{3}", re.M | re.S)


def cells_of(chapter):
    text = (ROOT / "book" / "en" / f"{chapter}.md").read_text(encoding="utf-8")
    found = [
        re.sub(r"\A(---\n.*?\n---\n|(:[^\n]*\n)+)", "", cell, flags=re.S) for cell in FENCE.findall(text)
    ]
    return [cell for cell in found if cell.strip()]


def run(code, space):
    with contextlib.redirect_stdout(io.StringIO()), np.printoptions():
        exec(code, space)


@cache
def executed(chapter):
    import matplotlib.pyplot as plt

    space = {"__name__": chapter}
    for cell in cells_of(chapter):
        run(compile(cell, chapter, "exec"), space)
    plt.close("all")
    return space


def pasted_functions(chapter):
    names = [
        node.name
        for cell in cells_of(chapter)
        for node in ast.walk(ast.parse(cell))
        if isinstance(node, ast.FunctionDef)
    ]
    space = executed(chapter)
    return [space[name] for name in names if isinstance(space.get(name), FunctionType)]


def as_answer(function, reference):
    """The function called with the task's inputs: those it names alike by name, the others in their order."""

    def answer(*given, **named):
        inputs = inspect.signature(reference).bind(*given, **named).arguments
        wanted = inspect.signature(function).parameters
        left = [value for name, value in inputs.items() if name not in wanted]
        chosen = {}
        for name, parameter in wanted.items():
            if name in inputs:
                chosen[name] = inputs[name]
            elif parameter.default is parameter.empty and left:
                chosen[name] = left.pop(0)
        return function(**chosen)

    return answer


def returning(cell):
    """The cell's code, which leaves its last value in `_answer`; None where it has none."""
    tree = ast.parse(cell)
    last = tree.body[-1]
    if isinstance(last, ast.Assign):
        tree.body.append(ast.Assign([ast.Name("_answer", ast.Store())], ast.parse("0").body[0].value))
        tree.body[-1].value = ast.parse(ast.unparse(last.targets[0]), mode="eval").body
    elif isinstance(last, ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("_answer", ast.Store())], last.value)
    else:
        return None
    return compile(ast.fix_missing_locations(tree), "<cell>", "exec")


def cells_as_answers(chapter, reference):
    space = executed(chapter)
    for code in filter(None, map(returning, cells_of(chapter))):

        def answer(*given, code=code, **named):
            inputs = inspect.signature(reference).bind(*given, **named).arguments
            inner = {**space, **inputs}
            run(code, inner)
            return inner["_answer"]

        yield answer


def earns_all(cases, answer):
    """Whether the answer is right in every case: found out without asking what each mistake gives."""
    return all(
        agree(
            call(answer, cases.required, case.inputs, way=cases.way, forbidden=cases.forbidden),
            case.right,
            rtol=cases.rtol,
            atol=cases.atol,
        )
        for case in cases.cases
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_code_of_a_chapter_earns_all_points_of_a_task(chapter):
    found = []
    for bank in BANKS:
        for task, cases in zip(bank.tasks, visible_cases(bank), strict=True):
            answers = [*pasted_functions(chapter)]
            whole = [
                function.__name__
                for function in answers
                if earns_all(cases, as_answer(function, task.reference))
            ]
            whole += [
                f"cell {n}"
                for n, answer in enumerate(cells_as_answers(chapter, task.reference))
                if earns_all(cases, answer)
            ]
            found += [(bank.name, task.name, name) for name in whole]
    assert found == []


# What the library computes, too: these sets say so. No answer may call it.
OF_THE_LIBRARY = {("ps1", "scores"), ("ps1", "softmax"), ("ps1", "attention"), ("ps6", "blocked_attention")}


@pytest.mark.filterwarnings("ignore")
def test_no_function_of_the_library_earns_all_points_of_a_task_but_where_its_set_says_so():
    functions = [getattr(course_lib, name) for name in course_lib.__all__]
    functions = [function for function in functions if isinstance(function, FunctionType)]
    whole = {
        (bank.name, task.name)
        for bank in BANKS
        for task, cases in zip(bank.tasks, visible_cases(bank), strict=True)
        if any(earns_all(cases, as_answer(function, task.reference)) for function in functions)
    }
    assert whole == OF_THE_LIBRARY


def test_no_function_of_the_library_earns_a_point_when_an_answer_calls_it():
    """Grading knows no library, so the check that students have says the same."""
    for cases in visible_cases(BANKS[0]):
        if ("ps1", cases.name) in OF_THE_LIBRARY:
            verdict = judge(for_students(cases, ""), getattr(course_lib, cases.name))
            assert verdict.points == 0
            assert "course_lib" in report(verdict, "en")


def test_a_pasted_solution_would_be_noticed():
    bank = BANKS[0]
    task, cases = bank.tasks[0], visible_cases(bank)[0]
    assert earns_all(cases, as_answer(task.reference, task.reference))
    space = {"np": __import__("numpy")}
    code = returning("result = q @ np.swapaxes(k, -1, -2)")
    inner = {**space, **cases.cases[0].inputs}
    run(code, inner)
    assert (inner["_answer"] == cases.cases[0].right.value).all()
