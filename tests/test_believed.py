"""A worker elsewhere that lies: what it says is taken as far as an examination can have given it, and no further."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mini import DOUBLE, MEAN, hand_in

import course_lib.grading.run as run
from course_lib.course import Course
from course_lib.grading import worker
from course_lib.grading.believed import Disbelieved, believed
from course_lib.grading.class_run import examine_all
from course_lib.grading.outputs import MAX_CHARACTERS
from course_lib.grading.run import grade
from course_lib.grading.verdicts import LIMITS, Verdict
from course_lib.grading.worker import Examined, Unit, begin, examine_unit, paper_of

ANSWERS = {"double_solution": DOUBLE, "mean_solution": MEAN}
SHOWS = "import matplotlib.pyplot as plt\nprint('a' * 100_000)\nplt.plot([1, 2])\nplt.show()\n1 / 0"


@pytest.fixture(scope="module")
def course(course: Course) -> Iterator[Course]:
    yield course
    worker.end()


@pytest.fixture(scope="module")
def unit(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Unit:
    """What a run sends of a submission whose cells put out text, a picture and an error."""
    from course_lib.grading.intake import parse_submission
    from course_lib.grading.notebook import packed, read_notebook
    from course_lib.grading.repair import repair

    answers = {**ANSWERS, "double_solution": f"{ANSWERS['double_solution']}\n{SHOWS}"}
    path = hand_in(course, tmp_path_factory.mktemp("in"), "student-001", **answers)
    released = read_notebook(course.nbgrader / "release" / "mini" / "mini.ipynb")
    notebook = repair(parse_submission(path.name, path.read_bytes()), released)
    notebook.metadata = released.metadata
    paper = paper_of(course, "mini")
    begin(paper)
    return Unit("student-001", packed(notebook), paper.digest)


@pytest.fixture(scope="module")
def honest(unit: Unit) -> Examined:
    return examine_unit(unit)


def test_an_honest_result_is_taken_as_it_is(unit: Unit, honest: Examined) -> None:
    assert honest.verdicts["double"].points == 3.0
    assert "image/png" in honest.notebook
    assert believed(honest, unit) == honest


def test_a_failure_is_taken_in_plain_words(unit: Unit) -> None:
    failed = believed(Examined("student-001", failure="lost \x1b[2J<b>\n" + "x" * 10**6), unit)
    assert failed.failure.startswith("lost <b> xxx")
    assert len(failed.failure) <= 1000
    assert failed.verdicts == {}
    assert failed.notebook == ""


def of(notebook: Any, name: str) -> Any:
    """The cell that a task is graded in."""
    return next(
        c
        for c in notebook["cells"]
        if c["metadata"].get("nbgrader", {}).get("grade_id") == name and c["metadata"]["nbgrader"]["grade"]
    )


def first_of(notebook: Any) -> Any:
    """A cell that is the student's."""
    return next(c for c in notebook["cells"] if c["cell_type"] == "code" and c["outputs"])


def display(**data: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": data}


CHANGES: dict[str, Callable[[Any], Any]] = {
    "html": lambda nb: first_of(nb)["outputs"].append(display(**{"text/html": "<script>1</script>"})),
    "metadata of an output": lambda nb: first_of(nb)["outputs"].append(
        {**display(**{"text/plain": "1"}), "metadata": {"a": "b"}}
    ),
    "a picture that is none": lambda nb: first_of(nb)["outputs"].append(display(**{"image/png": "abcd"})),
    "escapes": lambda nb: first_of(nb)["outputs"].append(
        {"output_type": "stream", "name": "stdout", "text": "\x1b[2J"}
    ),
    "an output that is none": lambda nb: first_of(nb)["outputs"].append(3),
    "outputs that are none": lambda nb: first_of(nb).update(outputs={}),
    "much text": lambda nb: first_of(nb)["outputs"].append(
        {"output_type": "stream", "name": "stdout", "text": "x" * 5 * 2**20}
    ),
    "a huge notebook": lambda nb: first_of(nb)["outputs"].append(
        {"output_type": "stream", "name": "stdout", "text": "x" * 40 * 2**20}
    ),
    "another source": lambda nb: first_of(nb).update(source="double = None"),
    "more points than there are": lambda nb: of(nb, "double")["metadata"]["nbgrader"].update(points=100),
    "another item": lambda nb: of(nb, "double")["metadata"]["nbgrader"].update(grade_id="mean"),
    "an attachment": lambda nb: nb["cells"][0].update(attachments={"a": {"image/svg+xml": "<svg/>"}}),
    "a cell more": lambda nb: nb["cells"].append(nb["cells"][-1]),
    "a cell less": lambda nb: nb["cells"].pop(),
    "another kernel": lambda nb: nb["metadata"]["kernelspec"].update(name="evil"),
    "more metadata": lambda nb: nb["metadata"].update(widgets={}),
    "another version": lambda nb: nb.update(nbformat_minor=9),
    "odd limits": lambda nb: nb["metadata"].update({LIMITS: ["\x1b[2J"]}),
    "limits that are none": lambda nb: nb["metadata"].update({LIMITS: [{}]}),
    "another count": lambda nb: first_of(nb).update(execution_count="<b>1</b>"),
    "no metadata": lambda nb: nb.pop("metadata"),
    "no cells": lambda nb: nb.pop("cells"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_notebook_is_not_believed(unit: Unit, honest: Examined, change: Callable[[Any], Any]) -> None:
    notebook = json.loads(honest.notebook)
    change(notebook)
    with pytest.raises(Disbelieved):
        believed(replace(honest, notebook=json.dumps(notebook)), unit)


@pytest.mark.parametrize("text", ["", "null", "[]", "{", "[" * 10**6, '{"cells": 1e999}', "\ud800", 7, None])
def test_what_is_no_notebook_is_not_believed(unit: Unit, honest: Examined, text: Any) -> None:
    with pytest.raises(Disbelieved):
        believed(replace(honest, notebook=text), unit)


def test_what_is_too_large_is_not_believed(unit: Unit, honest: Examined) -> None:
    """White space, say: the notebook would be the one that was sent."""
    most = len(unit.notebook) + 8 * MAX_CHARACTERS
    at_most = honest.notebook + " " * (most - len(honest.notebook))
    assert believed(replace(honest, notebook=at_most), unit) == honest
    with pytest.raises(Disbelieved, match="too large"):
        believed(replace(honest, notebook=at_most + " "), unit)


class Sly(Examined):
    """Passes for a result."""


@pytest.mark.parametrize(
    "result", [None, "full marks", {"student": "student-001"}, Sly("student-001"), Examined("student-002")]
)
def test_what_is_no_result_of_a_unit_is_not_believed(unit: Unit, result: Any) -> None:
    with pytest.raises(Disbelieved):
        believed(result, unit)


@pytest.mark.parametrize("points", [100.0, -1.0, float("nan"), float("inf"), True, "3", None])
def test_marks_are_those_of_the_notebook(unit: Unit, honest: Examined, points: Any) -> None:
    """Beyond an item's points, of items that there are not, or besides what its cell says: they are not taken."""
    said = {"double": Verdict(points, "<script>"), "nosuch": Verdict(5.0, "")}
    assert believed(replace(honest, verdicts=said, note="\x1b[2J"), unit) == honest
    notebook = json.loads(honest.notebook)
    of(notebook, "double")["outputs"][-1]["data"]["text/plain"] = repr(points)
    assert believed(replace(honest, notebook=json.dumps(notebook)), unit).verdicts["double"].points is None


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


LIES: dict[str, Any] = {
    "no result": None,
    "another's": Examined("student-002"),
    "no notebook": Examined("student-001", "{}"),
    "an exception without words": Unspeakable(),
    "an exception with many": ValueError("\x1b[2J" + "x" * 10**6),
    "an interrupt": KeyboardInterrupt(),
    "an exit": SystemExit(0),
}


class LyingWorkers:
    """Workers elsewhere, which answer with a lie about one student, and honestly about the others."""

    count, elsewhere = 1, True

    def __init__(self, lie: Any) -> None:
        self.lie = lie

    def start(self, count: int) -> None:
        pass

    def close(self) -> None:
        pass

    @contextmanager
    def open(self, count: int | None = None) -> Iterator[Executor]:
        yield _Lying(self.lie)


class _Lying(Executor):
    def __init__(self, lie: Any) -> None:
        self.lie = lie

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if arguments[0].student != "student-001":
            future.set_result(function(*arguments))
        elif isinstance(self.lie, BaseException):
            future.set_exception(self.lie)
        else:
            future.set_result(self.lie)
        return future


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_lie_is_a_failure_of_its_unit_alone(unit: Unit, lie: Any) -> None:
    other = replace(unit, student="student-003")
    results = {found.student: found for found in examine_all([unit, other], LyingWorkers(lie))}
    assert results.keys() == {"student-001", "student-003"}
    assert results["student-001"].failure
    assert results["student-001"].failure.isprintable()
    assert len(results["student-001"].failure) < 500
    assert results["student-003"].verdicts["double"].points == 3.0


def test_a_class_goes_on_after_a_lie(course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for student in ("student-001", "student-002"):
        hand_in(course, tmp_path / "in", student, **ANSWERS)
    begin(paper_of(course, "mini"))
    lie = Examined("student-002", "", {"double": Verdict(100.0, "")})
    monkeypatch.setattr(run, "LocalWorkers", lambda paper, jobs=None: LyingWorkers(lie))
    report = grade(course, "mini", tmp_path / "in", tmp_path / "w")
    assert {one.id: (one.status, one.score) for one in report.students} == {
        "student-001": ("failed", 0.0),
        "student-002": ("graded", 5.5),
    }
    assert report.students[0].note == "a worker was not believed: what came is not about this submission"
    monkeypatch.setattr(run, "LocalWorkers", lambda paper, jobs=None: LyingWorkers(RuntimeError()))
    # What was not believed is tried again.
    assert grade(course, "mini", tmp_path / "in", tmp_path / "w").students[0].status == "failed"
