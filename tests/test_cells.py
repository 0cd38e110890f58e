"""The instructor's notebook: prose and code as they are written, and two cells for each task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mini import cell_of, edit, released_course

from course_lib.course import Course, CourseError
from course_lib.grading.bank import Bank
from course_lib.release.cells import solution_source, source_notebook
from course_lib.release.notebooks import require_bank


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """One of its own for each test, to change."""
    return released_course(tmp_path)


def test_solution_source_keeps_docstring_and_comments(bank: Bank) -> None:
    assert solution_source(bank.task("double")).splitlines() == [
        "def double(x):",
        '    """Twice x, shape (n,)."""',
        "    ### BEGIN SOLUTION",
        "    # a comment that only the instructor may see",
        "    factor = 2",
        "    return factor * x",
        "    ### END SOLUTION",
    ]


class Doubled:
    """x -> twice x"""

    factor = 2

    def __init__(self):
        # a comment that only the instructor may see
        self.times = self.factor

    def __call__(self, x):
        """x (n,) -> (n,)"""
        return self.times * x


def test_solution_source_of_a_class_marks_what_its_methods_do(bank: Bank) -> None:
    task = replace(bank.task("double"), name="Doubled", reference=Doubled)
    assert solution_source(task).splitlines() == [
        "class Doubled:",
        '    """x -> twice x"""',
        "",
        "    factor = 2",
        "",
        "    def __init__(self):",
        "        ### BEGIN SOLUTION",
        "        # a comment that only the instructor may see",
        "        self.times = self.factor",
        "        ### END SOLUTION",
        "",
        "    def __call__(self, x):",
        '        """x (n,) -> (n,)"""',
        "        ### BEGIN SOLUTION",
        "        return self.times * x",
        "        ### END SOLUTION",
    ]


def undocumented(x):
    return x


def other_name(x):
    """Documented."""
    return x


def nothing_to_write(x):
    """Documented."""


@pytest.mark.parametrize(
    ("function", "name", "sentence"),
    [
        (undocumented, "undocumented", "needs a docstring"),
        (nothing_to_write, "nothing_to_write", "and a body after it"),
        (other_name, "expected_name", "is called 'other_name'"),
    ],
)
def test_solution_source_refuses(bank: Bank, function: Callable[..., Any], name: str, sentence: str) -> None:
    task = replace(bank.task("double"), name=name, reference=function)
    with pytest.raises(CourseError, match=sentence):
        solution_source(task)


def test_source_notebook_has_two_cells_a_task(notebook_text: Path, bank: Bank) -> None:
    notebook = source_notebook(notebook_text, bank)
    assert [cell.id for cell in notebook.cells] == [
        "text-ko-1",
        "text-en-1",
        "code-ko-1",
        "code-en-1",
        "text-ko-2",
        "text-en-2",
        "double-solution",
        "double",
        "mean-solution",
        "mean",
        "text-ko-3",
        "text-en-3",
        "why",
    ]
    graded = cell_of(notebook, "double")
    assert graded.metadata.nbgrader.points == 3.0
    assert graded.source.splitlines()[-1] == 'check("double", double)'
    assert '    return mark("mini", task, function)' in graded.source.splitlines()


def test_source_notebook_keeps_prose_out_of_cells_that_nbgrader_overwrites(
    notebook_text: Path, bank: Bank
) -> None:
    ours = [cell for cell in source_notebook(notebook_text, bank).cells if "nbgrader" in cell.metadata]
    assert {cell.cell_type for cell in ours if cell.id != "why"} == {"code"}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (":task: mean", ":task: median", "no task 'median' in {tasks} (there are: double, mean, why)"),
        (":task: mean", ":task: double", "{notebook} places 'double' of {tasks} twice: cells 6 and 7"),
        (":task: why", ":tags: [ko]", "{tasks} has a task 'why', but {notebook} has no cell ':task: why'"),
        (
            '+++ {"tags": ["en"]}\n\nDouble',
            "+++\n\nDouble",
            "cell 5 ('Double it.') must have one of the tags",
        ),
        (
            '+++ {"tags": ["en"]}\n\nSay',
            '+++ {"tags": ["en", "ko"]}\n\nSay',
            "('Say why.') must have one of the tags",
        ),
        (
            "Double it.\n",
            "Double it.\n\n*4 points · easy · 5 minutes*\n",
            "{notebook} states other points than {tasks}: 4 for double (en), and not 3.",
        ),
        ("# 작은 문제집\n", "# 작은 문제집\n\n| 배점 | 8점 |\n", "8 in all (ko), and not 7.5."),
    ],
)
def test_source_notebook_names_both_places(
    notebook_text: Path, bank: Bank, old: str, new: str, sentence: str
) -> None:
    edit(notebook_text, old, new)
    with pytest.raises(CourseError) as caught:
        source_notebook(notebook_text, bank)
    assert sentence.format(notebook=notebook_text, tasks=notebook_text.with_name("tasks.py")) in str(
        caught.value
    )


def test_source_notebook_takes_the_points_that_the_bank_gives(notebook_text: Path, bank: Bank) -> None:
    edit(notebook_text, "두 배로 만드세요.\n", "두 배로 만드세요.\n\n*3점 · 쉬움 · 5분*\n")
    edit(notebook_text, "# A small problem set\n", "# A small problem set\n\n| Points | 7.5 (all code) |\n")
    assert source_notebook(notebook_text, bank).cells


def test_source_notebook_refuses_two_items_of_one_name(notebook_text: Path, bank: Bank) -> None:
    twice = replace(bank, written=(replace(bank.written[0], name="mean"),))
    with pytest.raises(CourseError, match="defines 'mean' 2 times"):
        source_notebook(notebook_text, twice)


def test_source_notebook_refuses_what_is_missing_or_not_utf8(notebook_text: Path, bank: Bank) -> None:
    notebook_text.write_bytes("제목".encode("cp949"))
    with pytest.raises(CourseError, match="is not UTF-8 text"):
        source_notebook(notebook_text, bank)
    notebook_text.unlink()
    with pytest.raises(CourseError, match=r"mini.md is missing"):
        source_notebook(notebook_text, bank)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1\ndef f(:\n", "tasks.py, line 2 cannot be loaded (SyntaxError"),
        ("x = 1\n\ny = z\n", "tasks.py, line 3 cannot be loaded (NameError"),
        ("BANK = 3\n", "must define BANK"),
    ],
)
def test_require_bank_names_the_line(course: Course, text: str, sentence: str) -> None:
    (course.solutions / "mini" / "tasks.py").write_text(text)
    with pytest.raises(CourseError) as caught:
        require_bank(course.solutions / "mini")
    assert sentence in str(caught.value)
