"""Every attack of tests/attacks/: it earns what it honestly earns, and nobody and nothing else notices it."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from attack_suite import (
    FOLDER,
    ROOM,
    Attack,
    Hall,
    load_attacks,
    notebook_with,
    nothing_else_changes,
    points,
    shown,
    verdicts,
)
from attack_table import NOT_RUN, fields, hand_in_as, rows, stock_points, written
from test_stamps import listed_by_formgrader

from course_lib.course import Course, find_course
from course_lib.grading.notebook import write_notebook
from course_lib.grading.rooms import Room

ATTACKS = load_attacks()
HONEST = {"double": 3.0, "mean": 2.5}
# One of a kind, and quick: these run with the fast tests.
FAST = {
    "compare_allclose",
    "delegate_forbidden",
    "forge_broken",
    "hook_exit_in_call",
    "hook_post_run_cell",
    "input_shown",
    "kill_copies",
    "left_daemon",
    "lie_eq",
    "markup_png",
    "seek_disk",
    "shadow_poison",
}
_MARKUP = re.compile(r"<script|<img|<svg|<iframe", re.IGNORECASE)
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def texts_of(output: Any) -> list[str]:
    """What a page or a terminal would take from an output."""
    texts = [output.get("text", ""), output.get("ename", ""), output.get("evalue", "")]
    return texts + output.get("traceback", []) + list(output.get("data", {}).values())


@pytest.fixture(scope="module")
def course(course: Course) -> Course:
    (course.root / "gradebook.db").touch()
    return course


@pytest.fixture(scope="module")
def halls(
    course: Course, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[tuple[str, ...]], Hall]]:
    """The hall whose room has these modules."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "canary").write_text("nobody may touch this")
    with ExitStack() as rooms:

        @cache
        def hall(modules: tuple[str, ...]) -> Hall:
            made = Hall(course, rooms.enter_context(Room(modules, ROOM)), outside)
            assert points(made.executed([])) == HONEST
            return made

        yield hall


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A port of this machine that listens, and must never be reached."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server.getsockname()[1]
        with pytest.raises(BlockingIOError):
            server.accept()


def marked(attack: Attack) -> Any:
    marks = [] if attack.name in FAST else [pytest.mark.slow]
    return pytest.param(attack, id=attack.name, marks=marks)


@pytest.mark.parametrize("attack", [marked(attack) for attack in ATTACKS])
def test_attack_earns_nothing_and_touches_nobody(
    attack: Attack, halls: Callable[[tuple[str, ...]], Hall], port: int
) -> None:
    for module in attack.modules:
        pytest.importorskip(module)
    hall = halls(attack.modules)
    parent = hall.room._process
    cells = [(name, source.replace("CANARY_PORT", str(port))) for name, source in attack.cells]
    with nothing_else_changes(hall):
        executed = hall.executed(cells)
        neighbour = hall.executed([], "student-002")
    assert points(executed) == attack.earns
    assert points(neighbour) == HONEST
    assert hall.room._process is parent
    seen = shown(executed)
    assert [text for text in hall.hidden_texts() if text in seen] == []
    outputs = [output for cell in executed.cells if cell.cell_type == "code" for output in cell.outputs]
    assert {kind for output in outputs for kind in output.get("data", {})} <= {"text/plain", "image/png"}
    assert [text for output in outputs for text in texts_of(output) if _UNSHOWN.search(text)] == []
    assert sum(len(str(output)) for output in outputs) < 3 * 2**20
    assert all(not _MARKUP.search(verdict.message) for verdict in verdicts(executed).values())


def test_there_are_attacks_of_every_kind() -> None:
    kinds = {attack.kind for attack in ATTACKS}
    assert len(ATTACKS) >= 60
    assert {
        "comparison patched", "hooks of IPython", "hooks of Python", "objects that lie", "tests or answers sought",
        "answers delegated", "shadowing files", "marks forged", "neighbours touched", "parent killed",
        "processes left behind", "time", "memory", "disk", "output", "processes, descriptors", "results as bombs",
        "inputs", "markup in the feedback", "tasks of one notebook",
    } <= kinds  # fmt: skip
    assert {attack.name for attack in ATTACKS} >= FAST


def test_attack_that_earns_nothing_has_no_right_answer_to_the_empty_array() -> None:
    """Zeros of an empty array's shape are right: then the marks hang on which call runs out of time."""
    right = re.compile(r"return .*zeros(_like)?\(x(\.shape)?\)")
    assert [
        attack.name
        for attack in ATTACKS
        if attack.item == "double" and not attack.earns["double"] and right.search(str(attack.cells))
    ] == []


# Through the class run: what is handed in as files


DATES = """
[released]
mini = 2020-03-03T12:00:00Z
[due]
mini = 2020-03-31T12:00:00Z
[late]
penalty = "10% per day"
"""
INTAKE = sorted((FOLDER / "intake").glob("*.py"))
_FIELD = re.compile(r"^# (\w+): (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def graded_class(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One run with every such attack, and two honest students; the files around it before and after."""
    from course_lib.grading.run import grade

    root = tmp_path_factory.mktemp("class")
    course = find_course(shutil.copytree(course.root, root / "course"))
    with (course.root / "course.toml").open("a") as settings:
        settings.write(DATES)
    course = find_course(course.root)
    submitted = root / "handed-in"
    submitted.mkdir()
    (submitted / "canary.db").write_bytes(b"SQLite format 3\0 of somebody else")
    for honest in ("honest-1", "honest-2"):
        (submitted / honest / "mini").mkdir(parents=True)
        path = submitted / honest / "mini" / "mini.ipynb"
        write_notebook(notebook_with(course, []), path)
        path.with_name("timestamp.txt").write_text("2020-03-30 12:00:00 UTC\n")
        os.utime(path, (0, 0))
    for path in INTAKE:
        hand_in_as(path, course, submitted / f"a-{path.stem}" / "mini")
    before = snapshot_of_regular(submitted)
    report = grade(course, "mini", submitted, root / "workspace", jobs=2)
    yield report, before, snapshot_of_regular(submitted), root / "workspace"
    shutil.rmtree(root)


def snapshot_of_regular(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.lstat().st_mtime_ns
        for path in folder.rglob("*")
        if not path.is_symlink() and path.is_file()
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", INTAKE, ids=[path.stem for path in INTAKE])
def test_handed_in_attack_earns_nothing(path: Path, graded_class: Any) -> None:
    said = dict(_FIELD.findall(path.read_text(encoding="utf-8")))
    report = graded_class[0]
    found = {student.id: student for student in report.students}.get(f"a-{path.stem}")
    if said["status"] == "any":
        assert found is None or found.score < 3.0
        return
    assert found is not None
    scores = {item.id: item.score for item in found.items}
    assert (found.status, scores["double"]) == (said["status"], 0.0)
    assert scores["mean"] == float(said.get("mean", 2.5))
    assert said.get("doubt", "") in found.time_stamp
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", found.note + found.time_stamp)


@pytest.mark.slow
def test_handed_in_attacks_touch_nobody(graded_class: Any) -> None:
    report, before, after, workspace = graded_class
    for student in report.students:
        assert not re.search("[\x00-\x1f\x7f-\x9f]", student.id)
        if student.id.startswith("honest"):
            assert {item.id: item.score for item in student.items if item.id != "why"} == HONEST
            assert student.time_stamp == ""
    assert before == after
    assert {row["student"] for row in listed_by_formgrader(workspace)} > {"honest-1", "honest-2"}
    assert not Path("/tmp/shadow").exists()
    passwd = Path("/etc/passwd").read_bytes()
    files = [path for path in workspace.rglob("*") if path.is_file() and not _is_hole(path)]
    assert not [path for path in files if passwd[:40] in path.read_bytes()]


def _is_hole(path: Path) -> bool:
    """Whether a file is far longer than what lies on the disk: to read all of these takes minutes, or all memory."""
    found = path.stat()
    return found.st_size > max(2**20, 2 * 512 * found.st_blocks)


# The table in SECURITY.md


def test_security_page_shows_every_attack() -> None:
    shown_rows = written()
    stock = {name: row.stock for name, row in shown_rows.items() if row.stock != NOT_RUN}
    expected = [row for of_kind in rows(stock).values() for row in of_kind]
    assert list(shown_rows.values()) == [row for _, of_kind in sorted(rows(stock).items()) for row in of_kind]
    assert len(expected) == len(ATTACKS) + len(INTAKE)
    safe = {attack.name for attack in ATTACKS if attack.safe}
    safe |= {f"intake/{path.stem}" for path in INTAKE if fields(path).get("stock") == "safe"}
    assert set(stock) == safe, "Run: python tests/attack_table.py"


@pytest.mark.slow
def test_security_page_shows_what_stock_nbgrader_gives(course: Course, tmp_path: Path) -> None:
    measured = stock_points(course, tmp_path / "stock")
    assert measured.pop("honest") == "3 / 3"
    assert {name: row.stock for name, row in written().items() if row.stock != NOT_RUN} == measured
