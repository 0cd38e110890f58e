from __future__ import annotations

import shutil
import unicodedata
from pathlib import Path

import pytest

from course_lib.course import Course, CourseError, find_course
from course_lib.grading.gradebook import gradebook_of, open_gradebook
from course_lib.grading.workspace import open_workspace
from course_lib.people.roster import Directory, Person, import_roster, people_in
from course_lib.people.tables import cell, read_table

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,ps1 (4821),Current Score
,,,,,Manual Posting,
"    Points Possible",,,,,16,(read only)
"One, Student",101,20270001,student-001,A,7,43.75
"학생, 둘",102,20270002,student-002,A and B,,
"Student, Test",999,,,A,,
"""
MOODLE = """\
First name,Last name,ID number,Email address,Groups
Student,One,20270001,student-001@example.org,A
둘,학생,20270002,student-002@example.org,
"""
WORKSHEET = """\
Identifier,Full name,ID number,Email address,Status,Grade,Maximum grade,Last modified (submission),Last modified (grade)
Participant 51,Student One,20270001,student-001@example.org,No submission,,16.00,-,-
"""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gradebook without anybody: nbgrader takes a second to make one."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "course.toml").write_text("")
    open_gradebook(open_workspace(find_course(folder), folder)).close()
    return folder


@pytest.fixture
def course(tmp_path: Path, empty: Path) -> Course:
    shutil.copytree(empty, tmp_path, dirs_exist_ok=True)
    return find_course(tmp_path)


def write(folder: Path, text: str | bytes, encoding: str = "utf-8") -> Path:
    path = folder / "list.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def everybody(course: Course) -> dict[str, Person]:
    with gradebook_of(course) as gradebook:
        return {person.id: person for person in people_in(gradebook)}


def names(course: Course) -> dict[str, tuple[str, str, str]]:
    return {one.id: (one.last_name, one.first_name, one.email) for one in everybody(course).values()}


def test_import_roster_reads_canvas_gradebook_exports(course: Course) -> None:
    done = import_roster(course, write(course.root, CANVAS), "canvas")
    assert (done.id_column, done.new) == ("SIS User ID", ["20270001", "20270002"])
    assert names(course) == {"20270001": ("One", "Student", ""), "20270002": ("학생", "둘", "")}
    assert everybody(course)["20270002"].columns == {
        "Student": "학생, 둘", "ID": "102", "SIS User ID": "20270002", "SIS Login ID": "student-002",
        "Section": "A and B",
    }  # fmt: skip


def test_import_roster_reads_moodle_lists(course: Course) -> None:
    import_roster(course, write(course.root, MOODLE), "moodle")
    assert names(course) == {
        "20270001": ("One", "Student", "student-001@example.org"),
        "20270002": ("학생", "둘", "student-002@example.org"),
    }
    done = import_roster(course, write(course.root, WORKSHEET), "moodle")
    assert done.absent == ["20270002"]
    assert everybody(course)["20270001"].columns["Identifier"] == "Participant 51"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp949", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_import_roster_reads_korean_lists(course: Course, encoding: str, separator: str) -> None:
    text = "학번,성,이름,이메일\r\n20270001,학생,하나,a@example.org\r\n".replace(",", separator)
    import_roster(course, write(course.root, text, encoding), "csv")
    assert names(course) == {"20270001": ("학생", "하나", "a@example.org")}


def test_import_roster_never_makes_two_students_of_one_id(course: Course) -> None:
    composed, decomposed = (unicodedata.normalize(form, "학생하나") for form in ("NFC", "NFD"))
    assert composed != decomposed
    import_roster(course, write(course.root, f"id,name\n{decomposed},{decomposed}\n"), "csv")
    assert list(everybody(course)) == [composed]
    done = import_roster(course, write(course.root, f"id,name\n{composed},{composed}\n"), "csv")
    assert (done.new, done.unchanged) == ([], [composed])


def test_import_roster_keeps_an_id_that_the_gradebook_has_decomposed(course: Course) -> None:
    decomposed = unicodedata.normalize("NFD", "학생하나")
    with gradebook_of(course) as gradebook:
        gradebook.add_student(decomposed)
    import_roster(course, write(course.root, "id,name\n학생하나,하나\n"), "csv")
    assert list(everybody(course)) == [decomposed]


def test_import_roster_again_updates(course: Course) -> None:
    text = "id,last name,first name,email\nstudent-001,A,B,a@example.org\nstudent-002,C,D,\n"
    import_roster(course, write(course.root, text), "csv")
    done = import_roster(
        course, write(course.root, text.replace("a@", "b@").replace("student-002", "s-3")), "csv"
    )
    assert (done.new, done.updated, done.unchanged, done.absent) == (
        ["s-3"],
        ["student-001"],
        [],
        ["student-002"],
    )
    assert names(course)["student-001"] == ("A", "B", "b@example.org")


def test_who_left_the_list_is_still_known_by_the_lms_number(course: Course) -> None:
    """A zip from before holds what they handed in, and a name can be two people's."""
    text = 'Student,ID,SIS User ID\n"A, B",101,student-001\n"A, B",102,student-002\n'
    import_roster(course, write(course.root, text), "canvas")
    import_roster(course, write(course.root, text.replace('"A, B",102,student-002\n', "")), "canvas")
    with open_gradebook(open_workspace(course, course.root)) as gradebook:
        found = Directory(people_in(gradebook)).by_number("ID", "102")
    assert found is not None
    assert found.id == "student-002"


def test_import_roster_reports_duplicates_and_refuses_two_people_with_one_id(course: Course) -> None:
    done = import_roster(course, write(course.root, "id,name\na-1,X\nb-1,Y\nA-1,X\n"), "csv")
    assert done.duplicates == ["A-1 stands in lines 2 and 4"]
    with pytest.raises(CourseError, match=r"lines 2 and 3 are two people with one id, a-1"):
        import_roster(course, write(course.root, "id,name\na-1,X\na-1,Y\n"), "csv")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("id,name\n", "lists nobody"),
        ("colour,name\nred,X\n", r"no column for the students' ids .*there is: colour, name"),
        ("id,name\n,X\n", "line 2: nothing in the column 'id'"),
        ("id,name\n../x,X\n", r"line 2: '../x' can't be the name of a folder"),
        (f"id,name\n{'x' * 129},X\n", "is longer than 128 characters"),
        ('id,name\n"a-1,X\n', "is not a proper CSV file"),
        (b"PK\x03\x04\xff\xff\x00\x81", "is no text in UTF-8, UTF-16 or CP949"),
    ],
)
def test_import_roster_says_what_is_wrong(course: Course, text: str | bytes, sentence: str) -> None:
    with pytest.raises(CourseError, match=sentence):
        import_roster(course, write(course.root, text), "csv")
    assert everybody(course) == {}


def test_import_roster_takes_the_column_that_is_named(course: Course) -> None:
    import_roster(course, write(course.root, CANVAS), "canvas", id_column="sis login id")
    assert list(everybody(course)) == ["student-001", "student-002"]


def test_read_table_keeps_quoted_line_breaks(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, 'id,name\r\na,"x\r\ny, ""z"""\r\nb,w\r\n'))
    assert table.rows == [(3, {"id": "a", "name": 'x\r\ny, "z"'}), (4, {"id": "b", "name": "w"})]


def test_read_table_refuses_more_than_a_list_of_people(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    with path.open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    with pytest.raises(CourseError, match="has more than 64 MB, too much for a list of people"):
        read_table(path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (0.0, "0"), (-0.0, "0"), (7.5, "7.5"), (1 / 3, "0.3333"), (16.0, "16"), ("x", "x"),
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"), ("+1", "'+1"), ("-1", "'-1"), ("@a", "'@a"), ("\t=1", "'\t=1"),
        ("＝1", "'＝1"),
    ],
)  # fmt: skip
def test_cell_defuses_words_and_shortens_numbers(value: str | float | None, text: str) -> None:
    assert cell(value) == text
