from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from mini import hand_in, make_course, released_course

from course_lib import cli
from course_lib.course import CourseError
from course_lib.people.similar import LONGEST, alike, fingerprints, similar_in

LOOP = """
def double(x):
    result = []
    for value in x:
        if value > 0:
            result.append(value + value)
        else:
            result.append(-(abs(value) + abs(value)))
    return np.asarray(result, dtype=float)
"""
RENAMED = """
def double(numbers):  # my own idea
    out = []
    for n in numbers:
        if n > 0:
            out.append(n + n)
        else:

            out.append( -(abs(n)+abs(n)) )
    return np.asarray(out, dtype=float)
"""
OTHER = """
def double(x):
    total = np.zeros(len(x))
    for index in range(len(x)):
        total[index] = 2.0 * float(x[index])
    while total.ndim > 1:
        total = total.ravel()
    return total if total.size else x * 2
"""


def test_fingerprints_see_through_names_layout_and_comments() -> None:
    assert fingerprints([LOOP]) == fingerprints([RENAMED]) != set()
    assert len(fingerprints([LOOP]) & fingerprints([OTHER])) <= 2


@pytest.mark.parametrize("source", ["", "x = 1", "def f(:\n  '''", "\x00", "(" * 500, "    x\n  y\n"])
def test_fingerprints_take_whatever_is_there(source: str) -> None:
    assert isinstance(fingerprints([source]), set)


def test_fingerprints_look_at_so_much_and_no_more() -> None:
    long = "x = 1\n" * 10**6
    assert fingerprints([long, "for y in z: y += f(2, 3, 4)\n" * 9]) == fingerprints([long[:LONGEST]])


def test_alike_leaves_out_what_many_wrote() -> None:
    class_of = {f"student-{n:03}": fingerprints([LOOP]) | {n} for n in range(40)}
    assert alike(class_of, {}) == []
    two = {f"student-{n:03}": fingerprints([LOOP if n < 2 else OTHER]) | {n} for n in range(40)}
    [pair] = alike(two, {})
    assert (pair.first, pair.second) == ("student-000", "student-001")
    assert pair.share > 0.9


def test_similar_in_lists_pairs_and_not_what_was_handed_out(tmp_path: Path) -> None:
    course = released_course(tmp_path)
    answers = {
        "student-001": LOOP,
        "student-002": RENAMED,
        "student-003": OTHER,
        "student-004": "",
        "student-005": "",
    }
    for student, source in answers.items():
        hand_in(
            course, course.root / "autograded", student, **({"double_solution": source} if source else {})
        )
    found = similar_in(course, "mini")
    assert found.submissions == 5
    assert [(pair.first, pair.second, pair.same) for pair in found.pairs] == [
        ("student-001", "student-002", ())
    ]
    copy = course.root / "autograded" / "student-001" / "mini" / "mini.ipynb"
    shutil.copy(copy, course.root / "autograded" / "student-005" / "mini" / "mini.ipynb")
    assert similar_in(course, "mini").pairs[0].same == ("double",)
    assert found.as_json()["pairs"][0]["first"] == "student-001"


def test_similar_command_shows_pairs_and_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    course = released_course(tmp_path)
    for student in ("student-001", "student-002"):
        hand_in(course, course.root / "autograded", student, double_solution=LOOP)
    monkeypatch.chdir(course.root)
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    with pytest.raises(SystemExit) as end:
        cli.main(["similar", "mini", "--json", "pairs.json"])
    assert not end.value.code
    said = capsys.readouterr().out
    assert "100 %" in said
    assert "Pairs to look at: 1, of 2 submissions." in said
    [pair] = json.loads((course.root / "pairs.json").read_text())["pairs"]
    assert (pair["first"], pair["second"], pair["same"]) == ("student-001", "student-002", ["double"])


def test_similar_in_says_that_nothing_was_graded(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="mini has not been graded here"):
        similar_in(make_course(tmp_path), "mini")
