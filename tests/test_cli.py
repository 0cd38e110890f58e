from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mini import DOUBLE, edit, hand_in, released_course, snapshot

from course_lib import cli
from course_lib.course import Course, CourseError
from course_lib.grading import class_run
from course_lib.grading.class_run import LocalWorkers
from course_lib.grading.report import Item, StudentReport
from course_lib.grading.sample import SampleStudent
from course_lib.grading.worker import Examined, NoRoom, Unit
from course_lib.people.forget import found_of
from course_lib.release.demo import DemoClass, DemoRow
from course_lib.release.link_check import Asked
from course_lib.release.site import SiteReport


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """A course of our own, with the working directory in it."""
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    return released_course(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs `course`: exit code, what it printed, what it said on stderr."""

    def run_course(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main(list(arguments))
        said = capsys.readouterr()
        return end.value.code or 0, said.out, said.err

    return run_course


Run = Callable[..., tuple[int, str, str]]


def test_help_lists_the_commands_and_loads_nothing_heavy() -> None:
    code = (
        "import sys; from course_lib import cli\n"
        "try: cli.main([])\n"
        "except SystemExit as end: assert not end.code\n"
        "assert not {'nbformat', 'nbgrader', 'sphinx', 'matplotlib', 'torch'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for command in ("build", "release", "grade", "feedback", "demo"):
        assert f"  {command} " in done.stdout


def test_build_says_which_links_are_broken_and_which_are_gone(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    html = course.build / "html"
    html.mkdir(parents=True)
    (html / "index.html").write_text('<a href="gone.html">', encoding="utf-8")
    asked = Asked(1, ["a → b (moved to c)"], ["a → d (404 Not Found)"], ["a → e (timed out)"])
    monkeypatch.setattr("course_lib.release.site.build_site", lambda course: SiteReport({}, False, 0))
    monkeypatch.setattr("course_lib.release.link_check.ask_hosts", lambda course: asked)
    code, _, err = run("build", "--links")
    assert code == 1
    assert (
        "1 links within the book are broken: index.html → gone.html (no such file in the site). Correct"
        in err
    )
    code, out, err = run("build", "--online")
    assert code == 1
    assert "Link: a → b (moved to c)\nLink: a → e (timed out)\n" in out
    assert "1 links lead to what is gone: a → d (404 Not Found). Correct" in err


def test_interrupted_command_says_so(course: Course, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("course_lib.release.notebooks.release", interrupt)
    code, out, err = run("release")
    assert (code, out) == (1, "")
    assert err.startswith("course: Stopped.")


def test_a_locked_gradebook_is_said_in_a_sentence(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy import create_engine, text

    other = create_engine("sqlite:///gradebook.db").connect()

    def locked(*_: object) -> None:
        other.execute(text("BEGIN EXCLUSIVE"))
        engine = create_engine("sqlite:///gradebook.db", connect_args={"timeout": 0})
        engine.connect().execute(text("CREATE TABLE one (x)"))

    monkeypatch.setattr("course_lib.release.notebooks.release", locked)
    with other:
        code, out, err = run("release")
    assert (code, out) == (1, "")
    assert re.fullmatch(r"course: The gradebook can't .* locked\. Wait .* goes on from there\.\n", err)


def test_release_says_what_it_did_and_what_is_next(course: Course, run: Run) -> None:
    shutil.rmtree(course.exercises)
    code, out, err = run("release")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "Released mini: 3 tasks, 7.5 points, in exercises/ko/mini and exercises/en/mini.",
        "Next: hand out exercises, and later: course grade mini --submitted DIR",
    ]
    assert (course.exercises / "ko" / "mini" / "mini.ipynb").is_file()


def test_release_writes_kits_where_asked(course: Course, run: Run) -> None:
    code, out, err = run("release", "--kits", "kits")
    assert (code, err) == (0, "")
    assert out.splitlines()[1:3] == ["Kit: kits/mini-ko.zip", "Kit: kits/mini-en.zip"]
    assert (course.root / "kits" / "mini-en.zip").is_file()


def test_release_check_says_whether_exercises_are_stale(course: Course, run: Run) -> None:
    assert run("release", "--check") == (0, "exercises/ is up to date: mini.\n", "")
    edit(course.exercises / "ko" / "mini" / "mini.ipynb", "두 배", "세 배")
    before = snapshot(course.root)
    code, _, err = run("release", "--check")
    assert (code, err) == (1, "course: exercises/ko/mini/mini.ipynb is stale. Run: course release\n")
    assert snapshot(course.root) == before


def test_grade_prints_a_table_and_writes_json(course: Course, run: Run) -> None:
    hand_in(course, course.root / "submitted", "student-001", double_solution=DOUBLE, why="Because.")
    (course.root / "submitted" / "student-002").mkdir()
    code, out, err = run("grade", "mini", "--json", "report.json")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["student-001", "needs", "marking", "3", "/", "7.5"] in lines
    assert ["student-002", "missing", "there", "is", "no", "folder", "mini"] in lines
    assert "Next: mark 1 by hand" in out
    report = json.loads((course.root / "report.json").read_text(encoding="utf-8"))
    assert [student["score"] for student in report["students"]] == [3.0, 0.0]
    assert report["students"][0]["items"][2]["score"] is None
    assert str(course.root / "report.json") in found_of(replace(course, term="now"), "now")


def test_names_in_a_table_are_text(course: Course, run: Run) -> None:
    """The table's printer takes words in brackets for colours, hides them, and fails at an end without a beginning."""
    hand_in(course, course.root / "submitted", "student-001[red]", double_solution=DOUBLE)
    path = hand_in(course, course.root / "submitted", "student-002", double_solution=DOUBLE)
    path.rename(path.with_name("a[bold]b.ipynb"))
    code, out, err = run("grade", "mini")
    assert (code, err) == (0, "")
    assert "student-001[red]" in out
    assert "a[bold]b.ipynb" in out


def test_grade_shows_what_lateness_costs(course: Course, run: Run) -> None:
    for student, day in {"student-001": "03-31", "student-002": "04-01"}.items():
        path = hand_in(course, course.root / "submitted", student, double_solution=DOUBLE)
        (path.parent / "timestamp.txt").write_text(f"2026-{day} 12:00:00 UTC\n")
    assert "after lateness" not in run("grade", "mini")[1]
    with (course.root / "course.toml").open("a") as settings:
        settings.write('[due]\nmini = 2026-03-31T23:59:00+00:00\n[late]\npenalty = "1 point per day"\n')
    code, out, err = run("grade", "mini", "--json", "report.json")
    assert (code, err) == (0, "")
    assert re.search(r"student-001 +graded +3 / 7.5 +[^ 2]", out)
    assert re.search(r"student-002 +graded +3 / 7.5 +2 \(−1\)", out)
    on_time, late = json.loads((course.root / "report.json").read_text(encoding="utf-8"))["students"]
    assert (late["score"], late["penalty"]) == (3.0, 1.0)
    assert "penalty" not in on_time


def test_grade_ends_with_1_where_a_notebook_could_not_be_examined(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for student in ("student-001", "student-002"):
        hand_in(course, course.root / "in", student, double_solution=DOUBLE)
    examine_all = class_run.examine_all

    def lose_one(units: Iterable[Unit], workers: LocalWorkers) -> Iterator[Examined]:
        first, *rest = units
        yield Examined(first.student, failure="its worker was lost")
        yield from examine_all(rest, workers)

    monkeypatch.setattr("course_lib.grading.run.examine_all", lose_one)
    code, out, err = run("grade", "mini", "--submitted", "in")
    assert code == 1
    assert err == "course: 1 notebooks could not be run to their end: student-001. See above why.\n"
    assert "its worker was lost" in out
    assert "3 / 7.5" in out


def test_grade_without_walls_says_so(course: Course, run: Run) -> None:
    hand_in(course, course.root / "in", "student-001", double_solution=DOUBLE)
    code, out, err = run("grade", "mini", "--submitted", "in", "--without-walls", "--json", "report.json")
    assert (code, err) == (0, "")
    assert "3 / 7.5" in out
    assert "Graded without walls" in out
    assert json.loads((course.root / "report.json").read_text(encoding="utf-8"))["without_walls"] is True


def test_grade_refuses_where_nothing_confines(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> Iterator[Examined]:
        raise NoRoom("bubblewrap is missing.")
        yield

    hand_in(course, course.root / "in", "student-001", double_solution=DOUBLE)
    monkeypatch.setattr("course_lib.grading.run.examine_all", no_room)
    code, out, err = run("grade", "mini", "--submitted", "in")
    assert (code, out) == (1, "")
    assert err.startswith("course: bubblewrap is missing. Students' code is not run without walls.")
    assert "course doctor" in err
    assert "--without-walls" in err
    assert not (course.root / "autograded").exists()


def test_grade_shows_old_marks_beside_new_ones(course: Course, run: Run) -> None:
    path = hand_in(course, course.root / "in", "student-001", double_solution="def double(x):\n    return x")
    assert run("grade", "mini", "--submitted", "in")[0] == 0
    edit(path, "return x", "return 2 * x")
    code, out, _ = run("grade", "mini", "--submitted", "in", "--json", "report.json")
    assert code == 0
    assert "Before: 1 (double 1 → 3)." in out
    [student] = json.loads((course.root / "report.json").read_text(encoding="utf-8"))["students"]
    assert student["before"] == {"double": 1.0, "mean": 0.0, "why": 0.0}
    assert "Before" not in run("grade", "mini", "--submitted", "in")[1]


def test_doctor_says_what_is_lacking(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run("doctor")
    assert (code, err) == (0, "")
    assert out.endswith("Submissions can be graded here: each runs confined.\n")
    monkeypatch.setattr(sys, "platform", "darwin")
    code, out, err = run("doctor")
    assert code == 1
    assert out.splitlines()[0].startswith("lacking system: ")
    assert "Grade in a virtual machine: brew install lima" in out
    assert err.startswith("course: Students' code can't be confined on this machine.")


def test_secret_is_made_once_and_never_printed(course: Course, run: Run) -> None:
    path = course.root / ".course" / "secret"
    path.unlink(missing_ok=True)
    assert run("secret")[1].splitlines()[0] == "The course's secret was made now: .course/secret"
    made = path.read_bytes()
    code, out, _ = run("secret")
    assert (code, path.read_bytes()) == (0, made)
    assert out.splitlines()[0] == "The course's secret is there: .course/secret"
    assert made.hex() not in out


def test_grade_does_not_replace_a_secret_that_is_gone(course: Course, run: Run) -> None:
    hand_in(course, course.root / "submitted", "student-001", double_solution=DOUBLE)
    assert run("grade", "mini")[0] == 0
    (course.private / "secret").unlink()
    code, _, err = run("grade", "mini")
    assert code == 1
    assert err.startswith("course: The course's secret is gone (.course/secret)")
    assert not (course.private / "secret").exists()
    assert run("secret")[0] == 0
    assert run("grade", "mini")[0] == 0


def test_grade_wants_the_release_that_solutions_give_now(course: Course, run: Run) -> None:
    edit(course.solutions / "mini" / "tasks.py", "factor = 2\n", "factor = 2.0\n")
    code, _, err = run("grade", "mini")
    assert code == 1
    assert err.startswith("course: solutions/mini has changed since it was released")
    assert err.endswith("Run: course release mini\n")


def test_release_refuses_other_tasks_once_there_are_submissions(course: Course, run: Run) -> None:
    hand_in(course, course.root / "submitted", "student-001", double_solution=DOUBLE)
    assert run("grade", "mini")[0] == 0
    before = snapshot(course.exercises)
    edit(course.solutions / "mini" / "tasks.py", "(DOUBLE, MEAN)", "(DOUBLE,)")
    edit(course.solutions / "mini" / "mini.md", "```{code-cell} ipython3\n:task: mean\n```", "")
    code, _, err = run("release")
    assert code == 1
    assert "the gradebook holds submissions for other cells than the problem set has now" in err
    assert snapshot(course.exercises) == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["grade"], "Missing argument 'PS'"),
        (
            ["grade", "mini", "--bogus"],
            "No such option: --bogus (Possible options: --jobs). See: course grade --help",
        ),
        (
            ["export", "mini"],
            "Missing option '--to'. Choose from: canvas, moodle, csv, xlsx. See: course export --help",
        ),
        (
            ["export", "mini", "--to", "pdf"],
            "Invalid value for '--to': 'pdf' is not one of 'canvas', 'moodle', 'csv', 'xlsx'. See: course export",
        ),
        (["grade", "ps9"], "No problem set 'ps9'"),
        (["release", "mini", "ps9"], "No problem set 'ps9'"),
        (["grade", "mini"], "There is no folder {root}/submitted"),
        (["grade", "mini", "--submitted", "nowhere"], "There is no folder nowhere"),
        (["grade", "mini", "--submitted", "course.toml"], "course.toml is a file"),
        (["grade", "mini", "--submitted", "."], ". is the course's own folder"),
        (["grade", "mini", "--submitted", "solutions"], "No student's folder in solutions"),
        (["grade", "mini", "--json", "exercises"], "exercises is a folder"),
        (["grade", "mini", "--json", "nowhere/report.json"], "There is no folder {root}/nowhere"),
        (["build"], "The book needs {root}/_config.yml"),
    ],
)
def test_bad_input_gets_one_sentence(course: Course, run: Run, arguments: list[str], sentence: str) -> None:
    shutil.rmtree(course.solutions.parent / "exercises" / "ko")
    before = snapshot(course.root)
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith(f"course: {sentence.format(root=course.root)}")
    assert err.count("\n") == 1
    assert snapshot(course.root) == before


def test_commands_outside_a_course_say_so(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    for arguments in (["build"], ["release"], ["release", "--check"], ["grade", "ps1"], ["demo"]):
        code, out, err = run(*arguments)
        assert (code, out) == (1, "")
        assert err == (
            f"course: No course.toml in {tmp_path} or any folder above it. "
            "Change into the course's folder and try again.\n"
        )


def test_a_course_with_damaged_settings_says_where(course: Course, run: Run) -> None:
    (course.root / "course.toml").write_text("language = ko")
    code, _, err = run("release")
    assert code == 1
    assert err.startswith(f"course: {course.root / 'course.toml'} is not valid TOML")


def test_errors_of_the_system_get_a_sentence(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "exercises/ko")

    monkeypatch.setattr("course_lib.release.notebooks.release", full)
    assert run("release") == (
        1,
        "",
        "course: exercises/ko: No space left on device. Make room there. What was finished stays; the same command "
        "goes on from there.\n",
    )


def test_demo_shows_scores_beside_predictions(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course_lib.cli.grading.build_book", lambda course: print("Book: up to date."))
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert [
        "001",
        "model",
        "solutions",
        "5.5",
        "/",
        "7.5",
        "5.5",
        "why:",
        "Waits",
        "for",
        "a",
        "person's",
        "mark",
    ] in lines
    assert [
        "003",
        "mistake",
        "1",
        "in",
        "each",
        "1",
        "/",
        "7.5",
        "1",
        "double:",
        "that",
        "is",
        "three",
        "times",
    ] in lines
    assert out.splitlines()[-5:] == [
        "Open:",
        "  book       _build/html/index.html",
        "  exercises  exercises/en",
        "  gradebook  cd _build/demo && jupyter lab, then the menu Nbgrader > Formgrader",
        "  a class    _build/demo/gradebook.csv and submissions.zip, to rehearse a term with",
    ]


def test_demo_fails_where_a_score_is_not_as_predicted(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    student = SampleStudent("student-003", "mistake 1 in each", predicted=1.0)
    row = DemoRow(student, StudentReport("student-003", "graded", (Item("double", 3.0, 3.0, ""),)))
    monkeypatch.setattr("course_lib.cli.grading.build_book", lambda course: None)
    monkeypatch.setattr("course_lib.release.demo.grade_sample", lambda *_, **__: DemoClass((row,), True))
    code, out, err = run("demo")
    assert code == 1
    assert ["003", "mistake", "1", "in", "each", "3", "/", "3", "1"] in [
        line.split() for line in out.splitlines()
    ]
    assert err.startswith("course: 1 scores differ from what the bank predicts: mini student-003.")


def test_build_passes_on_what_is_wrong_with_the_book(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(course: Course) -> None:
        raise CourseError("A cell fails.")

    monkeypatch.setattr("course_lib.release.site.build_site", fail)
    assert run("build") == (1, "", "course: A cell fails.\n")
