from __future__ import annotations

from pathlib import Path

import pytest
from mini import edit, make_course, snapshot

from course_lib import cli
from course_lib.course import Course, CourseError, find_course
from course_lib.grading.bank import load_bank
from course_lib.release.new_task import missing, scaffold
from course_lib.release.notebooks import release

ROOT = Path(__file__).parents[1]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return make_course(tmp_path)


def test_scaffold_adds_a_task_that_can_be_released(course: Course) -> None:
    before = [task.name for task in load_bank(course.solutions / "mini").tasks]
    scaffold(course, "mini", "row_sums")
    bank = load_bank(course.solutions / "mini")
    assert [task.name for task in bank.tasks] == [*before, "row_sums"]
    assert release(course, "mini").tasks == len(before) + 2
    assert "def row_sums(x):" in (course.exercises / "ko" / "mini" / "mini.ipynb").read_text(encoding="utf-8")


def test_missing_names_all_that_a_scaffold_lacks(course: Course) -> None:
    scaffold(course, "mini", "row_sums")
    assert missing(course, "mini", "row_sums") == [
        "7 more named mistakes: there are 1, at least 8 are asked for",
        "4 more other right answers: there are 0, at least 4 are asked for",
        "the docstring of the reference: shapes, and what comes back",
        "the hint for row_sums_wrong, in ko",
        "the hint for row_sums_wrong, in en",
        "the title of part numbers, in ko",
        "the title of part numbers, in en",
        "see: 'TODO.html#TODO' is no place in the book; write CHAPTER.html#LABEL",
        "the notebook's text before :task: row_sums still says TODO",
    ]


def test_missing_names_what_fails(course: Course) -> None:
    scaffold(course, "mini", "row_sums")
    tasks = course.solutions / "mini" / "tasks.py"
    edit(tasks, "return x * 1.0", "raise KeyError")
    assert "the reference: on part numbers it ends in KeyError" in missing(course, "mini", "row_sums")
    edit(
        tasks, 'return [{"x": rng.normal(size=5)}, {"x": rng.normal(size=7)}]\n\n\nROW', "return []\n\n\nROW"
    )
    assert "the draws of part numbers: they give no inputs" in missing(course, "mini", "row_sums")


def test_nothing_is_missing_of_the_tasks_that_are_taught() -> None:
    course = find_course(ROOT)
    names = [task.name for task in load_bank(course.solutions / "ps1").tasks]
    assert {name: missing(course, "ps1", name) for name in names} == {name: [] for name in names}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("Row sums", "is no name for a task"), ("mean", "has a task 'mean' already"), ("why", "already")],
)
def test_scaffold_refuses(course: Course, name: str, sentence: str) -> None:
    before = snapshot(course.root)
    with pytest.raises(CourseError, match=sentence):
        scaffold(course, "mini", name)
    assert snapshot(course.root) == before


def test_missing_wants_a_task_that_is_there(course: Course) -> None:
    with pytest.raises(CourseError, match="mini has no task 'row_sums'"):
        missing(course, "mini", "row_sums")


def test_new_task_says_what_is_next(
    course: Course, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(course.root)
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    with pytest.raises(SystemExit) as end:
        cli.main(["new-task", "mini", "row_sums", "--add"])
    said = capsys.readouterr().out.splitlines()
    assert not end.value.code
    assert said[0] == "Added row_sums to solutions/mini/tasks.py."
    assert said[-1] == "Next: write what is lacking, then again: course new-task mini row_sums"
