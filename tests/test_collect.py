from __future__ import annotations

import io
import json
import random
import shutil
import struct
import tracemalloc
import unicodedata
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lms_class import at, course_with_gradebook, link, zip_bytes
from mini import snapshot

from course_lib import cli
from course_lib.course import Course, CourseError, find_course
from course_lib.people import archives
from course_lib.people.collect import Collection, collect_zip
from course_lib.people.times import in_zone

BEFORE = datetime(2027, 3, 30, 3, tzinfo=UTC)
AFTER = datetime(2027, 4, 5, 3, tzinfo=UTC)
DUE = datetime(2027, 3, 31, 14, 59, tzinfo=UTC)
NFD = unicodedata.normalize("NFD", "학생둘")
Collect = Callable[..., Collection]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return course_with_gradebook(tmp_path_factory.mktemp("class")).root


@pytest.fixture
def course(tmp_path: Path, original: Path) -> Course:
    folder = tmp_path / "course"
    shutil.copytree(original, folder)
    return find_course(folder)


@pytest.fixture
def collect(course: Course, tmp_path: Path) -> Collect:
    """Takes in a zip of these members."""

    def take(
        *entries: Any, now: datetime = BEFORE, content: bytes | None = None, **options: Any
    ) -> Collection:
        path = tmp_path / "all.zip"
        path.write_bytes(zip_bytes(*entries) if content is None else content)
        return collect_zip(course, "mini", path, now=now, **options)

    return take


def files(course: Course) -> dict[str, bytes]:
    submitted = course.root / "submitted"
    return {name: data for name, data in snapshot(submitted).items() if not name.endswith("timestamp.txt")}


def stamp(course: Course, student: str) -> str:
    return (course.root / "submitted" / student / "mini" / "timestamp.txt").read_text()


def test_collect_reads_canvas_names(course: Course, collect: Collect) -> None:
    done = collect(
        ("onestudent_101_9001_mini.ipynb", b"one"),
        ("학생둘_LATE_102_9002_mini-1.ipynb", b"two"),
        ("threestudent_103_9003_my answer_12_34.ipynb", b"three"),
        now=AFTER, source="canvas",
    )  # fmt: skip
    assert files(course) == {
        "student-001/mini/mini.ipynb": b"one",
        "student-002/mini/mini.ipynb": b"two",
        "student-003/mini/my answer_12_34.ipynb": b"three",
    }
    found = {one.student: (one.status, one.received, bool(one.late)) for one in done.students}
    assert found["student-001"] == ("new", DUE, False)  # Canvas calls it in time
    # LATE, and nobody says by how much.
    assert found["student-002"] == ("new", DUE + timedelta(seconds=1), True)
    assert stamp(course, "student-001") == "2027-03-31 14:59:00.000000 UTC\n"
    assert done.missing == ("student-004", "student-005")
    assert done.unmatched == ()


def test_collect_believes_canvas_on_who_was_in_time(course: Course, collect: Collect) -> None:
    done = collect(
        ("onestudent_101_9001_mini.ipynb", b"one"),
        ("학생둘_LATE_102_9002_mini.ipynb", b"two"),
        now=AFTER, received="2027-04-01 00:29",
    )  # fmt: skip
    assert [one.late for one in done.students] == [timedelta(0), timedelta(minutes=30)]


def test_collect_calls_nobody_late_within_an_extension(course: Course, collect: Collect) -> None:
    settings = course.root / "course.toml"
    settings.write_text(f'{settings.read_text()}[extensions]\nstudent-001 = {{ mini = "2 days" }}\n')
    members = [
        (f"{name}_9001_mini.ipynb", name.encode())
        for name in ("onestudent_LATE_101", "threestudent_LATE_103")
    ]
    (course.root / "all.zip").write_bytes(zip_bytes(*members))
    done = collect_zip(find_course(course.root), "mini", course.root / "all.zip", now=AFTER)
    assert [one.late for one in done.students] == [timedelta(0), timedelta(seconds=1)]
    assert "within an extension: look there" in done.students[0].known_by


def test_collect_reads_moodle_names(course: Course, collect: Collect) -> None:
    done = collect(
        ("Student One_51_assignsubmission_file_/mini.ipynb", b"one"),  # before 4.1
        (f"{NFD}_52_assignsubmission_file/work/deep/mini.ipynb", b"two"),
        ("Three Student_53_assignsubmission_file_mini.ipynb", b"three"),  # not in folders
        ("Three Student_53_assignsubmission_onlinetext/onlinetext.html", b"<p>"),
    )
    assert files(course) == {
        "student-001/mini/mini.ipynb": b"one",
        "student-002/mini/mini.ipynb": b"two",
        "student-003/mini/mini.ipynb": b"three",
    }
    assert [one.received for one in done.students] == [BEFORE] * 3


def test_collect_reads_folders_of_ids_within_a_folder(course: Course, collect: Collect) -> None:
    collect(("all/student-001/mini/mini.ipynb", b"one"), ("all/STUDENT-002/mini.ipynb", b"two"))
    assert files(course) == {"student-001/mini/mini.ipynb": b"one", "student-002/mini/mini.ipynb": b"two"}


def test_collect_reads_a_zip_that_a_student_handed_in(course: Course, collect: Collect) -> None:
    inner = zip_bytes(("mini/mini.ipynb", b"one"), ("mini/.ipynb_checkpoints/mini-checkpoint.ipynb", b"old"))
    collect(("onestudent_101_9001_work.zip", inner), ("threestudent_103_9003_broken.zip", b"PK"))
    assert files(course) == {"student-001/mini/mini.ipynb": b"one"}


def test_collect_opens_no_zip_within_a_students_zip(course: Course, collect: Collect) -> None:
    innermost = zip_bytes(("mini.ipynb", b"one"))
    done = collect(("onestudent_101_9001_work.zip", zip_bytes(("more.zip", innermost))), now=BEFORE)
    assert files(course) == {}
    assert [one.status for one in done.students] == ["no notebook"]


def test_collect_takes_what_came_again_at_the_same_time(course: Course, collect: Collect) -> None:
    for content in (b"one", b"two"):
        done = collect(("onestudent_101_9001_mini.ipynb", content), received="2027-03-01 12:00")
    assert [one.status for one in done.students] == ["replaced"]
    assert files(course) == {"student-001/mini/mini.ipynb": b"two"}


def test_collect_takes_the_newest_of_what_came_again(course: Course, collect: Collect) -> None:
    collect(
        ("onestudent_101_9005_mini-2.ipynb", b"newest"),
        ("onestudent_101_9001_mini.ipynb", b"oldest"),
        ("onestudent_101_9003_mini-1.ipynb", b"older"),
        ("Three Student_53_assignsubmission_file_/mini.ipynb", b"first"),
        ("Three Student_53_assignsubmission_file_/mini (1).ipynb", b"second"),
    )
    assert files(course) == {
        "student-001/mini/mini.ipynb": b"newest",
        "student-003/mini/mini.ipynb": b"second",
    }


def test_collect_keeps_the_time_of_what_is_the_same(course: Course, collect: Collect) -> None:
    collect(("onestudent_101_9001_mini.ipynb", b"one"))
    again = collect(("onestudent_LATE_101_9002_mini-1.ipynb", b"one"), now=AFTER)
    assert [(one.status, one.received) for one in again.students] == [("as before", BEFORE)]
    changed = collect(("onestudent_LATE_101_9003_mini-2.ipynb", b"two"), now=AFTER)
    assert [(one.status, one.late) for one in changed.students] == [("replaced", timedelta(seconds=1))]
    assert files(course) == {"student-001/mini/mini.ipynb": b"two"}


def test_collect_gives_up_a_guess_for_what_a_list_says(
    course: Course, collect: Collect, tmp_path: Path
) -> None:
    """Who was late is known by Canvas's mark, how late by a list that comes later; what was in time stays so."""
    members = ("onestudent_LATE_101_9001_mini.ipynb", b"one"), ("threestudent_103_9003_mini.ipynb", b"three")
    first = collect(*members, now=AFTER)
    assert [one.late for one in first.students] == [timedelta(seconds=1), timedelta(0)]
    times = tmp_path / "times.csv"
    times.write_text("id,time\nstudent-001,2027-04-01 00:29\nstudent-003,2027-04-02 12:00\n")
    done = collect(*members, now=AFTER, times=times)
    assert [one.status for one in done.students] == ["as before", "as before"]
    assert [one.late for one in done.students] == [timedelta(minutes=30), timedelta(0)]
    assert stamp(course, "student-001") == "2027-03-31 15:29:00.000000 UTC\n"
    assert collect(*members, now=AFTER).students == done.students  # and then it stays


def test_collect_ignores_a_timestamp_that_a_student_wrote(course: Course, collect: Collect) -> None:
    collect(
        ("Student One_51_assignsubmission_file_/mini.ipynb", b"one"),
        ("Student One_51_assignsubmission_file_/timestamp.txt", b"2001-01-01 00:00:00 UTC"),
    )
    assert stamp(course, "student-001") == "2027-03-30 03:00:00.000000 UTC\n"


def test_collect_takes_times_from_moodles_worksheet(course: Course, collect: Collect, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(
        "Identifier,Full name,Email address,Grade,Last modified (submission),Last modified (grade)\n"
        'Participant 51,Student One,,,"Wednesday, 31 March 2027, 11:58 PM",-\n'
        'Participant 52,학생둘,,,"2027년 4월 1일(목요일), 오전 12:30",-\n'
        "Participant 53,Three Student,,,-,-\n",
        encoding="utf-8",
    )
    done = collect(
        ("Participant_51_assignsubmission_file_/mini.ipynb", b"one"),  # marked blindly: no names in the zip
        ("Participant_52_assignsubmission_file_/mini.ipynb", b"two"),
        times=sheet, now=AFTER,
    )  # fmt: skip
    assert {one.student: one.late for one in done.students} == {
        "student-001": timedelta(0),
        "student-002": timedelta(minutes=31),
    }


def test_collect_takes_times_from_a_korean_worksheet(
    course: Course, collect: Collect, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"  # headings and times by Moodle's Korean language pack
    sheet.write_text(
        "식별자,전체 이름,이메일 주소,상태,성적,마지막 수정됨(제출),마지막 수정됨(성적)\n"
        '참가자51,Student One,,,,"2027년 3월 31일, 수요일, 오후 11:58",-\n'
        '참가자52,학생둘,,,,"2027년 4월 01일, 목요일, 오전 12:30",-\n',
        encoding="utf-8",
    )
    done = collect(
        ("참가자_51_assignsubmission_file_/mini.ipynb", b"one"),
        ("참가자_52_assignsubmission_file_/mini.ipynb", b"two"),
        times=sheet, now=AFTER,
    )  # fmt: skip
    assert {one.student: one.late for one in done.students} == {
        "student-001": timedelta(0),
        "student-002": timedelta(minutes=31),
    }


def test_collect_takes_times_of_no_stranger(course: Course, collect: Collect, tmp_path: Path) -> None:
    """Who is in the LMS's list and not in the class: somebody who left, say."""
    sheet = tmp_path / "times.csv"
    sheet.write_text("id,time\nstranger,2027-04-02 01:00\nstudent-002,2027-03-30 21:05\n", encoding="utf-8")
    collect(("studenttwo_102_9001_mini.ipynb", b"two"), times=sheet, now=AFTER)
    assert stamp(course, "student-002") == "2027-03-30 12:05:00.000000 UTC\n"
    assert set(files(course)) == {"student-002/mini/mini.ipynb"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id,section\nstudent-001,A\n", "has no column for the time"),
        ("section,time\nA,2027-03-30 21:05\n", "has no column for the student"),
        ("id,time\nstudent-001,noon\n", "line 2"),
    ],
)
def test_collect_says_what_is_wrong_in_a_list_of_times(
    collect: Collect, tmp_path: Path, text: str, sentence: str
) -> None:
    sheet = tmp_path / "times.csv"
    sheet.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=sentence):
        collect(("studenttwo_102_9001_mini.ipynb", b"two"), times=sheet)


def test_collect_knows_who_it_is_by_canvass_number_where_names_are_alike(
    course: Course, collect: Collect
) -> None:
    collect(("namesame_104_9001_mini.ipynb", b"four"), ("namesame_105_9002_mini.ipynb", b"five"))
    assert files(course) == {"student-004/mini/mini.ipynb": b"four", "student-005/mini/mini.ipynb": b"five"}


def test_in_zone_takes_the_hour_that_clocks_skip_for_utc() -> None:
    skipped = datetime(2027, 3, 28, 2, 30)  # in Berlin the clock goes from 2:00 to 3:00
    assert in_zone(skipped, "Europe/Berlin") == skipped.replace(tzinfo=UTC)
    assert in_zone(skipped, "Asia/Seoul") == datetime(2027, 3, 27, 17, 30, tzinfo=UTC)


def test_collect_says_what_was_given_in_the_place_of_a_zip_or_a_time(course: Course, tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"There is no file .*Give the zip that the LMS gave"):
        collect_zip(course, "mini", tmp_path / "nowhere.zip")
    (tmp_path / "all.zip").write_bytes(zip_bytes(("studenttwo_102_9001_mini.ipynb", b"two")))
    with pytest.raises(CourseError, match="--received"):
        collect_zip(course, "mini", tmp_path / "all.zip", received="at noon")


def test_collect_takes_the_zips_own_times_only_where_they_differ(course: Course, collect: Collect) -> None:
    one, two = (
        f"{name}_assignsubmission_file_/mini.ipynb" for name in ("Student One_51", "Three Student_53")
    )
    done = collect((at(one, 2027, 3, 30, 12), b"one"), (at(two, 2027, 4, 1, 0, 59), b"two"), now=AFTER)
    assert [one.late for one in done.students] == [timedelta(0), timedelta(hours=1)]
    with pytest.raises(
        CourseError, match=r"due already, and this zip does not say when student-003 handed in"
    ):
        collect((at(two, 2027, 4, 1, 0, 59), b"changed"), now=AFTER)
    [stated] = collect((two, b"changed"), now=AFTER, received="2027-04-01 09:00").students
    assert stated.received == datetime(2027, 4, 1, tzinfo=UTC)


def test_collect_says_what_belongs_to_nobody(course: Course, collect: Collect) -> None:
    done = collect(
        ("samename_888_9001_mini.ipynb", b"x"),
        ("stranger_999_9002_mini.ipynb", b"x"),
        ("notes.txt", b"x"),
        ("onestudent_101_9003_report.pdf", b"x"),
    )
    assert dict(done.unmatched) == {
        "samename (888)": "2 students can have this name: student-004, student-005",
        "stranger (999)": "nobody in the class list has this number or name",
        "notes.txt": "its name is none that Canvas or Moodle gives",
    }
    assert [(one.status, one.file) for one in done.students] == [("no notebook", "report.pdf")]
    assert "student-001" in done.missing
    assert files(course) == {}


def encrypted(content: bytes) -> bytes:
    """The zip with the bit set that says its first member is encrypted."""
    raw = bytearray(content)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(signature) + offset] |= 1
    return bytes(raw)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../onestudent_101_9001_mini.ipynb", "points outside"),
        ("a/../../onestudent_101_9001_mini.ipynb", "points outside"),
        ("/tmp/onestudent_101_9001_mini.ipynb", "points outside"),
        ("..\\onestudent_101_9001_mini.ipynb", "points outside"),
        ("C:\\onestudent_101_9001_mini.ipynb", "points outside"),
        (link("onestudent_101_9001_mini.ipynb"), "it is a link"),
    ],
)
def test_collect_refuses_names_and_kinds_that_reach_out(
    course: Course, collect: Collect, name: Any, reason: str
) -> None:
    around = snapshot(course.root.parent)
    done = collect((name, b"/etc/passwd"), ("threestudent_103_9003_mini.ipynb", b"three"))
    assert [found for found in done.refused if reason in found[1]]
    assert files(course) == {"student-003/mini/mini.ipynb": b"three"}
    changed = {name for name, data in snapshot(course.root.parent).items() if around.get(name) != data}
    allowed = (
        "all.zip",
        "course/gradebook.db",
        "course/.course/written.json",
        "course/submitted/student-003/mini/",
    )
    assert all(name.startswith(allowed) for name in changed)


def test_collect_refuses_what_is_encrypted(course: Course, collect: Collect) -> None:
    done = collect(content=encrypted(zip_bytes(("onestudent_101_9001_mini.ipynb", b"one"))))
    assert done.refused == (("onestudent_101_9001_mini.ipynb", "it is encrypted"),)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_collect_refuses_what_unpacks_to_gigabytes_at_once(
    course: Course, collect: Collect, method: int
) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("onestudent_101_9001_mini.ipynb", bytes(2**26))
    within = zip_bytes(("onestudent_101_9001_mini.zip", file.getvalue()))
    for content in (file.getvalue(), within):
        tracemalloc.start()
        done = collect(content=content)
        assert tracemalloc.get_traced_memory()[1] < 2**25
        tracemalloc.stop()
        assert [reason[:13] for _, reason in done.refused] == ["it is not pac"]


@pytest.mark.parametrize(
    "name", ["CON.ipynb", "a:b?.ipynb", "..ipynb", "x" * 300 + ".ipynb", "a\x00b.ipynb", "  .ipynb"]
)
def test_collect_writes_names_that_are_files_everywhere(course: Course, collect: Collect, name: str) -> None:
    collect((f"onestudent_101_9001_{name}", b"one"))
    for path in files(course):
        stem = Path(path).stem
        assert stem.upper() != "CON"
        assert len(stem) <= 100
        assert not set(stem) & set(":?\0/\\")
        assert stem.strip(" .") == stem


def test_collect_bounds_what_it_unpacks(
    collect: Collect, monkeypatch: pytest.MonkeyPatch, course: Course
) -> None:
    monkeypatch.setattr(archives, "MAX_BYTES", 1000)
    done = collect(
        ("onestudent_101_9001_mini.ipynb", b"0" * 1001), ("threestudent_103_9003_mini.ipynb", b"3")
    )
    assert [name for name, _ in done.refused] == ["onestudent_101_9001_mini.ipynb"]
    assert list(files(course)) == ["student-003/mini/mini.ipynb"]
    monkeypatch.setattr(archives, "MAX_TOTAL", 1500)
    monkeypatch.setattr(archives, "MAX_RATIO", 0)
    with pytest.raises(CourseError, match="unpacks to far more than a class hands in"):
        collect(*[(f"onestudent_101_{number}_mini.ipynb", b"0" * 900) for number in (1, 2)])


def test_collect_does_not_believe_the_size_in_the_header(
    collect: Collect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_BYTES", 1000)
    raw = bytearray(zip_bytes(("onestudent_101_9001_mini.ipynb", b"0" * 100_000)))
    struct.pack_into("<I", raw, raw.index(b"PK\x01\x02") + 24, 10)
    struct.pack_into("<I", raw, raw.index(b"PK\x03\x04") + 22, 10)
    done = collect(content=bytes(raw))
    assert len(done.refused) == 1


def test_collect_bounds_the_count_of_members(collect: Collect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    with pytest.raises(CourseError, match="lists 5 files, more than the 3 that are read"):
        collect(*[(f"a{number}.txt", b"") for number in range(5)])


BOMB = zip_bytes(*[(f"mini{number}.ipynb", bytes(2**24)) for number in range(20)])
CLAIMS = zip_bytes(("mini.ipynb", b"one"))
CLAIMS = CLAIMS[:-10] + struct.pack("<I", 2**31) + CLAIMS[-6:]  # the size of its table of contents


@pytest.mark.parametrize(
    ("within", "reason"),
    [
        (BOMB, "it unpacks to far more than a class hands in"),
        (zip_bytes(*[(f"{number}.txt", b"") for number in range(1001)]), "it lists 1001 files, more than"),
        (CLAIMS, "it lists 1 files, more than"),
        (zip_bytes((f"mini ({'9' * 480}).ipynb", b"x"), (f"a_1_{'9' * 480}_b.ipynb", b"y")), ""),
        (zip_bytes((f"{'_' * 60_000}.ipynb", b"x")), "its name has 60006 letters"),
        (zip_bytes((f"mini ({'9' * 5000}).ipynb", b"x")), "its name has 5013 letters"),
    ],
)
def test_collect_lets_no_students_zip_stop_the_class(
    course: Course, collect: Collect, within: bytes, reason: str
) -> None:
    done = collect(("onestudent_101_9001_work.zip", within), ("threestudent_103_9003_mini.ipynb", b"three"))
    assert [why[: len(reason)] for _, why in done.refused] == [reason] * bool(reason)
    assert files(course)["student-003/mini/mini.ipynb"] == b"three"
    assert sum(map(len, files(course).values())) < 2**28


# Names that a student chose: of a file, or of what is in a zip; what the LMS and the instructor chose stands before.
FORGED = {
    "canvas, in a zip": ("onestudent_101_9001_work.zip", "학생둘_102_99999_mini.ipynb"),
    "canvas, in a zip, as Moodle": ("onestudent_101_9001_a.zip", "Three Student_53_assignsubmission_file_/mini.ipynb"),
    "canvas, in a zip, by id": ("onestudent_101_9001_work.zip", "student-002/mini.ipynb"),
    "canvas, as Moodle": ("onestudent_101_9001_x_53_assignsubmission_file_mini.ipynb",),
    "moodle, not in folders": (
        "Student One_51_assignsubmission_file_Three Student_53_assignsubmission_file_mini.ipynb",
    ),
    "moodle, as Canvas": ("Student One_51_assignsubmission_file_/학생둘_102_99999_mini.ipynb",),
    "moodle, in a zip": (
        "Student One_51_assignsubmission_file_/a.zip", "Three Student_53_assignsubmission_file_/mini.ipynb",
    ),
    "folders, as Moodle": ("all/student-001/mini/Three Student_53_assignsubmission_file_mini.ipynb",),
    "folders, as Canvas": ("all/student-001/mini/학생둘_102_99999_mini.ipynb",),
    "folders, by id": ("all/student-001/student-002/mini.ipynb",),
}  # fmt: skip


@pytest.mark.parametrize("names", FORGED.values(), ids=FORGED)
def test_collect_takes_nobodys_word_that_they_are_somebody_else(
    course: Course, collect: Collect, tmp_path: Path, names: tuple[str, ...]
) -> None:
    content = b"mine"
    for name in reversed(names):
        content = zip_bytes((name, content))
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(
        "Identifier,Full name,ID number,Last modified (submission)\n"
        'Participant 51,Student One,student-001,"Monday, 29 March 2027, 10:00 AM"\n'
        'Participant 53,Three Student,student-003,"Monday, 29 March 2027, 10:00 AM"\n'
    )
    done = collect(content=content, times=worksheet)
    assert [one.student for one in done.students] == ["student-001"]
    assert [name.split("/")[0] for name in files(course)] == ["student-001"]


def test_collect_takes_no_time_from_a_zip_that_a_student_handed_in(course: Course, collect: Collect) -> None:
    inner = zip_bytes((at("mini.ipynb", 2001, 1, 1), b"one"))
    members = [
        (at("onestudent_LATE_101_9001_work.zip", 2027, 4, 5, 10), inner),
        (at("threestudent_LATE_103_9003_mini.ipynb", 2027, 4, 5, 10), b"three"),
    ]
    done = collect(*members, now=AFTER)
    assert [one.late for one in done.students] == [timedelta(seconds=1)] * 2
    moodle = [
        (at("Student One_51_assignsubmission_file_/work.zip", 2027, 4, 5, 10), inner),
        (at("Three Student_53_assignsubmission_file_/mini.ipynb", 2027, 4, 5, 10), b"four"),
    ]
    with pytest.raises(CourseError, match="does not say when student-003 handed in"):
        collect(*moodle, now=AFTER)


def test_collect_takes_one_of_two_members_with_one_name(course: Course, collect: Collect) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = zip_bytes(
            ("onestudent_101_9001_mini.ipynb", b"1"), ("onestudent_101_9001_mini.ipynb", b"2")
        )
    collect(content=content)
    assert files(course) == {"student-001/mini/mini.ipynb": b"2"}


def test_collect_reads_names_in_cp949(course: Course, collect: Collect) -> None:
    raw = zip_bytes(("@@@@@@_52_assignsubmission_file_/mini.ipynb", b"two"))
    collect(content=raw.replace(b"@@@@@@", "학생둘".encode("cp949")))
    assert files(course) == {"student-002/mini/mini.ipynb": b"two"}


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip", zip_bytes(("a.ipynb", b"x"))[:-30]])
def test_collect_says_that_a_file_is_no_zip(collect: Collect, content: bytes) -> None:
    with pytest.raises(CourseError, match="is not a zip that can be read"):
        collect(content=content)


def test_collect_says_that_a_member_is_damaged(course: Course, collect: Collect) -> None:
    raw = bytearray(zip_bytes(("onestudent_101_9001_mini.ipynb", bytes(range(256)) * 40)))
    raw[80:100] = bytes(20)
    assert len(collect(content=bytes(raw)).refused) == 1
    assert files(course) == {}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_read_archive_answers_any_damage_with_a_sentence(tmp_path: Path) -> None:
    inner = zip_bytes(("c.ipynb", b"y" * 100))
    whole = zip_bytes(
        ("one_1_2_mini.ipynb", bytes(range(256))), ("학생둘/mini.ipynb", b"x"), ("b.zip", inner)
    )
    chance, outcomes = random.Random(3), set()
    for _ in range(800):
        raw = bytearray(whole)
        for _ in range(chance.choice((1, 2, 5, 20))):
            raw[chance.randrange(len(raw))] = chance.choice((0, 255, chance.randrange(256)))
        (tmp_path / "all.zip").write_bytes(raw)
        try:
            outcomes |= {type(found) for found in archives.read_archive(tmp_path / "all.zip", tmp_path)}
        except CourseError as error:
            outcomes.add(type(error))
    assert outcomes == {archives.Member, archives.Refused, CourseError}


def test_collect_writes_through_no_link(course: Course, collect: Collect, tmp_path: Path) -> None:
    (course.root / "submitted").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (course.root / "submitted" / "student-001").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CourseError, match="is a link or lies behind one"):
        collect(("onestudent_101_9001_mini.ipynb", b"one"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_collect_without_a_class_list_takes_the_lms_number(tmp_path: Path, original: Path) -> None:
    for name in ("course.toml", "solutions"):
        where = original / name
        (shutil.copytree if where.is_dir() else shutil.copy)(where, tmp_path / name)
    (tmp_path / "all.zip").write_bytes(zip_bytes(("onestudent_101_9001_mini.ipynb", b"one")))
    done = collect_zip(find_course(tmp_path), "mini", tmp_path / "all.zip", now=BEFORE)
    assert [one.student for one in done.students] == ["101"]
    assert "no class list" in done.students[0].note


def test_collect_command_prints_and_writes_what_came(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course.root)
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    (tmp_path / "all.zip").write_bytes(
        zip_bytes(
            ("onestudent_LATE_101_9001_[red].ipynb", b"one"),
            ("../x", b""),
            ("stranger_9_9_m.ipynb", b""),
            ("samename_888_9001_mini.ipynb", b"x"),
        )
    )
    arguments = ["collect", "mini", str(tmp_path / "all.zip"), "--received", "2027-04-01 09:00"]
    with pytest.raises(SystemExit) as end:
        cli.main([*arguments, "--json", "report.json"])
    said = capsys.readouterr().out
    assert not end.value.code
    assert "2027-04-01 09:00 KST  9:01:00  [red].ipynb" in said
    assert "Taken in: 1; as before: 0; late: 1; missing: 4." in said
    assert "Nobody's: stranger (9)" in said
    assert "To tell them apart, give" in said
    assert "Not taken: ../x (its name points outside)." in said
    assert "Late by Canvas's mark" not in said
    (course.root / "gradebook.db").replace(tmp_path / "used.db")
    with pytest.raises(SystemExit):
        cli.main(arguments[:3])
    assert "counted as one second: 101. To count more, give a CSV with id and time" in capsys.readouterr().out
    report = json.loads((course.root / "report.json").read_text())
    assert report["students"][0]["seconds_late"] == 9 * 3600 + 60
    assert report["missing"] == ["student-002", "student-003", "student-004", "student-005"]


def test_collect_command_calls_nobody_late_who_got_more_time_afterwards(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course.root)
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    (tmp_path / "all.zip").write_bytes(zip_bytes(("onestudent_LATE_101_9001_mini.ipynb", b"one")))
    for late in (True, False):
        with pytest.raises(SystemExit):
            cli.main(["collect", "mini", str(tmp_path / "all.zip")])
        assert ("counted as one second: student-001." in capsys.readouterr().out) is late
        with (course.root / "course.toml").open("a") as settings:
            settings.write('[extensions]\nstudent-001 = { mini = "2 days" }\n')


def test_zip_of_the_tests_is_what_others_read() -> None:
    with zipfile.ZipFile(io.BytesIO(zip_bytes(("학생둘.ipynb", b"x")))) as archive:
        assert archive.namelist() == ["학생둘.ipynb"]
