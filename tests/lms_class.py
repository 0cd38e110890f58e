"""A course with a class list, as small as one can be, for tests of what goes to and comes from an LMS."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

from course_lib.course import Course, find_course
from course_lib.grading.recorder import open_gradebook
from course_lib.grading.workspace import open_workspace
from course_lib.people.roster import import_roster

ROSTER = """\
Student,ID,SIS User ID,SIS Login ID,Section
"One, Student",101,student-001,s1,A
"학생, 둘",102,student-002,s2,A
"Three, Student",103,student-003,s3,B
"Same, Name",104,student-004,s4,B
"Same, Name",105,student-005,s5,B
"""
SETTINGS = (
    'language = "en"\nterm = "2027-spring"\ntime_zone = "Asia/Seoul"\n[due]\nmini = 2027-03-31T23:59:00\n'
)
Entry = tuple[str | zipfile.ZipInfo, bytes | str]


def course_with_gradebook(folder: Path) -> Course:
    """A course whose gradebook has the class and no marks."""
    (folder / "solutions" / "mini").mkdir(parents=True)
    (folder / "solutions" / "mini" / "tasks.py").touch()
    (folder / "course.toml").write_text(SETTINGS)
    course = find_course(folder)
    open_gradebook(open_workspace(course, folder)).close()
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    import_roster(course, folder / "roster.csv", "canvas")
    return course


def zip_bytes(*entries: Entry) -> bytes:
    """A zip with these members, in order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def at(name: str, *time: int) -> zipfile.ZipInfo:
    """A member with a time of its own."""
    return zipfile.ZipInfo(name, (*time, *[0] * (6 - len(time))))  # type: ignore[arg-type]


def link(name: str) -> zipfile.ZipInfo:
    info = at(name, 2027, 3, 1)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info
