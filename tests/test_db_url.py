"""A gradebook that `db_url` names: a term in it ends with the marks, pages and files of one in the usual place."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mini import hand_in, released_course

from course_lib.course import Course, find_course
from course_lib.grading.feedback import write_feedback
from course_lib.grading.gradebook import open_gradebook
from course_lib.grading.run import grade
from course_lib.grading.workspace import open_workspace
from course_lib.people.export import export_marks
from course_lib.people.forget import forget_term, found_of
from course_lib.people.roster import import_roster
from course_lib.people.statistics import statistics_of

ROOT = Path(__file__).parents[1]
SETTINGS = """
term = "2027-spring"
time_zone = "Asia/Seoul"
[due]
mini = 2027-03-31T23:59:00
[late]
penalty = "10% per day"
[extensions]
student-003 = { mini = "2 days" }
"""
PEOPLE = """\
id,last name,first name,email
student-001,학생,하나 '😀',one@example.org
student-002,"%s; DROP TABLE grade",둘,
student-003,학생,셋,
student-004,학생,넷,
"""
LATE = "2027-04-01 14:00:00 UTC\n"  # 23 hours after the date in Seoul


@contextlib.contextmanager
def sqlite(folder: Path) -> Iterator[str]:
    """SQLite that looks at foreign keys, as every other database does and SQLite itself only when told."""
    from sqlalchemy import Engine, event

    def look(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA foreign_keys = ON")

    event.listen(Engine, "connect", look)
    try:
        yield f"sqlite:///{folder / 'elsewhere.db'}"
    finally:
        event.remove(Engine, "connect", look)


@contextlib.contextmanager
def postgresql(_: Path) -> Iterator[str]:
    """A cluster of its own on loopback, for as long as the test takes; root starts it as nobody."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or next(map(str, reversed(found)), None)
    if initdb is None or importlib.util.find_spec("psycopg") is None:
        pytest.skip("needs PostgreSQL (Debian: postgresql) and its driver (pip install 'psycopg[binary]')")
    user: Any = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        if user:
            shutil.chown(folder, user["user"])

        def call(program: str, *arguments: str) -> None:
            command = [str(Path(initdb).with_name(program)), "-D", folder + "/data", *arguments]
            subprocess.run(command, cwd="/", check=True, stdout=subprocess.DEVNULL, timeout=120, **user)

        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        call("initdb", "-A", "trust", "-U", "course", "-E", "UTF8", "--no-sync")
        call("pg_ctl", "start", "-w", "-o", settings, "-l", folder + "/log")
        try:
            yield f"postgresql://course@127.0.0.1:{port}/postgres"
        finally:
            call("pg_ctl", "stop", "-m", "immediate")


@pytest.fixture
def released(tmp_path: Path) -> Course:
    course = released_course(tmp_path / "course")
    shutil.copy(ROOT / "nbgrader_config.py", course.root)
    with (course.root / "course.toml").open("a") as file:
        file.write(SETTINGS)
    (course.root / "class.csv").write_text(PEOPLE, encoding="utf-8")
    for number, factor in enumerate((2, 3, 2), start=1):
        answer = {"double_solution": f"def double(x):\n    return {factor} * x", "why": "It halves."}
        path = hand_in(course, course.root / "submitted", f"student-00{number}", **answer)
        (path.parent / "timestamp.txt").write_text(LATE)
    return find_course(course.root)


def a_term(course: Course) -> dict[str, Any]:
    """What a term leaves: its marks before and after a person's, the page of one student, the report's figures."""
    import_roster(course, course.root / "class.csv", "csv")
    left: dict[str, Any] = {"first": scores(course)}
    place = open_workspace(course, course.root)
    with open_gradebook(place) as gradebook:
        given = gradebook.find_grade("why", "mini", "mini", "student-001")
        given.manual_score, given.needs_manual_grade = 1.5, False
        gradebook.find_comment("why", "mini", "mini", "student-001").manual_comment = "좋습니다 😀"
        gradebook.db.commit()
    left["again"] = scores(course, again=True)
    write_feedback(course, "mini", course.root)
    left["page"] = (course.root / "feedback/student-001/mini/mini.html").read_text(encoding="utf-8")
    for to in ("csv", "moodle", "canvas"):
        out = course.root / "exports" / to
        out.parent.mkdir(exist_ok=True)
        export_marks(course, ["mini"], to, out)  # type: ignore[arg-type]
        left[to] = out.read_text(encoding="utf-8")
    left["figures"] = statistics_of(course, "mini")[0]
    return left


def scores(course: Course, *, again: bool = False) -> dict[str, Any]:
    report = grade(course, "mini", course.root / "submitted", course.root, jobs=1, again=again)
    return {one.id: (one.status, one.score, one.penalty, one.items) for one in report.students}


@pytest.mark.parametrize("database", [sqlite, pytest.param(postgresql, marks=pytest.mark.slow)])
def test_db_url_holds_a_term_as_the_usual_gradebook_does(
    database: Any, released: Course, tmp_path: Path
) -> None:
    shutil.copytree(released.root, tmp_path / "usual")
    usual = a_term(find_course(tmp_path / "usual"))
    with database(tmp_path) as address:
        with (released.root / "nbgrader_config.py").open("a") as config:
            config.write(f"get_config().CourseDirectory.db_url = {address!r}\n")
        (released.root / "gradebook.db").unlink()  # of the release
        assert a_term(released) == usual
        assert found_of(released, "2027-spring")["students in the gradebook"] == 4
        assert forget_term(released, "2027-spring").left == ()
        with open_gradebook(open_workspace(released, released.root)) as gradebook:
            assert (gradebook.students, len(gradebook.assignments)) == ([], 1)
    assert not (released.root / "gradebook.db").exists()
    assert usual["first"]["student-001"][:3] == ("needs_marking", 3.0, pytest.approx(0.3))
    assert usual["again"]["student-001"][:3] == ("graded", 4.5, pytest.approx(0.45))
    assert usual["again"]["student-003"][2] == 0.0  # an extension
    assert "좋습니다 😀" in usual["page"]
