from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lms_class import Scores, course_with_gradebook, give_marks
from mini import SOURCE

from course_lib import cli
from course_lib.course import Course, CourseError, find_course
from course_lib.grading.gradebook import gradebook_of
from course_lib.people.report_page import report_page
from course_lib.people.roster import import_roster
from course_lib.people.statistics import statistics_of

# Of eleven students: points for double (3), mean (2.5); the last one waits for the mark in words.
DOUBLE = [3, 3, 3, 3, 2, 2, 1, 1, 0, 0, 3]
MEAN = [2.5, 2.5, 1, 2.5, 1, 1, 0, 1, 0, 1, 0]
WHY = [2, 1, 2, 1, 1, 2, 0, 1, 0, 0, None]


def scores(double: float, mean: float, why: float | None) -> Scores:
    return {
        "double": (double, None, False),
        "mean": (mean, None, False),
        "why": (None, why, why is None),
    }


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    course = course_with_gradebook(tmp_path_factory.mktemp("class"))
    shutil.copy(SOURCE / "solutions" / "mini" / "tasks.py", course.solutions / "mini" / "tasks.py")
    students = [f"secret-{number:03}" for number in range(11)]
    (course.root / "more.csv").write_text("\n".join(["id,name", *(f"{one},{one}" for one in students)]))
    import_roster(course, course.root / "more.csv", "csv")
    rows = zip(students, DOUBLE, MEAN, WHY, strict=True)
    give_marks(course, {student: scores(*row) for student, *row in rows}, penalty={students[0]: 5.0})
    with gradebook_of(course) as gradebook:
        connection = gradebook.engine.raw_connection()
        connection.cursor().execute(
            "CREATE TABLE course_graded (problem_set TEXT, student TEXT, messages TEXT)"
        )
        for student, points in zip(students, DOUBLE, strict=True):
            said = {2: "→ that is three times", 1: "→ 입력이 바뀝니다"}.get(points, "fine")
            other = said if points else "→ that is the sum"
            row = ("mini", student, json.dumps({"double": said, "mean": other}))
            connection.cursor().execute("INSERT INTO course_graded VALUES (?, ?, ?)", row)
        connection.commit()
        connection.close()
    return course.root


@pytest.fixture
def course(tmp_path: Path, original: Path) -> Course:
    shutil.copytree(original, tmp_path / "course")
    return find_course(tmp_path / "course")


def test_statistics_are_those_of_the_marks(course: Course) -> None:
    found, _ = statistics_of(course, "mini")
    assert (found.students, found.handed_in, found.waiting, found.most) == (16, 11, 1, 7.5)
    assert found.totals == tuple(
        sorted(sum(row) for row in zip(DOUBLE[:10], MEAN[:10], WHY[:10], strict=True))
    )
    double, mean, why = found.items
    assert (double.id, double.marked, double.difficulty, double.full) == (
        "double", 11, pytest.approx(sum(DOUBLE) / 33), pytest.approx(5 / 11),
    )  # fmt: skip
    rest = np.array(MEAN) + np.array([w or 0 for w in WHY])
    covered = np.array(DOUBLE) - np.mean(DOUBLE)
    by_hand = (covered @ (rest - rest.mean())) / np.sqrt(
        (covered @ covered) * ((rest - rest.mean()) @ (rest - rest.mean()))
    )
    assert double.discrimination == pytest.approx(by_hand, rel=1e-12)
    assert (why.marked, why.difficulty) == (10, pytest.approx(0.5))
    assert mean.points == 2.5


def test_statistics_count_named_mistakes_by_their_hints(course: Course) -> None:
    found, _ = statistics_of(course, "mini")
    assert [(one.item, one.name, one.hint, one.count) for one in found.mistakes] == [
        ("double", "double_in_place", "the input changes", 2),
        ("mean", "plain_sum", "that is the sum", 2),  # of those as frequent, the tasks take turns
        ("double", "triple", "that is three times", 2),
    ]


@pytest.mark.parametrize("language", ["ko", "en"])
def test_report_page_stands_alone_and_names_nobody(course: Course, language: str) -> None:
    text = report_page(statistics_of(course, "mini")[0], language)
    assert not re.search(r"secret-\d|student-\d|<script|http-equiv", text)
    addresses = set(re.findall(r'(?:src|href)="([^"#]+)', text)) | set(re.findall(r"url\((?!#)([^)]+)", text))
    assert addresses == set()
    assert text.count('<svg role="img" aria-label="') == 2
    assert "that is three times" in text if language == "en" else "수강생" in text
    assert text == report_page(statistics_of(course, "mini")[0], language)


def test_report_page_names_students_when_asked(course: Course) -> None:
    text = report_page(statistics_of(course, "mini")[0], "en", by_student={"<b>x": 3.5, "secret-001": None})
    assert '<th scope="row">&lt;b&gt;x</th><td>3.5</td>' in text
    assert "still to be marked</td>" in text


def test_report_page_draws_no_distribution_of_few(course: Course, tmp_path: Path) -> None:
    few = course_with_gradebook(tmp_path)
    shutil.copy(course.solutions / "mini" / "tasks.py", few.solutions / "mini" / "tasks.py")
    give_marks(few, {f"student-00{n}": scores(3, n, 1) for n in (1, 2)})
    found, _ = statistics_of(few, "mini")
    assert "once five students are marked in full" in report_page(found, "en")
    assert found.as_json()["totals"] is None
    assert {item.discrimination for item in found.items} == {None}


def test_report_command_writes_page_and_figures(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course.root)
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    with pytest.raises(SystemExit) as end:
        cli.main(["report", "mini", "--json", "figures.json"])
    said = capsys.readouterr().out
    assert not end.value.code
    assert "Report on 11 submissions: exports/mini-report.html" in said
    assert "secret" not in (course.root / "exports" / "mini-report.html").read_text()
    figures: dict[str, Any] = json.loads((course.root / "figures.json").read_text())
    assert figures["items"][0]["id"] == "double"
    assert "secret" not in json.dumps(figures)
    with pytest.raises(SystemExit):
        cli.main(["report", "mini", "--out", "nowhere/page.html"])
    sentence = "course: nowhere/page.html can't be written: give a file in a folder that is there.\n"
    assert capsys.readouterr().err == sentence


def test_statistics_say_that_nothing_was_graded(tmp_path: Path) -> None:
    course = course_with_gradebook(tmp_path)
    shutil.copy(SOURCE / "solutions" / "mini" / "tasks.py", course.solutions / "mini" / "tasks.py")
    with pytest.raises(CourseError, match="mini has not been graded here"):
        statistics_of(course, "mini")
