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
from submission_case import Case

import course_lib.grading.run as run
from course_lib.course import Course
from course_lib.grading.examiner import Limits
from course_lib.grading.report import StudentReport
from course_lib.grading.run import grade
from course_lib.grading.worker import Paper, paper_of
from course_lib.grading.workspace import nbgrader_at_work

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


# Of every group of reports that is about what was handed in, one; the others are about something else, and held there.
REPORTED = (
    "jupyter/nbgrader#427", "jupyter/nbgrader#917", "jupyter/nbgrader#1682", "jupyter/nbgrader#1374",
    "jupyter/nbgrader#1904", "jupyter/nbgrader#723", "jupyter/nbgrader#416", "jupyter/nbgrader#744",
    "jupyter/nbgrader#1375", "jupyter/nbgrader#1042", "otter-grader#413", "copyparty#1555",
)  # fmt: skip
ELSEWHERE = {
    "jupyter/nbgrader#174": "test_class_run.py::test_grade_gives_the_same_with_one_worker",
    "jupyter/nbgrader#1782": "test_leaks.py::test_find_leaks_finds",
    "jupyter/nbgrader#1932": "test_lateness.py::test_grade_takes_what_the_policy_says_and_takes_it_back",
    "Submitty#3316": "test_collect.py::test_collect_keeps_the_time_of_what_is_the_same",
    "jupyter/nbgrader#796": "test_export.py::test_export_into_canvass_own_file",
    "jupyter/nbgrader#530": "test_export.py::test_export_quotes_and_defuses",
    "PrairieLearn#4547": "test_collect.py::test_collect_reads_moodle_names",
    "cocalc#4925": "test_cli.py::test_grade_shows_old_marks_beside_new_ones",
    "papers on test suites": "test_mutants.py::test_a_mutant_is_refused_or_computes_the_same_for_a_listed_reason",
}


def test_every_report_from_the_field_has_its_file_or_its_test() -> None:
    assert set(REPORTED) <= {header(path).get("From") for path in FILES}
    for place in ELSEWHERE.values():
        file, _, test = place.partition("::")
        assert f"def {test}(" in Path(__file__).with_name(file).read_text(encoding="utf-8")


def test_every_report_from_the_field_is_told_apart() -> None:
    assert len(FILES) > 50
    assert len({path.read_text(encoding="utf-8").split("\n")[0] for path in FILES}) == len(FILES)
