"""Windows and macOS: everything but grading works there, and grading says in a sentence where it can be done."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lms_class import at, zip_bytes
from mini import DOUBLE, hand_in, released_course

from course_lib import cli
from course_lib.course import Course, find_course

ROOT = Path(__file__).parents[1]
# What runs only where there are walls, or is asked by what does.
ROOMS = re.compile(r"course_lib/grading/(student_room/\w+|bubblewrap|doctor|rooms|seats|usage)\.py$")
ROSTER = "Student,ID,SIS User ID,SIS Login ID,Section\n" + '"One, Student",101,student-001,s1,A\n'
COMMANDS = [
    ["release"],
    ["release", "--check"],
    ["release", "--kits", "../kits"],
    ["roster", "../class.csv", "--from", "canvas"],
    ["collect", "mini", "../all.zip", "--received", "2027-03-01 12:00"],
    ["feedback", "mini"],
    ["feedback", "mini", "--to", "folder"],
    ["export", "all", "--to", "csv"],
    ["export", "mini", "--to", "xlsx"],
    ["report", "mini"],
    ["similar", "mini"],
    ["new-task", "mini", "double"],
    ["secret"],
    ["forget", "--term", "2027-spring", "--yes"],
]
REFUSED = {"windows": [["grade", "mini"], ["demo"]], "macos": []}  # macOS runs the demo, whose code is ours


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course that was graded where that can be done."""
    folder = tmp_path_factory.mktemp("graded")
    course = released_course(folder / "course")
    shutil.copy(ROOT / "nbgrader_config.py", course.root)
    (course.root / "course.toml").write_text(
        'language = "en"\nterm = "2027-spring"\ntime_zone = "Asia/Seoul"\n', encoding="utf-8"
    )
    course = find_course(course.root)
    notebook = hand_in(course, course.root / "submitted", "student-001", double_solution=DOUBLE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(course.root)
        with pytest.raises(SystemExit) as end:
            cli.main(["grade", "mini"])
        assert not end.value.code
    (folder / "class.csv").write_text(ROSTER, encoding="utf-8")
    member = at("onestudent_101_5001_mini.ipynb", 2027, 3, 1)
    (folder / "all.zip").write_bytes(zip_bytes((member, notebook.read_bytes())))
    return course


@pytest.mark.slow
@pytest.mark.parametrize("system", ["windows", "macos"])
def test_all_but_grading_works_on(system: str, graded: Course, tmp_path: Path) -> None:
    shutil.copytree(graded.root.parent, tmp_path / "all")
    commands = [*COMMANDS, *REFUSED[system]]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("elsewhere.py")), system],
        cwd=tmp_path / "all" / "course", input=json.dumps(commands), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    unloaded, results = json.loads(done.stdout)
    of_the_room = {"course_lib.grading.student_room.server", "course_lib.grading.student_room.walls"}
    assert {line.split(":")[0] for line in unloaded} == (of_the_room if system == "windows" else set())
    for command, (code, out, err) in zip(commands, results, strict=True):
        if command in COMMANDS:
            assert (code, err) == (0, ""), (command, out)
        else:
            assert code == 1, (command, code, err)
            assert err.startswith("course: Windows can't confine students' code. Grade inside WSL;")
            assert err.count("\n") == 1


def calls_in(path: Path) -> list[tuple[int, str, set[str | None]]]:
    """Of each method that is called: the line, its name, and the names of what it is given."""
    return [
        (node.lineno, node.func.attr, {keyword.arg for keyword in node.keywords})
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]


@pytest.mark.parametrize("folder", ["course_lib", "book"])
def test_text_is_read_and_written_alike_on_every_system(folder: str) -> None:
    """UTF-8 whatever the system's own encoding is, and what is published with one kind of line end."""
    for path in (ROOT / folder).rglob("*.py"):
        written = {"encoding", "newline"} if folder == "book" or "release" in path.parts else {"encoding"}
        for line, name, given in calls_in(path):
            if name == "read_text":
                assert given & {"encoding", "newline"} == {"encoding"}, f"{path}:{line}"
            elif name == "write_text":
                assert written <= given, f"{path}:{line}"


@pytest.mark.slow
@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_only_the_rooms_use_what_others_lack(system: str, tmp_path: Path) -> None:
    """mypy knows what each system's standard library has."""
    command = [sys.executable, "-m", "mypy", "--platform", system, "--cache-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = re.findall(r"^(\S+\.py):\d+: error: (.*)$", done.stdout, re.M)
    assert found, "the rooms use it"
    assert [(file, error) for file, error in found if not ROOMS.search(file)] == []
