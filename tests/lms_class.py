"""A course with a class list, as small as one can be, for tests of what goes to and comes from an LMS."""

from __future__ import annotations

import io
import stat
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from course_lib.course import Course, find_course
from course_lib.grading.gradebook import gradebook_of, open_gradebook
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
    (folder / "gradebook.db").write_bytes(_empty_gradebook())
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    import_roster(course, folder / "roster.csv", "canvas")
    return course


@cache
def _empty_gradebook() -> bytes:
    """nbgrader takes a second to make one."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "course.toml").touch()
        open_gradebook(open_workspace(find_course(Path(folder)), Path(folder))).close()
        return Path(folder, "gradebook.db").read_bytes()


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


Scores = dict[str, tuple[float | None, float | None, bool]]  # automatic, a person's, waits


def give_marks(
    course: Course, marks: dict[str, Scores], *, penalty: dict[str, float] | None = None, of: str = "mini"
) -> None:
    """Writes marks of a set (double 3, mean 2.5, why 2 points) as a class run does."""
    from nbgrader.api import Grade, SubmittedAssignment, SubmittedNotebook, new_uuid
    from sqlalchemy import insert

    points = {"double": 3.0, "mean": 2.5, "why": 2.0}
    with gradebook_of(course) as gradebook:
        assignment = gradebook.update_or_create_assignment(of)
        notebook = gradebook.update_or_create_notebook(of, of)
        cells = {
            name: gradebook.update_or_create_grade_cell(name, of, of, max_score=most, cell_type="code").id
            for name, most in points.items()
        }
        ids = {student: (new_uuid(), new_uuid()) for student in marks}
        gradebook.db.execute(
            insert(SubmittedAssignment),
            [{"id": ids[s][0], "assignment_id": assignment.id, "student_id": s} for s in marks],
        )
        gradebook.db.execute(
            insert(SubmittedNotebook),
            [
                {
                    "id": ids[s][1], "assignment_id": ids[s][0], "notebook_id": notebook.id,
                    "late_submission_penalty": (penalty or {}).get(s),
                }
                for s in marks
            ],
        )  # fmt: skip
        gradebook.db.execute(
            insert(Grade),
            [
                {
                    "id": new_uuid(), "notebook_id": ids[s][1], "cell_id": cells[name],
                    "auto_score": auto, "manual_score": manual, "needs_manual_grade": waits,
                }
                for s, scores in marks.items() for name, (auto, manual, waits) in scores.items()
            ],
        )  # fmt: skip
        gradebook.db.commit()
