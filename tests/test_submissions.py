"""Honest work in every state in which it comes: each hand-in gets the marks it deserves, or a sentence that says why.

Each file in tests/submissions/ is one hand-in. Its header says what it must give: `Marks`, or `Says` (unreadable) or
`Missing` with a part of the sentence; `Message` what an item's message holds, `Notes` what the report notes.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from mini import make_course
from submission_case import Case

import course_lib.grading.run as run
from course_lib.course import Course
from course_lib.grading.examiner import Limits
from course_lib.grading.report import StudentReport
from course_lib.grading.run import grade
from course_lib.grading.worker import Paper, paper_of
from course_lib.grading.workspace import nbgrader_at_work
from course_lib.release.notebooks import release

FILES = sorted((Path(__file__).parent / "submissions").glob("*.py"))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"submission_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def header(path: Path) -> dict[str, str]:
    """What a file's docstring says that it must give."""
    doc = path.read_text(encoding="utf-8").split('"""')[1]
    return dict(re.findall(r"^(From|Student|Marks|Says|Missing|Message|Notes): (.*)$", doc, re.MULTILINE))


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = make_course(tmp_path_factory.mktemp("course"))
    release(course, "mini")
    return course


@pytest.fixture(scope="module")
def impatient() -> Iterator[None]:
    """Limits of a few seconds, so that what never ends is soon stopped."""

    def paper(course: Course, problem_set: str, *, walls: bool = True) -> Paper:
        limits = Limits(cell=4.0, call=2.0, notebook=30.0)
        return replace(paper_of(course, problem_set, walls=walls), limits=limits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "paper_of", paper)
        yield


@pytest.fixture(scope="module")
def reports(course: Course, impatient: None) -> dict[str, StudentReport]:
    """All of them as one class: what one hands in must not cost another."""
    submitted = course.root / "handed-in"
    for path in FILES:
        load(path).build(Case(course, submitted, path.stem))
    report = grade(course, "mini", submitted, course.root / "workspace")
    return {student.id: student for student in report.students}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_submission_gets_what_it_deserves(path: Path, reports: dict[str, StudentReport]) -> None:
    must = header(path)
    student = reports[must.get("Student", path.stem)]
    assert len({"Marks", "Says", "Missing"} & must.keys()) == 1, "the header says what it must give"
    for key, status in (("Says", "unreadable"), ("Missing", "missing")):
        if key in must:
            assert student.status == status
            assert must[key] in student.note
            assert [item.score for item in student.items] == [0.0, 0.0, 0.0]
    if "Marks" in must:
        marks = {item.id: "waits" if item.score is None else f"{item.score:g}" for item in student.items}
        given = ", ".join(f"{name} {mark}" for name, mark in marks.items())
        assert given == must["Marks"], [student.note, *(item.message for item in student.items)]
    if "Message" in must:
        name, _, part = must["Message"].partition(": ")
        assert part in {item.id: item.message for item in student.items}[name]
    assert must.get("Notes", "") in student.note
    assert "\n" not in student.note


def test_the_gradebook_says_what_the_report_says(course: Course, reports: dict[str, StudentReport]) -> None:
    from nbgrader.api import Gradebook

    with (
        nbgrader_at_work(),
        Gradebook(f"sqlite:///{course.root / 'workspace' / 'gradebook.db'}") as gradebook,
    ):
        kept = {row["student"]: row["score"] for row in gradebook.submission_dicts("mini")}
    assert {name: report.score for name, report in reports.items()} == {
        **dict.fromkeys(reports, 0.0),
        **kept,
    }


def test_every_report_from_the_field_is_told_apart() -> None:
    assert len(FILES) > 50
    assert len({path.read_text(encoding="utf-8").split("\n")[0] for path in FILES}) == len(FILES)
