"""A class, graded: the same marks whatever is odd in it; the sample classes; reports."""

from __future__ import annotations

import json
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mini import DOUBLE, MEAN, hand_in, make_course, snapshot

import course_lib.grading.run as run
import course_lib.grading.worker as worker
from course_lib.course import Course, CourseError, find_course
from course_lib.grading.bank import load_bank
from course_lib.grading.notebook import read_notebook, write_notebook
from course_lib.grading.report import Item, Report, StudentReport, require_writable, write_json
from course_lib.grading.run import grade
from course_lib.grading.sample import sample_class, source_as
from course_lib.release.demo import DemoRow, grade_sample
from course_lib.release.notebooks import release

ROOT = Path(__file__).parents[1]
KOREAN = "김학생"  # a name that can be written in two ways


def silent(done: int, total: int, student: str) -> None:
    pass


@pytest.fixture
def submitted(tmp_path: Path) -> Path:
    return tmp_path / "handed-in"


# A class


@pytest.fixture(scope="module")
def odd_class(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Submissions that are honest, or at least meant so, and a trial to nbgrader."""
    submitted = tmp_path_factory.mktemp("odd")
    hand_in(course, submitted, "both", double_solution=DOUBLE, mean_solution=MEAN, why="Because.")
    hand_in(course, submitted, "deleted", language="ko", double_solution=DOUBLE)
    hand_in(
        course, submitted, "exits", double_solution=f"{DOUBLE}\nimport os\nos._exit(0)", mean_solution=MEAN
    )
    hand_in(course, submitted, "fails", double_solution="def double(x):\n    return y", mean_solution=MEAN)
    hand_in(course, submitted, "odd[1]", double_solution=DOUBLE)
    warning = "import sys, warnings\n    warnings.warn('careful')\n    print('careful', file=sys.stderr)"
    hand_in(
        course,
        submitted,
        unicodedata.normalize("NFD", KOREAN),
        double_solution=DOUBLE.replace("x):", f"x):\n    {warning}"),
    )
    path = hand_in(course, submitted, "syntax", double_solution="def double(x:", mean_solution=MEAN)
    path.rename(path.with_name("mini (1).ipynb"))
    path = submitted / "deleted" / "mini" / "mini.ipynb"
    notebook = read_notebook(path)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "double"]
    write_notebook(notebook, path)
    hand_in(course, submitted, "unreadable").write_bytes(b"")
    (submitted / "without").mkdir()
    return submitted


@pytest.fixture(scope="module")
def same_library() -> Iterator[None]:
    """The library counts as unchanged, whatever somebody edits while tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "library_digest", lambda: "")
        yield


@pytest.fixture(scope="module")
def odd_report(course: Course, odd_class: Path, same_library: None) -> Report:
    return grade(course, "mini", odd_class, course.root / "workspace")


def scores(report: Report) -> dict[str, tuple[str, list[float | None]]]:
    return {
        student.id: (student.status, [item.score for item in student.items]) for student in report.students
    }


def test_grade_gives_everybody_a_result(odd_report: Report) -> None:
    assert scores(odd_report) == {
        "both": ("needs_marking", [3.0, 2.5, None]),
        "deleted": ("graded", [3.0, 0.0, 0.0]),
        "exits": ("graded", [0.0, 2.5, 0.0]),
        "fails": ("graded", [0.0, 2.5, 0.0]),
        "odd[1]": ("unreadable", [0.0, 0.0, 0.0]),
        "syntax": ("graded", [0.0, 2.5, 0.0]),
        "unreadable": ("unreadable", [0.0, 0.0, 0.0]),
        "without": ("missing", [0.0, 0.0, 0.0]),
        KOREAN: ("graded", [3.0, 0.0, 0.0]),
    }


def test_grade_says_why(odd_report: Report) -> None:
    said = {student.id: [item.message for item in student.items] for student in odd_report.students}
    assert said["both"][0].startswith("double: 3 / 3 points")
    assert said["both"][2] == "Waits for a person's mark."
    assert "There is no double." in said["exits"][0]
    notes = {student.id: student.note for student in odd_report.students}
    assert notes["exits"] == "[2]: The Python process ended on the way."
    assert notes["both"] == ""
    assert "NameError" in said["fails"][0]
    assert "There is no double." in said["syntax"][0]
    assert said["without"] == ["there is no folder mini"] * 3
    assert "Not written yet" in said[KOREAN][1]
    assert said[KOREAN][2] == "No answer."
    assert "rename the folder" in said["odd[1]"][0]


def test_grade_agrees_with_the_gradebook(course: Course, odd_report: Report) -> None:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course.root / 'workspace' / 'gradebook.db'}") as gradebook:
        kept = {row["student"]: row["score"] for row in gradebook.submission_dicts("mini")}
    reported = {
        student.id: student.score
        for student in odd_report.students
        if student.status in ("graded", "needs_marking")
    }
    assert {name: kept[name] for name in reported} == reported


def refuse(*_: object) -> None:
    raise AssertionError("executed again")


def test_grade_executes_nothing_twice(
    course: Course, odd_class: Path, odd_report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "examine_all", refuse)
    before = snapshot(odd_class)
    assert grade(course, "mini", odd_class, course.root / "workspace") == odd_report
    assert snapshot(odd_class) == before


def test_grade_again_keeps_marks_given_by_hand(
    course: Course, odd_class: Path, odd_report: Report, tmp_path: Path
) -> None:
    from nbgrader.api import Gradebook

    shutil.copytree(course.root / "workspace", tmp_path / "workspace")
    only = tmp_path / "only"
    shutil.copytree(odd_class / "both", only / "both")
    with Gradebook(f"sqlite:///{tmp_path / 'workspace' / 'gradebook.db'}") as gradebook:
        mark = gradebook.find_grade("why", "mini", "mini", "both")
        mark.manual_score, mark.needs_manual_grade = 1.5, False
        gradebook.db.commit()
    for again in (False, True):
        report = grade(course, "mini", only, tmp_path / "workspace", again=again)
        assert scores(report) == {"both": ("graded", [3.0, 2.5, 1.5])}
    # other code and the same answer in words: the mark stands
    [path] = (only / "both" / "mini").glob("*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    words = next(
        "".join(cell["source"])
        for cell in cells
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "why"
    )
    hand_in(course, tmp_path / "same", "both", double_solution=DOUBLE, why=words)
    report = grade(course, "mini", tmp_path / "same", tmp_path / "workspace")
    assert scores(report) == {"both": ("graded", [3.0, 0.0, 1.5])}
    # another answer: the mark is shown to a person again, and stays so with the next submission
    for turn, code in enumerate(("", MEAN)):
        new = tmp_path / f"new-{turn}"
        hand_in(course, new, "both", double_solution=DOUBLE, mean_solution=code, why="On second thoughts.")
        report = grade(course, "mini", new, tmp_path / "workspace")
        assert scores(report) == {"both": ("needs_marking", [3.0, 2.5 if code else 0.0, None])}


STANDS = "; the marks are those of what was handed in before"
DAMAGED = {
    "cut off": b"{",
    "empty": b"",
    "not a notebook": b'{"nbformat": 4}',
    "latin-1": "é".encode("latin-1"),
}


@pytest.fixture
def marked(course: Course, odd_report: Report, tmp_path: Path) -> Path:
    """A workspace in which a person has given 1.5 points for the answer in words."""
    workspace = Path(shutil.copytree(course.root / "workspace", tmp_path / "workspace"))
    with gradebook_of(workspace) as gradebook:
        mark = gradebook.find_grade("why", "mini", "mini", "both")
        mark.manual_score, mark.extra_credit, mark.needs_manual_grade = 1.5, 0.25, False
        gradebook.db.commit()
    return workspace


def gradebook_of(workspace: Path) -> Any:
    from nbgrader.api import Gradebook

    return Gradebook(f"sqlite:///{workspace / 'gradebook.db'}")


def kept(workspace: Path) -> tuple[float, bool, bytes]:
    """What the workspace holds of the student: score, whether a mark waits, the executed notebook."""
    with gradebook_of(workspace) as gradebook:
        [row] = [row for row in gradebook.submission_dicts("mini") if row["student"] == "both"]
    notebook = workspace / "autograded" / "both" / "mini" / "mini.ipynb"
    return row["score"], row["needs_manual_grade"], notebook.read_bytes()


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_grade_lets_marks_stand_where_what_came_since_cannot_be_read(
    course: Course, marked: Path, tmp_path: Path, content: bytes
) -> None:
    """Nobody loses what they had, least of all what a person gave, by a file that was damaged on its way."""
    before = kept(marked)
    hand_in(course, tmp_path / "new", "both").write_bytes(content)
    for again in (False, False, True):
        [student] = grade(course, "mini", tmp_path / "new", marked, again=again).students
        assert (student.status, student.before) == ("unreadable", None)
        assert [item.score for item in student.items] == [3.0, 2.5, 1.75]
        assert student.note.startswith("mini.ipynb is ")
        assert student.note.endswith(STANDS)
        assert kept(marked) == before
    # what can be read again is graded, and the mark by hand is shown to a person again
    shutil.rmtree(tmp_path / "new")
    hand_in(course, tmp_path / "new", "both", double_solution=DOUBLE, mean_solution=MEAN, why="As before?")
    report = grade(course, "mini", tmp_path / "new", marked)
    assert scores(report) == {"both": ("needs_marking", [3.0, 2.5, None])}
    assert kept(marked)[:2] == (7.25, True)


def test_grade_lets_marks_stand_where_what_was_graded_is_gone(course: Course, marked: Path) -> None:
    before = kept(marked)
    for path in (marked / "submitted" / "both" / "mini").iterdir():
        path.unlink()
    report = grade(course, "mini", marked / "submitted", marked)
    assert scores(report)["both"] == ("missing", [3.0, 2.5, 1.75])
    assert {student.id: student.note for student in report.students}["both"] == "mini is empty" + STANDS
    assert kept(marked) == before


def test_grade_lets_marks_stand_that_nbgraders_own_commands_gave(
    course: Course, marked: Path, tmp_path: Path
) -> None:
    with gradebook_of(marked) as gradebook:
        connection = gradebook.engine.raw_connection()
        connection.cursor().execute("DELETE FROM course_graded")
        connection.commit()
        connection.close()
    before = kept(marked)
    hand_in(course, tmp_path / "new", "both").write_bytes(b"{")
    assert scores(grade(course, "mini", tmp_path / "new", marked))["both"] == ("unreadable", [3.0, 2.5, 1.75])
    assert kept(marked) == before
    shutil.rmtree(marked / "autograded" / "both")  # the mark by hand is reason enough
    assert scores(grade(course, "mini", tmp_path / "new", marked))["both"][1] == [3.0, 2.5, 1.75]


def test_grade_lets_an_answer_wait_for_its_mark_where_what_came_since_cannot_be_read(
    course: Course, odd_report: Report, tmp_path: Path
) -> None:
    shutil.copytree(course.root / "workspace", tmp_path / "workspace")
    hand_in(course, tmp_path / "new", "both").write_bytes(b"{")
    [student] = grade(course, "mini", tmp_path / "new", tmp_path / "workspace").students
    assert (student.status, student.waits) == ("unreadable", True)
    assert [item.score for item in student.items] == [3.0, 2.5, None]


def test_grade_gives_nothing_for_what_was_never_graded(course: Course, tmp_path: Path) -> None:
    shutil.copy(course.root / "gradebook.db", tmp_path)
    hand_in(course, tmp_path / "new", "both").write_bytes(b"{")
    for _ in range(2):
        [student] = grade(course, "mini", tmp_path / "new", tmp_path).students
        assert scores(Report("mini", (student,))) == {"both": ("unreadable", [0.0, 0.0, 0.0])}
        assert STANDS not in student.note


def test_grade_lets_marks_stand_where_nothing_new_was_handed_in(
    course: Course, odd_class: Path, odd_report: Report, tmp_path: Path
) -> None:
    shutil.copytree(course.root / "workspace", tmp_path / "workspace")
    hand_in(course, tmp_path / "new", "other")
    (tmp_path / "new" / "both").mkdir()
    report = grade(course, "mini", tmp_path / "new", tmp_path / "workspace")
    assert scores(report)["both"] == ("needs_marking", [3.0, 2.5, None])


def test_grade_executes_again_what_was_asked_otherwise(
    course: Course, odd_class: Path, odd_report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(course.root, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "solutions" / "mini" / "tasks.py").open("a") as file:
        file.write("# a change\n")
    monkeypatch.setattr(run, "examine_all", refuse)
    with pytest.raises(AssertionError, match="executed again"):
        grade(find_course(tmp_path), "mini", odd_class, tmp_path / "workspace")


def test_grade_in_place_leaves_what_was_handed_in(course: Course, tmp_path: Path) -> None:
    submitted = tmp_path / "submitted"
    path = hand_in(course, submitted, "student-001", double_solution=DOUBLE)
    path.rename(path.with_name("mini (1).ipynb"))
    before = snapshot(submitted)
    shutil.copy(course.root / "gradebook.db", tmp_path)
    report = grade(course, "mini", submitted, tmp_path)
    assert scores(report) == {"student-001": ("graded", [3.0, 0.0, 0.0])}
    assert snapshot(submitted) == before


def test_grade_goes_on_behind_a_folder_that_may_not_be_read(
    course: Course, submitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for student in ("closed", "empty"):
        (submitted / student / "mini").mkdir(parents=True)
    listed = Path.iterdir

    def refuse_one(folder: Path) -> Iterator[Path]:
        if folder.name == "closed":
            raise PermissionError(13, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", refuse_one)
    shutil.copy(course.root / "gradebook.db", tmp_path)
    report = grade(course, "mini", submitted, tmp_path)
    assert [(student.id, student.status) for student in report.students] == [
        ("closed", "unreadable"),
        ("empty", "missing"),
    ]
    assert report.students[0].note == f"{submitted / 'closed'} may not be read or written"


def test_grade_needs_a_release(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    with pytest.raises(CourseError, match=r"mini has not been released: .* Run: course release"):
        grade(course, "mini", tmp_path, tmp_path)
    with pytest.raises(CourseError, match="No problem set 'ps9'"):
        grade(course, "ps9", tmp_path, tmp_path)


def test_grade_refuses_a_file_as_workspace(course: Course, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CourseError, match=r"is a file, but marks are kept in a folder"):
        grade(course, "mini", tmp_path, tmp_path / "file")


def test_grade_refuses_a_place_that_nbgrader_cannot_find(
    course: Course, odd_class: Path, tmp_path: Path
) -> None:
    with pytest.raises(CourseError, match=r"for a pattern. Rename that folder"):
        grade(course, "mini", odd_class, tmp_path / "class [1]")


def test_grade_refuses_a_damaged_gradebook(course: Course, odd_class: Path, tmp_path: Path) -> None:
    (tmp_path / "gradebook.db").write_text("not a database")
    with pytest.raises(CourseError, match=r"is not an SQLite database"):
        grade(course, "mini", odd_class, tmp_path)


# The sample classes: the tests of the tests


def assert_as_predicted(rows: list[DemoRow]) -> None:
    surprises = {row.student.id: (row.student.title, row.report) for row in rows if not row.as_predicted}
    assert surprises == {}


def test_sample_class_has_every_right_answer_and_mistake(course: Course) -> None:
    bank = load_bank(course.solutions / "mini")
    assert [(student.id, student.title, student.predicted) for student in sample_class(bank)] == [
        ("student-001", "model solutions", 5.5),
        ("student-002", "other solutions 1", 5.5),
        ("student-003", "mistake 1 in each", 1.0),
        ("student-004", "mistake 2 in each", 3.5),
        ("student-005", "notebook as released", 0.0),
        ("student-006", "half a file", 0.0),
        ("student-007", "empty folder", 0.0),
    ]


def test_source_as_brings_helpers_along(course: Course) -> None:
    bank = load_bank(course.solutions / "mini")
    scope: dict[str, Any] = {"np": __import__("numpy")}
    exec(source_as(bank.task("mean").mistakes[0].function, "mean"), scope)
    assert scope["mean"](scope["np"].arange(5.0)) == 10.0


@pytest.fixture(scope="module")
def rows_of_ps1(tmp_path_factory: pytest.TempPathFactory) -> list[DemoRow]:
    """The whole sample class of problem set 1 through nbgrader, in a copy of the course."""
    root = tmp_path_factory.mktemp("course")
    shutil.copy(ROOT / "course.toml", root)
    shutil.copytree(ROOT / "solutions", root / "solutions")
    course = find_course(root)
    release(course, "ps1")
    return list(grade_sample(course, "ps1", progress=silent).rows)


@pytest.mark.slow
def test_sample_class_of_ps1_gets_what_the_bank_predicts(rows_of_ps1: list[DemoRow]) -> None:
    assert_as_predicted(rows_of_ps1)
    assert len(rows_of_ps1) > 10


@pytest.mark.slow
def test_sample_class_of_ps1_is_told_why(rows_of_ps1: list[DemoRow]) -> None:
    told = [row.why for row in rows_of_ps1 if row.student.title.startswith("mistake")]
    assert all(": " in why for why in told)


# Reports


REPORT = Report(
    "ps1",
    (
        StudentReport(
            "student-001", "needs_marking", (Item("scores", 2.5, 4.0, "✗"), Item("why", None, 3.0, ""))
        ),
        StudentReport("student-002", "missing", (Item("scores", 0.0, 4.0, "no folder"),), "no folder"),
    ),
)


def test_write_json_has_the_form_that_others_read(tmp_path: Path) -> None:
    write_json(REPORT, tmp_path / "report.json")
    assert (tmp_path / "report.json").stat().st_mode & 0o777 == 0o600  # marks are their owner's alone
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == {
        "assignment": "ps1",
        "students": [
            {
                "id": "student-001",
                "status": "needs_marking",
                "score": 2.5,
                "max_score": 7.0,
                "items": [
                    {"id": "scores", "score": 2.5, "max_score": 4.0, "message": "✗"},
                    {"id": "why", "score": None, "max_score": 3.0, "message": ""},
                ],
            },
            {
                "id": "student-002",
                "status": "missing",
                "score": 0.0,
                "max_score": 4.0,
                "items": [{"id": "scores", "score": 0.0, "max_score": 4.0, "message": "no folder"}],
            },
        ],
    }
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_require_writable_refuses_folders_and_missing_ones(tmp_path: Path) -> None:
    require_writable(tmp_path / "new.json")
    with pytest.raises(CourseError, match="is a folder"):
        require_writable(tmp_path)
    with pytest.raises(CourseError, match="There is no folder"):
        require_writable(tmp_path / "nowhere" / "report.json")
