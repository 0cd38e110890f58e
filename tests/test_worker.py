"""A worker: what it says where it can't examine, and which changes of the library it notices."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import course_lib
import course_lib.grading.worker as worker
from course_lib.course import Course
from course_lib.grading.notebook import packed, read_notebook
from course_lib.grading.worker import NoRoom, Unit, begin, examine_unit, paper_of


@pytest.fixture(scope="module")
def course(course: Course) -> Iterator[Course]:
    yield course
    worker.end()


def test_examine_unit_says_what_an_examiner_stumbles_over(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: object) -> None:
        raise RecursionError("too deep")

    paper = paper_of(course, "mini")
    begin(paper)
    notebook = packed(read_notebook(course.exercises / "en" / "mini" / "mini.ipynb"))
    monkeypatch.setattr(worker, "examine", stumble)
    result = examine_unit(Unit("student-001", notebook, paper.digest))
    assert result.failure == "the notebook could not be examined (RecursionError: too deep)"


def test_examine_unit_refuses_another_library(course: Course) -> None:
    paper = replace(paper_of(course, "mini"), library="another")
    begin(paper, elsewhere=True)
    with pytest.raises(NoRoom, match="another version of course_lib"):
        examine_unit(Unit("student-001", "{}", paper.digest))


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("attention.py", True),
        ("checks/judging.py", True),
        ("grading/student_room/server.py", True),
        ("people/export.py", False),
        ("cli/grading.py", False),
    ],
)
def test_library_digest_covers_what_may_change_a_mark(
    name: str, counts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = shutil.copytree(Path(course_lib.__file__).parent, tmp_path / "course_lib")
    monkeypatch.setattr(course_lib, "__file__", str(copied / "__init__.py"))
    digest = worker.library_digest.__wrapped__  # it is kept otherwise
    before = digest()
    with (copied / name).open("a") as file:
        file.write("# more")
    assert (digest() != before) is counts
