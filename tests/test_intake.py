"""Taking in what students hand in: what is read, what is refused, and in which words."""

from __future__ import annotations

import errno
import json
import os
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mini import DOUBLE, cell_of, hand_in, snapshot

import course_lib.grading.intake as intake
import course_lib.grading.run as run
from course_lib.course import Course, CourseError
from course_lib.grading.intake import Missing, Submission, Unreadable, collect, stage, submissions_in
from course_lib.grading.notebook import new_cell, new_notebook, read_notebook, write_notebook
from course_lib.grading.run import grade

ROOT = Path(__file__).parents[1]
KOREAN = "김학생"  # a name that can be written in two ways


@pytest.fixture
def submitted(tmp_path: Path) -> Path:
    return tmp_path / "handed-in"


def test_submissions_in_reads_ids_in_composed_form(course: Course, submitted: Path) -> None:
    hand_in(course, submitted, unicodedata.normalize("NFD", KOREAN))
    hand_in(course, submitted, "student-001")
    (submitted / ".hidden" / "mini").mkdir(parents=True)
    (submitted / "__MACOSX" / "mini").mkdir(parents=True)
    (submitted / "notes.txt").touch()
    (submitted / "link").symlink_to(submitted / "student-001")
    assert [submission.student for submission in submissions_in(submitted, "mini")] == ["student-001", KOREAN]


@pytest.mark.parametrize(
    ("prepare", "sentence"),
    [
        (lambda folder: None, "There is no folder"),
        (lambda folder: folder.touch(), "is a file. Give the folder"),
        (lambda folder: folder.mkdir(), "No student's folder in"),
        (lambda folder: (folder / "student-001" / "ps9").mkdir(parents=True), "holds a folder mini"),
        (
            lambda folder: shutil.copytree(ROOT / "tests" / "mini_course", folder),
            "is the course's own folder",
        ),
    ],
)
def test_submissions_in_says_what_is_wrong(
    submitted: Path, prepare: Callable[[Path], None], sentence: str
) -> None:
    prepare(submitted)
    with pytest.raises(CourseError, match=sentence) as caught:
        submissions_in(submitted, "mini")
    assert str(submitted) in str(caught.value)


def test_collect_copies_regular_files_only(course: Course, submitted: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a neighbour's")
    path = hand_in(course, submitted, "student-001")
    (path.parent / "link.ipynb").symlink_to(secret)
    (path.parent / "folder").mkdir()
    os.mkfifo(path.parent / "pipe")
    collect(submissions_in(submitted, "mini")[0], "mini", tmp_path / "submitted")
    assert list(snapshot(tmp_path / "submitted")) == ["student-001/mini/mini.ipynb"]


def staged(course: Course, submitted: Path, released: Any) -> Path:
    """The one submission's staged notebook."""
    [submission] = submissions_in(submitted, "mini")
    target = submitted.with_name("staged") / "mini.ipynb"
    stage(submission, "mini", released, target)
    return target


@pytest.mark.parametrize("name", ["mini (1).ipynb", "숙제.IPYNB", unicodedata.normalize("NFD", "숙제.ipynb")])
def test_stage_takes_the_only_notebook(course: Course, submitted: Path, released: Any, name: str) -> None:
    path = hand_in(course, submitted, "student-001")
    path.rename(path.with_name(name))
    assert cell_of(read_notebook(staged(course, submitted, released)), "double").metadata.nbgrader.points == 3


def test_stage_takes_the_notebook_with_the_graded_cells(
    course: Course, submitted: Path, released: Any
) -> None:
    path = hand_in(course, submitted, "student-001", double_solution=DOUBLE)
    path.rename(path.with_name("mine.ipynb"))
    write_notebook(new_notebook([new_cell("code", "a", "1", {})], {}), path.with_name("scratch.ipynb"))
    assert cell_of(read_notebook(staged(course, submitted, released)), "double-solution").source == DOUBLE


def test_stage_takes_a_byte_order_mark_and_old_formats(
    course: Course, submitted: Path, released: Any
) -> None:
    path = hand_in(course, submitted, "student-001", double_solution=DOUBLE)
    old = json.loads(path.read_text(encoding="utf-8"))
    old["nbformat_minor"] = 2
    for cell in old["cells"]:
        del cell["id"]
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(old).encode())
    assert cell_of(read_notebook(staged(course, submitted, released)), "double-solution").source == DOUBLE


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "mini.ipynb is empty"),
        (b'{"cells": [', "mini.ipynb is damaged: its JSON breaks off or is wrong at line 1"),
        ('{"cells": "x\u00e9"}'.encode("latin-1"), "mini.ipynb is not UTF-8 text (byte 12)"),
        (b"[1, 2]", "mini.ipynb is not a valid notebook"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [3]}', "not a valid notebook"),
        (b'{"nbformat": 99, "nbformat_minor": 0, "metadata": {}, "cells": []}', "not a valid notebook"),
        (b"[" * 100_000, "not a valid notebook: it is nested too deeply"),
    ],
)
def test_stage_says_what_cannot_be_read(
    course: Course, submitted: Path, released: Any, content: bytes, sentence: str
) -> None:
    hand_in(course, submitted, "student-001").write_bytes(content)
    with pytest.raises(Unreadable) as caught:
        staged(course, submitted, released)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_stage_refuses_to_choose_between_two(course: Course, submitted: Path, released: Any) -> None:
    path = hand_in(course, submitted, "student-001")
    path.rename(path.with_name("a.ipynb"))
    shutil.copy(path.with_name("a.ipynb"), path.with_name("b.ipynb"))
    with pytest.raises(Unreadable, match=r"2 notebooks hold this problem set \(a.ipynb, b.ipynb\)"):
        staged(course, submitted, released)


def test_stage_looks_into_so_many_notebooks_and_no_more(
    course: Course, submitted: Path, released: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = hand_in(course, submitted, "student-001")
    for number in range(25):
        shutil.copy(path, path.with_name(f"copy-{number}.ipynb"))
    looked: list[str] = []
    parse = intake.parse_submission
    monkeypatch.setattr(
        intake, "parse_submission", lambda name, content: looked.append(name) or parse(name, content)
    )
    assert staged(course, submitted, released).is_file()
    path.unlink()
    with pytest.raises(Unreadable, match="25 notebooks are there"):
        staged(course, submitted, released)
    assert set(looked) == {"mini.ipynb"}


def test_collect_copies_no_more_bytes_than_a_submission_needs(
    course: Course, submitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MAX_COLLECTED", 3 * 2**20)
    monkeypatch.setattr(intake, "MAX_FILES", 8)
    path = hand_in(course, submitted, "student-001")
    for number in range(12):
        with path.with_name(f"{number:02}.bin").open("wb") as file:
            file.truncate(2**20)  # a hole: it takes no room here
    submission = submissions_in(submitted, "mini")[0]
    for _ in range(2):
        collect(submission, "mini", tmp_path)
        files = {file.name: file.stat() for file in (tmp_path / "student-001" / "mini").iterdir()}
        assert (len(files), files["00.bin"].st_size, files["06.bin"].st_size) == (8, 2**20, 2**20)
        assert sum(found.st_blocks * 512 for found in files.values()) < 4 * 2**20
        written = {name: found.st_mtime_ns for name, found in files.items()}
    path.write_bytes(path.read_bytes() + b"\n")
    collect(submission, "mini", tmp_path)
    assert (tmp_path / "student-001" / "mini" / "mini.ipynb").stat().st_mtime_ns != written["mini.ipynb"]


def test_grade_goes_on_behind_whatever_taking_in_comes_to(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted = tmp_path / "in"
    for student in ("student-001", "student-002"):
        hand_in(course, submitted, student, double_solution=DOUBLE)
    choose = run.choose

    def odd(submission: Submission, *rest: Any) -> Any:
        if submission.student == "student-001":
            raise error
        return choose(submission, *rest)

    monkeypatch.setattr(run, "choose", odd)
    for error in (ZeroDivisionError("odd"), IsADirectoryError(21, "Is a directory", "x")):
        report = grade(course, "mini", submitted, tmp_path / "work", jobs=1)
        assert [(one.status, one.score) for one in report.students] == [("unreadable", 0), ("graded", 3)]
        assert type(error).__name__ in report.students[0].note
    error = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="No space left"):
        grade(course, "mini", submitted, tmp_path / "work", jobs=1)


def test_stage_refuses_two_folders_of_one_id(course: Course, submitted: Path, released: Any) -> None:
    for form in ("NFC", "NFD"):
        hand_in(course, submitted, unicodedata.normalize(form, KOREAN))
    with pytest.raises(Unreadable, match="two folders have this student's id"):
        staged(course, submitted, released)


@pytest.mark.parametrize(
    ("name", "sentence"), [(None, "mini is empty"), ("mini.py", "no notebook in mini, only mini.py")]
)
def test_stage_says_what_is_missing(submitted: Path, released: Any, name: str | None, sentence: str) -> None:
    folder = submitted / "student-001" / "mini"
    folder.mkdir(parents=True)
    if name:
        (folder / name).touch()
    with pytest.raises(Missing, match=sentence):
        stage(
            Submission("student-001", (folder.parent,)), "mini", released, submitted / "staged" / "mini.ipynb"
        )
