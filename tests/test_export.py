from __future__ import annotations

import shutil
import stat
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import pytest
from lms_class import course_with_gradebook, give_marks, zip_bytes

from course_lib import cli
from course_lib.course import Course, CourseError, find_course
from course_lib.grading.gradebook import gradebook_of
from course_lib.people.collect import collect_zip
from course_lib.people.export import To, export_marks
from course_lib.people.feedback_zip import pack_feedback
from course_lib.people.roster import import_roster

# Student 1 waits for a mark in words; 2 is late; 3 has 0; 4 handed in nothing; 5 has a third of a point.
MARKS = {
    "student-001": {"double": (3.0, None, False), "mean": (2.5, None, False), "why": (None, None, True)},
    "student-002": {"double": (3.0, None, False), "mean": (2.5, None, False), "why": (None, 1.5, False)},
    "student-003": {"double": (0.0, None, False), "mean": (0.0, None, False), "why": (0.0, None, False)},
    "student-005": {"double": (1 / 3, None, False), "mean": (0.0, None, False), "why": (0.0, None, False)},
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    course = course_with_gradebook(tmp_path_factory.mktemp("class"))
    give_marks(course, MARKS, penalty={"student-002": 0.7})
    return course.root


@pytest.fixture
def course(tmp_path: Path, original: Path) -> Course:
    shutil.copytree(original, tmp_path / "course")
    return find_course(tmp_path / "course")


def cells(path: Path) -> list[list[str]]:
    """A CSV read by RFC 4180 alone, letter by letter: not by the library that wrote it."""
    text = path.read_bytes().decode("utf-8")
    rows, row, word, quoted, after = [], [], "", False, False
    for sign in text:
        if quoted:
            quoted, word, after = (True, word + sign, False) if sign != '"' else (False, word, True)
        elif sign == '"':
            quoted, word = True, word + '"' if after else word
        elif sign in ",\n":
            row.append(word.removesuffix("\r"))
            word = ""
            if sign == "\n":
                rows.append(row)
                row = []
        else:
            word += sign
        after = after and sign == '"'
    assert (quoted, word, row) == (False, "", [])
    return rows


def sheet(path: Path) -> list[list[str | float | None]]:
    """The first sheet of a workbook, from its XML; a cell that would compute something fails."""
    space = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(path) as book:
        tree = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    assert tree.find(".//m:f", space) is None
    rows = []
    for row in tree.findall(".//m:row", space):
        values: dict[int, str | float] = {}
        for cell in row.findall("m:c", space):
            column = ord(cell.attrib["r"][0]) - ord("A")
            if cell.attrib.get("t") == "inlineStr":
                values[column] = "".join(cell.itertext())
            elif (value := cell.findtext("m:v", None, space)) is not None:
                values[column] = float(value)
        rows.append([values.get(column) for column in range(10)])
    return rows


def test_export_for_canvas_is_its_gradebook(course: Course, tmp_path: Path) -> None:
    done = export_marks(course, ["mini"], "canvas", tmp_path / "out.csv", column="Problem set (77)")
    assert cells(tmp_path / "out.csv") == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Problem set (77)"],
        ["    Points Possible", "", "", "", "", "7.5"],
        ["학생, 둘", "102", "student-002", "s2", "A", "6.3"],
        ["Three, Student", "103", "student-003", "s3", "B", "0"],
        ["Same, Name", "105", "student-005", "s5", "B", "0.33"],
    ]
    assert (done.waiting, done.nothing) == (("student-001",), ("student-004",))
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o600


def test_export_takes_penalties_by_todays_marks_and_rules(course: Course, tmp_path: Path) -> None:
    settings = course.root / "course.toml"
    settings.write_text(f'{settings.read_text()}[late]\npenalty = "10% per day"\n')
    with gradebook_of(course) as gradebook:
        for student in ("student-001", "student-002"):
            gradebook.find_submission("mini", student).timestamp = datetime(2027, 4, 1, 12)
        waited = gradebook.find_grade("why", "mini", "mini", "student-001")
        waited.manual_score, waited.needs_manual_grade = 2.0, False
        gradebook.db.commit()
    export_marks(find_course(course.root), ["mini"], "moodle", tmp_path / "out.csv")
    assert [row[-1] for row in cells(tmp_path / "out.csv")[1:3]] == ["6.75", "6.3"]  # 7.5 and 7, less a tenth
    with gradebook_of(course) as gradebook:
        assert gradebook.find_submission("mini", "student-001").late_submission_penalty == pytest.approx(0.75)


def test_export_into_canvass_own_file(course: Course, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,other (1),mini (77),Final Score\n"
        ",,,,,,Manual Posting,\n    Points Possible,,,,,5,7.5,(read only)\n"
        '"Two",102,student-002,s2,A,4,,\n"Gone, Student",900,x,x,A,3,2,\n"Student, Test",999,,,A,,,\n'
    )
    done = export_marks(course, ["mini"], "canvas", tmp_path / "out.csv", into=tmp_path / "in.csv")
    assert [row[-1] for row in cells(tmp_path / "out.csv")] == [
        "mini (77)",
        "Manual Posting",
        "7.5",
        "6.3",
    ]
    assert (done.unknown, done.other_points) == (("Gone, Student",), ())
    with pytest.raises(CourseError, match="has no columns for nothing"):
        export_marks(
            course, ["mini"], "canvas", tmp_path / "o.csv", into=tmp_path / "in.csv", column="nothing"
        )


def canvas_after(held: dict[str, str], path: Path, place: str) -> dict[str, str]:
    """What Canvas holds after an import, as its importer reads a file: an empty cell takes a mark away."""
    header, *rows = cells(path)
    people = [row for row in rows if row[1] and "Points Possible" not in row[0]]
    return held | {row[1]: row[header.index(place)] for row in people}


def test_export_takes_nothing_away_from_canvas(course: Course, tmp_path: Path) -> None:
    # 1 waits here and has a mark there, 2 is excused there, 4 handed in nothing here, 9 is another teacher's.
    held = {"101": "4", "102": "EX", "103": "7", "104": "3", "105": "", "900": "2"}
    head = 'Student,ID,SIS User ID,SIS Login ID,Section,mini (77)\n    Points Possible,,,,,"100,00"\n'
    people = "".join(f'"Somebody, {number}",{number},,,A and B,{mark}\n' for number, mark in held.items())
    (tmp_path / "in.csv").write_text(head + people, encoding="utf-8")
    done = export_marks(course, ["mini"], "canvas", tmp_path / "into.csv", into=tmp_path / "in.csv")
    assert canvas_after(held, tmp_path / "into.csv", "mini (77)") == held | {"103": "0", "105": "0.33"}
    assert (done.excused, done.other_points) == (("student-002",), ("mini (100, and 7.5 here)",))
    # Without its file nobody knows who is excused there; nothing else is taken away, either.
    export_marks(course, ["mini"], "canvas", tmp_path / "out.csv", column="mini (77)")
    after = canvas_after(held, tmp_path / "out.csv", "mini (77)")
    assert after == held | {"102": "6.3", "103": "0", "105": "0.33"}


@pytest.mark.parametrize("to", ["canvas", "moodle"])
def test_export_of_several_sets_to_an_lms_leaves_no_cell_empty(
    course: Course, tmp_path: Path, to: Literal["canvas", "moodle"]
) -> None:
    (course.root / "solutions" / "other").mkdir()
    (course.root / "solutions" / "other" / "tasks.py").touch()
    give_marks(course, {"student-003": MARKS["student-003"]}, of="other")
    with pytest.raises(CourseError, match="student-002 has no mark yet for other, and an LMS takes away"):
        export_marks(course, ["mini", "other"], to, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    export_marks(course, ["mini", "other"], "csv", tmp_path / "out.csv")


def test_export_into_moodles_worksheet(course: Course, tmp_path: Path) -> None:
    head = "Identifier,Full name,ID number,Status,Grade,Maximum grade,Grade can be changed,Last modified (grade)\n"
    (tmp_path / "in.csv").write_text(
        f"{head}Participant 51,Student One,student-001,Submitted,,7.50,Yes,-\nParticipant 52,학생둘,,,,7.50,Yes,-\n"
        "Participant 53,Student Three,student-003,,,7.50,Yes,-\nParticipant 55,x,student-005,,9,7.50,No,-\n"
        "Participant 59,Stranger,s-9,,,7.50,Yes,-\n",
        encoding="utf-8",
    )
    done = export_marks(course, ["mini"], "moodle", tmp_path / "out.csv", into=tmp_path / "in.csv")
    rows = cells(tmp_path / "out.csv")
    assert ",".join(rows[0]) + "\n" == head
    assert [row[4] for row in rows[1:]] == ["", "6.3", "0", "9", ""]
    assert {row[-1] for row in rows[1:]} == {"-"}
    assert done.unknown == ("Stranger",)


def test_export_for_moodles_gradebook(course: Course, tmp_path: Path) -> None:
    export_marks(course, ["mini"], "moodle", tmp_path / "out.csv")
    rows = cells(tmp_path / "out.csv")
    assert rows[0] == ["First name", "Last name", "ID number", "Email address", "mini"]
    assert rows[1] == ["둘", "학생", "student-002", "", "6.3"]
    assert [(row[2], row[-1]) for row in rows[1:]] == [
        ("student-002", "6.3"), ("student-003", "0"), ("student-005", "0.3333"),
    ]  # fmt: skip


def test_export_into_a_korean_worksheet(course: Course, tmp_path: Path) -> None:
    # The headings are those of Moodle's Korean language pack, and what it lacks is English.
    (tmp_path / "in.csv").write_text(
        "식별자,전체 이름,id 번호,상태,성적,최대 성적,Grade can be changed,마지막 수정됨(성적)\n"
        "참가자52,학생 둘,,,,100.00,예,-\n참가자53,x,student-003,,,100.00,예,-\n"
        "참가자55,x,student-005,,9,100.00,아니오,-\n",
        encoding="utf-8",
    )
    done = export_marks(course, ["mini"], "moodle", tmp_path / "out.csv", into=tmp_path / "in.csv")
    assert [row[4] for row in cells(tmp_path / "out.csv")[1:]] == ["6.3", "0", "9"]
    assert (done.unknown, done.other_points) == ((), ("mini (100, and 7.5 here)",))


def test_export_for_people_has_every_item(course: Course, tmp_path: Path) -> None:
    export_marks(course, ["mini"], "csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    rows = cells(tmp_path / "out.csv")
    assert rows[0][5:] == ["double (3)", "mean (2.5)", "why (2)", "late_penalty", "mini (7.5)"]
    assert [row[5:] for row in rows[1:]] == [
        ["3", "2.5", "", "0", ""], ["3", "2.5", "1.5", "0.7", "6.3"], ["0", "0", "0", "0", "0"],
        [""] * 5, ["0.3333", "0", "0", "0", "0.3333"],
    ]  # fmt: skip


def test_export_as_workbook_has_numbers_and_words(course: Course, tmp_path: Path) -> None:
    (course.root / "more.csv").write_text('id,last name,first name\n=1+1,"=HYPERLINK(""x"")",\x07bell\n')
    import_roster(course, course.root / "more.csv", "csv")
    export_marks(course, ["mini"], "xlsx", tmp_path / "out.xlsx")
    rows = sheet(tmp_path / "out.xlsx")
    assert rows[0][5:] == ["double (3)", "mean (2.5)", "why (2)", "late_penalty", "mini (7.5)"]
    assert rows[1][:3] == ["=1+1", '=HYPERLINK("x")', "\N{REPLACEMENT CHARACTER}bell"]
    assert rows[2][5:] == [3.0, 2.5, None, 0.0, None]
    assert rows[3][1:3] == ["학생", "둘"]
    assert rows[4][9] == 0.0


def test_export_quotes_and_defuses(course: Course, tmp_path: Path) -> None:
    (course.root / "more.csv").write_text(
        'id,last name,first name\nx-1,"=HYPERLINK(""a"",1)","Kim, Jr.\n2"\n'
    )
    import_roster(course, course.root / "more.csv", "csv")
    export_marks(course, ["mini"], "csv", tmp_path / "out.csv")
    [row] = [row for row in cells(tmp_path / "out.csv") if row[0] == "x-1"]
    assert row[1:3] == ['\'=HYPERLINK("a",1)', "Kim, Jr.\n2"]


def test_export_counts_what_is_missing_as_zero_only_when_told(course: Course, tmp_path: Path) -> None:
    export_marks(course, ["mini"], "moodle", tmp_path / "out.csv", missing_as_zero=True)
    assert [row[-1] for row in cells(tmp_path / "out.csv")[1:]] == ["6.3", "0", "0", "0.3333"]


def test_export_of_nobody_says_so_and_writes_nothing(course: Course, tmp_path: Path) -> None:
    with gradebook_of(course) as gradebook:
        for student in list(gradebook.students):
            gradebook.remove_student(student.id)
    with pytest.raises(CourseError, match="There is nobody in the gradebook"):
        export_marks(course, ["mini"], "csv", tmp_path / "marks.csv")
    assert not (tmp_path / "marks.csv").exists()


@pytest.mark.parametrize(
    ("to", "given", "options", "sentence"),
    [
        ("csv", "Student,ID\n", {}, "--into goes with --to canvas or moodle, not csv"),
        ("moodle", "학번,점수\nstudent-001,\n", {}, "is no grading worksheet in English or Korean"),
        ("moodle", "Identifier,Full name\nParticipant 1,One\n", {}, "no Identifier, no Grade"),
        ("moodle", "Identifier,Grade\n", {"sets": 2}, "A grading worksheet is for one problem set"),
        ("csv", None, {"sets": 2, "column": "Set"}, "--column names one problem set"),
    ],
)
def test_export_says_what_does_not_go_together(
    course: Course, tmp_path: Path, to: To, given: str | None, options: dict[str, Any], sentence: str
) -> None:
    into = tmp_path / "in.csv" if given else None
    if into:
        into.write_text(given or "", encoding="utf-8")
    sets = ["mini"] * options.pop("sets", 1)
    with pytest.raises(CourseError, match=sentence):
        export_marks(course, sets, to, tmp_path / "out.csv", into=into, **options)
    assert not (tmp_path / "out.csv").exists()


def test_export_command(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course.root)
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    with pytest.raises(SystemExit) as end:
        cli.main(["export", "all", "--to", "xlsx", "--out", "marks.xlsx"])
    said = capsys.readouterr().out
    assert not end.value.code
    assert "mini of 5 students, in marks.xlsx" in said
    assert "person has still to mark: student-001." in said
    assert "Next:" not in said
    with pytest.raises(SystemExit) as end:  # the folder in which it would have put them by itself
        cli.main(["export", "mini", "--to", "csv", "--out", "exports/other.csv"])
    assert not end.value.code
    assert (course.root / "exports" / "other.csv").is_file()
    for to, next_step in {"canvas": "in Canvas: Grades", "moodle": "in Moodle: Grades, Import"}.items():
        with pytest.raises(SystemExit):
            cli.main(["export", "mini", "--to", to])
        assert next_step in capsys.readouterr().out.splitlines()[-1]
    with pytest.raises(SystemExit) as end:
        cli.main(["export", "mini", "--to", "csv", "--out", "nowhere/marks.csv"])
    assert end.value.code == 1
    assert "give a file in a folder that is there" in capsys.readouterr().err


def pages(course: Course) -> None:
    for student in ("student-001", "student-002", "student-003"):
        folder = course.root / "feedback" / student / "mini"
        folder.mkdir(parents=True)
        (folder / "mini.html").write_text(f"<p>{student}")


def zipped(path: Path) -> dict[str, str]:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_pack_feedback_lies_where_the_lms_looks_for_it(course: Course, tmp_path: Path) -> None:
    pages(course)
    members = [
        ("onestudent_LATE_101_9001_mini-1.ipynb", b"one"),
        ("Student Three_53_assignsubmission_file/mini.ipynb", b"three"),
    ]
    (tmp_path / "all.zip").write_bytes(zip_bytes(*members))
    collect_zip(course, "mini", tmp_path / "all.zip", received="2027-03-01 12:00")
    done = pack_feedback(course, "mini", "canvas", tmp_path / "canvas.zip")
    assert zipped(tmp_path / "canvas.zip") == {"onestudent_LATE_101_9001_mini.html": "<p>student-001"}
    assert done.unknown == ("student-002", "student-003")
    pack_feedback(course, "mini", "moodle", tmp_path / "moodle.zip")
    assert zipped(tmp_path / "moodle.zip") == {
        "Student Three_53_assignsubmission_file_/mini.html": "<p>student-003"
    }
    first = (tmp_path / "moodle.zip").read_bytes()
    pack_feedback(course, "mini", "moodle", tmp_path / "moodle.zip")
    assert (tmp_path / "moodle.zip").read_bytes() == first


def test_pack_feedback_makes_a_zip_for_each_and_follows_no_link(course: Course, tmp_path: Path) -> None:
    pages(course)
    own = course.root / "feedback" / "student-002" / "mini" / "mini.html"
    own.unlink()
    own.symlink_to(course.root / "feedback" / "student-001" / "mini" / "mini.html")
    pack_feedback(course, "mini", "folder", tmp_path / "zips")
    assert stat.S_IMODE((tmp_path / "zips").stat().st_mode) == 0o700
    assert {path.name: zipped(path) for path in (tmp_path / "zips").iterdir()} == {
        f"{student}.zip": {"mini.html": f"<p>{student}"} for student in ("student-001", "student-003")
    }


def test_pack_feedback_says_what_is_missing(course: Course, tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"There is no feedback on mini\. Run: course feedback mini"):
        pack_feedback(course, "mini", "canvas", tmp_path / "x.zip")
    pages(course)
    with pytest.raises(CourseError, match=r"known to have come from canvas\. Take its zip in first"):
        pack_feedback(course, "mini", "canvas", tmp_path / "x.zip")
