"""nbgrader's own `autograde` in a course: the same rooms, the same marks as `course grade`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mini import DOUBLE, MEAN, cell_of, hand_in

from course_lib.course import Course, find_course
from course_lib.grading import bubblewrap
from course_lib.grading.nbgrader_plugin import without_marks
from course_lib.grading.notebook import read_notebook
from course_lib.grading.run import grade
from course_lib.grading.workspace import nbgrader_at_work, open_workspace, register, settings
from course_lib.release.demo import demo_workspace, grade_sample
from course_lib.release.notebooks import release

ROOT = Path(__file__).parents[1]
Marks = dict[str, list[tuple[str, float | None, bool]]]


@pytest.fixture(scope="module")
def course(course: Course) -> Course:
    shutil.copy(ROOT / "nbgrader_config.py", course.root)
    release(course, "mini")
    return course


def run_nbgrader(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )


def marks(folder: Path, problem_set: str) -> Marks:
    """By student: item, score without a person, and whether a person is waited for."""
    from nbgrader.api import Gradebook

    kept: Marks = {}
    with nbgrader_at_work(), Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        for submission in gradebook.assignment_submissions(problem_set):
            for notebook in submission.notebooks:
                kept[submission.student_id] = sorted(
                    (grade.name, grade.auto_score, grade.needs_manual_grade) for grade in notebook.grades
                )
    return kept


@pytest.fixture(scope="module")
def graded(course: Course) -> subprocess.CompletedProcess[str]:
    """A class in the course's own folder, in front of plain nbgrader."""
    submitted = course.root / "submitted"
    hand_in(course, submitted, "student-001", double_solution=DOUBLE, mean_solution=MEAN, why="Because.")
    path = hand_in(course, submitted, "student-002", language="ko", double_solution=DOUBLE)
    path.rename(path.with_name("mini (1).ipynb"))
    hand_in(course, submitted, "student-003").write_bytes(b'{"cells": [')
    path = hand_in(course, submitted, "student-004", mean_solution=MEAN)
    (path.parent / "ipykernel_launcher.py").write_text("raise SystemExit")
    (path.parent / "link.txt").symlink_to(course.private / "secret")
    forged = read_notebook(path)
    cell = cell_of(forged, "double")
    cell.metadata.update(tags=["skip-execution"], nbgrader={**cell.metadata.nbgrader, "points": 100})
    path.write_text(__import__("nbformat").writes(forged), encoding="utf-8")
    return run_nbgrader(course.root, "autograde", "mini")


def test_autograde_gives_the_marks_of_the_rooms(
    course: Course, graded: subprocess.CompletedProcess[str]
) -> None:
    assert marks(course.root, "mini") == {
        "student-001": [("double", 3.0, False), ("mean", 2.5, False), ("why", None, True)],
        "student-002": [("double", 3.0, False), ("mean", 0.0, False), ("why", 0.0, False)],
        "student-003": [("double", 0.0, False), ("mean", 0.0, False), ("why", 0.0, False)],
        "student-004": [("double", 0.0, False), ("mean", 2.5, False), ("why", 0.0, False)],
    }


def test_autograde_says_what_cannot_be_read(graded: subprocess.CompletedProcess[str]) -> None:
    assert graded.returncode == 1
    assert "student-003: mini.ipynb is damaged: its JSON breaks off or is wrong at line 1" in graded.stderr


def test_autograde_leaves_no_file_of_a_submission_but_its_notebook(
    course: Course, graded: subprocess.CompletedProcess[str]
) -> None:
    folder = course.root / "autograded" / "student-004" / "mini"
    assert sorted(path.name for path in folder.iterdir()) == ["cases.npz", "mini.ipynb"]


def test_autograde_leaves_no_hidden_test(course: Course, graded: subprocess.CompletedProcess[str]) -> None:
    path = course.root / "autograded" / "student-001" / "mini" / "mini.ipynb"
    executed = read_notebook(path)
    assert cell_of(executed, "double").source == 'check("double", double)'
    assert cell_of(executed, "double").outputs[0].text.startswith("double: 3 / 3 points")
    assert "mark(" not in path.read_text(encoding="utf-8")


def test_autograde_runs_cells_even_when_told_not_to(course: Course, graded: object, tmp_path: Path) -> None:
    """Stock nbgrader gives full marks for cells that did not run."""
    hand_in(course, tmp_path / "submitted", "student-001")
    open_workspace(course, tmp_path)
    shutil.copy(course.root / "gradebook.db", tmp_path)
    done = run_nbgrader(tmp_path, "autograde", "mini", "--no-execute", "--student", "student-001")
    assert done.returncode == 0, done.stderr
    assert marks(tmp_path, "mini")["student-001"] == [
        ("double", 0.0, False), ("mean", 0.0, False), ("why", 0.0, False),
    ]  # fmt: skip


def test_autograde_refuses_without_walls(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbgrader.converters import Autograde
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory

    from course_lib.grading.nbgrader_plugin import install

    def missing() -> str:
        raise bubblewrap.RoomError("bubblewrap is missing")

    monkeypatch.setattr(bubblewrap, "find_bwrap", missing)
    hand_in(course, tmp_path / "submitted", "student-001", double_solution=DOUBLE)
    workspace = open_workspace(course, tmp_path)
    register(workspace, "mini")
    config = settings(workspace, "mini")
    install(config, course.root)
    with nbgrader_at_work() as log, pytest.raises(NbGraderException, match="bubblewrap is missing"):
        Autograde(coursedir=CourseDirectory(config=config), config=config, log=log.logger).start()
    assert "bubblewrap is missing" in log.text
    assert not workspace.notebook("autograded", "mini", "student-001").exists()
    assert marks(tmp_path, "mini") == {}


@pytest.mark.slow
def test_autograde_of_the_sample_class_agrees_with_course_grade(tmp_path: Path) -> None:
    shutil.copy(ROOT / "course.toml", tmp_path)
    shutil.copytree(ROOT / "solutions" / "ps1", tmp_path / "solutions" / "ps1")
    course = find_course(tmp_path)
    release(course, "ps1")
    rows = grade_sample(course, "ps1", progress=lambda done, total, failures: None).rows
    workspace = demo_workspace(course)
    ours = marks(workspace, "ps1")
    (workspace / "gradebook.db").unlink()
    shutil.rmtree(workspace / "autograded")
    register(open_workspace(course, workspace), "ps1")
    run_nbgrader(workspace, "autograde", "ps1")
    theirs = marks(workspace, "ps1")
    unreadable = {row.student.id for row in rows if row.report.status == "unreadable"}
    assert {name: theirs[name] for name in ours} == ours
    assert set(theirs) - set(ours) <= unreadable
    assert len(theirs) > 10
    report: Any = {row.student.id: row.report.score for row in rows}
    assert {name: sum(score or 0.0 for _, score, _ in rows_) for name, rows_ in theirs.items()} == {
        name: report[name] for name in theirs
    }


@pytest.mark.slow
def test_a_second_run_after_course_grade_changes_no_mark(course: Course, tmp_path: Path) -> None:
    submitted = tmp_path / "handed-in"
    hand_in(course, submitted, "student-001", double_solution=DOUBLE, mean_solution="def mean(x): return x")
    grade(course, "mini", submitted, tmp_path)
    before = marks(tmp_path, "mini")
    done = run_nbgrader(tmp_path, "autograde", "mini", "--force")
    assert done.returncode == 0, done.stderr
    assert marks(tmp_path, "mini") == before


@pytest.mark.slow
def test_autograde_lets_marks_stand_where_what_came_since_cannot_be_read(
    course: Course, tmp_path: Path
) -> None:
    submitted = tmp_path / "handed-in"
    for student in ("student-001", "student-002"):
        hand_in(course, submitted, student, double_solution=DOUBLE, why="Because.")
    grade(course, "mini", submitted, tmp_path)
    mark_by_hand(tmp_path, "student-001")
    before = marks(tmp_path, "mini"), by_hand(tmp_path, "student-001")
    (tmp_path / "submitted" / "student-001" / "mini" / "mini.ipynb").write_bytes(b"{")
    done = run_nbgrader(tmp_path, "autograde", "mini", "--force")
    assert done.returncode == 0, done.stderr
    assert "student-001: mini.ipynb is damaged" in done.stderr
    assert "what was graded before stands" in done.stderr
    assert (marks(tmp_path, "mini"), by_hand(tmp_path, "student-001")) == before
    assert (tmp_path / "autograded" / "student-001" / "mini" / "mini.ipynb").is_file()


def test_what_cannot_be_graded_keeps_marks_given_by_hand(course: Course, tmp_path: Path) -> None:
    hand_in(course, tmp_path / "handed-in", "student-001", double_solution=DOUBLE, why="Because.")
    grade(course, "mini", tmp_path / "handed-in", tmp_path)
    mark_by_hand(tmp_path, "student-001")
    where = {"notebook": "mini", "assignment": "mini", "student": "student-001"}
    where["db_url"] = f"sqlite:///{tmp_path / 'gradebook.db'}"
    before = marks(tmp_path, "mini")
    without_marks(where, only_where_none=True)
    assert (marks(tmp_path, "mini"), by_hand(tmp_path, "student-001")) == (before, (1.5, False))
    without_marks(where)
    assert [score for _, score, _ in marks(tmp_path, "mini")["student-001"]] == [0.0, 0.0, 0.0]
    assert by_hand(tmp_path, "student-001") == (1.5, True)


def mark_by_hand(folder: Path, student: str) -> None:
    from nbgrader.api import Gradebook

    with nbgrader_at_work(), Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        mark = gradebook.find_grade("why", "mini", "mini", student)
        mark.manual_score, mark.needs_manual_grade = 1.5, False
        gradebook.db.commit()


def by_hand(folder: Path, student: str) -> tuple[float | None, bool]:
    from nbgrader.api import Gradebook

    with nbgrader_at_work(), Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        mark = gradebook.find_grade("why", "mini", "mini", student)
        return mark.manual_score, mark.needs_manual_grade


def test_signs_of_a_pattern_in_the_name_of_the_folder_mean_nothing(tmp_path: Path) -> None:
    from nbgrader.coursedir import CourseDirectory

    course = find_course(shutil.copytree(ROOT / "tests" / "mini_course", tmp_path / "a+b (1) \\u"))
    folder = CourseDirectory(config=settings(open_workspace(course, course.root), "mini"))
    step = folder.source_directory
    pattern = folder.format_path(step, "(?P<student_id>.*)", "(?P<assignment_id>.*)", escape=True)
    found = re.match(pattern, folder.format_path(step, ".", "mini"))
    assert found is not None
    assert found["assignment_id"] == "mini"
    assert Path(folder.format_path(step, ".", "mini")) == course.nbgrader / "source" / "mini"
