from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lms_class import course_with_gradebook, give_marks, zip_bytes
from mini import edit
from sqlalchemy import Engine, event

from course_lib import cli
from course_lib.course import Course, find_course
from course_lib.grading.gradebook import gradebook_of
from course_lib.grading.secret import secret_of
from course_lib.people.collect import collect_zip
from course_lib.people.export import export_marks
from course_lib.people.feedback_zip import pack_feedback
from course_lib.people.forget import forget_term

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course at the end of a term: people and marks wherever commands put them."""
    root = tmp_path / "course"
    root.mkdir()
    course = course_with_gradebook(root)
    settings = root / "course.toml"
    settings.write_text(f'{settings.read_text()}[extensions]\nstudent-007 = {{ mini = "3 days" }}\n')
    (root / "all.zip").write_bytes(zip_bytes(("onestudent_101_9001_mini.ipynb", b"of student-001")))
    collect_zip(course, "mini", root / "all.zip", received="2027-03-01 12:00")
    give_marks(course, {"student-001": {"double": (3.0, None, False), "mean": (1.0, None, False), "why": (1.0, None, False)}})  # fmt: skip # noqa: E501
    for folder in ("autograded", "feedback"):
        page = root / folder / "student-001" / "mini" / "mini.html"
        page.parent.mkdir(parents=True)
        page.write_text("student-001")
    (root / ".course" / "log" / "mini").mkdir(parents=True)
    (root / ".course" / "log" / "mini" / "student-001.log").write_text("student-001")
    export_marks(course, ["mini"], "csv", root / "marks.csv")
    export_marks(course, ["mini"], "csv", tmp_path / "elsewhere.csv")
    pack_feedback(course, "mini", "folder", root / "zips")
    secret_of(course)
    return find_course(root)


@pytest.fixture
def run(course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(course.root)
    monkeypatch.delenv("COURSE_ROOT", raising=False)

    def run_course(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main(list(arguments))
        said = capsys.readouterr()
        return end.value.code or 0, said.out + said.err

    return run_course


def traces(folder: Path) -> list[str]:
    """Whatever names a student, in a file's name or in its bytes; 학생 is in two names."""
    words = [b"student-0", "학생".encode(), b"onestudent"]
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if any(word in path.name.encode() or (path.is_file() and word in path.read_bytes()) for word in words)
    ]


def test_forget_leaves_the_made_up_class_and_what_the_module_says(course: Course, run: Run) -> None:
    made_up = course.build / "demo" / "gradebook.csv"
    made_up.parent.mkdir(parents=True)
    made_up.write_bytes((course.root / "roster.csv").read_bytes())
    assert run("roster", str(made_up), "--from", "canvas")[0] == 0
    (course.root / "CONTRIBUTING.md").write_text("Students are `student-001`.")
    code, said = run("forget", "--term", "2027-spring", "--yes")
    assert code == 0, said
    assert made_up.is_file()
    assert str(made_up) not in said


def test_forget_leaves_nothing_of_anybody(course: Course, run: Run) -> None:
    secret, elsewhere = secret_of(course), course.root.parent / "elsewhere.csv"
    assert len(traces(course.root)) > 10
    code, said = run("forget", "--term", "2027-spring", "--yes")
    assert code == 0, said
    assert traces(course.root) == []
    assert secret_of(course) == secret
    assert "students in the gradebook: 5" in said
    assert "students with an extension: 1" in said
    assert "\n  roster.csv\n" in said
    assert f"{elsewhere} (outside the course's folder: it stays)" in said
    [removed, still] = [line for line in said.splitlines() if line.startswith(("Removed", "Still there"))]
    assert ("roster.csv" in removed, "elsewhere.csv" in removed) == (True, False)
    assert "elsewhere.csv" in still
    settings = find_course(course.root)
    assert settings.deadlines.extended == {}
    assert "mini" in settings.deadlines.due
    assert run("forget", "--term", "2027-spring", "--yes") == (0, "There is nothing of any student here.\n")


def test_forget_asks_first(course: Course, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = traces(course.root)
    monkeypatch.setattr("typer.confirm", lambda question: False)
    code, said = run("forget", "--term", "2027-spring")
    assert (code, traces(course.root)) == (1, before)
    assert "Nothing was removed." in said


@pytest.mark.parametrize(
    ("term", "sentence"), [("2026-fall", "is in the term '2027-spring', not '2026-fall'")]
)
def test_forget_refuses_another_term(course: Course, run: Run, term: str, sentence: str) -> None:
    before = traces(course.root)
    code, said = run("forget", "--term", term, "--yes")
    assert (code, traces(course.root)) == (1, before)
    assert sentence in said


def test_forget_needs_a_term(course: Course, run: Run) -> None:
    edit(course.root / "course.toml", 'term = "2027-spring"\n', "")
    code, said = run("forget", "--term", "2027-spring", "--yes")
    assert (code, said.count("\n")) == (1, 1)
    assert 'names no term. Write term = "2027-spring" there first.' in said


def test_forget_says_where_ids_still_stand(course: Course, run: Run) -> None:
    (course.root / "notes.txt").write_text("student-003 came to see me")
    code, said = run("forget", "--term", "2027-spring", "--yes")
    assert code == 1
    assert "ids still stand in notes.txt" in said


@pytest.fixture
def careless_sqlite() -> Iterator[None]:
    """One that leaves what was deleted in its pages, as many are built; Debian's overwrites it at once."""

    def careless(connection: Any, _: object) -> None:
        connection.execute("PRAGMA secure_delete = OFF")

    event.listen(Engine, "connect", careless)
    yield
    event.remove(Engine, "connect", careless)


def test_forget_empties_a_gradebook_that_is_elsewhere(
    course: Course, tmp_path: Path, careless_sqlite: None
) -> None:
    elsewhere = f"sqlite:///{tmp_path / 'server.db'}"
    (course.root / "nbgrader_config.py").write_text(f"get_config().CourseDirectory.db_url = {elsewhere!r}\n")
    (course.root / "gradebook.db").rename(tmp_path / "server.db")
    assert b"student-001" in (tmp_path / "server.db").read_bytes()
    forget_term(course, "2027-spring")
    with gradebook_of(course) as gradebook:
        assert gradebook.students == []
        assert [one.name for one in gradebook.assignments] == ["mini"]
    assert (
        b"student-001" not in (tmp_path / "server.db").read_bytes()
    )  # nor in pages that the file no longer uses
