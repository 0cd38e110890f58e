"""Runs the attacks of tests/attacks/ against the two rooms, and the safe ones against stock nbgrader.

An attack is a notebook's cells in a file of Python, `# %% ID` before each: the cell of that id in the small course's
notebook gets this source, `# %% new` stands for a cell of the student's own. Lines above the first cell say what it is:
`kind`, `attack`, `stock` (safe: it is run there, too), and where it differs `item` (double), `earns` (0), `mean` (2.5),
`room` (what it has loaded: nothing more).
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mini import DOUBLE, cell_of, snapshot

from course_lib.course import Course
from course_lib.grading.bank import hidden_cases, load_bank
from course_lib.grading.examiner import Exam, Limits, examine
from course_lib.grading.notebook import new_cell, read_notebook, text_of, write_notebook
from course_lib.grading.repair import repair
from course_lib.grading.rooms import Room
from course_lib.grading.student_room.place import Limits as RoomLimits
from course_lib.grading.verdicts import Verdict, read_verdicts

FOLDER = Path(__file__).parent / "attacks"
MEAN = "def mean(x, axis=-1):\n    return x.sum(axis=axis) / x.shape[axis]"
HONEST = {"double-solution": DOUBLE, "mean-solution": MEAN}
SECONDS = Limits(cell=4.0, call=4.0, notebook=90.0)
ROOM = RoomLimits(resident=700 * 2**20)
PATIENCE = 60  # seconds, for what ends at once unless something is wrong
_CELL = re.compile(r"^# %% (\S+)\n", re.MULTILINE)
FIELD = re.compile(r"^# (\w+): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Attack:
    name: str
    kind: str
    words: str
    safe: bool  # stock nbgrader may run it
    item: str
    earns: dict[str, float]
    cells: list[tuple[str, str]]
    modules: tuple[str, ...]  # that its room has loaded


def load_attacks() -> list[Attack]:
    return [_load(path) for path in sorted(FOLDER.glob("*.py"))]


def _load(path: Path) -> Attack:
    head, *parts = _CELL.split(path.read_text(encoding="utf-8"))
    said = dict(FIELD.findall(head))
    item = said.get("item", "double")
    earns = {"double": 3.0, "mean": float(said.get("mean", 2.5)), item: float(said.get("earns", 0))}
    cells = [(name, source.strip("\n")) for name, source in zip(parts[::2], parts[1::2], strict=True)]
    modules = tuple(said.get("room", "").split())
    return Attack(
        path.stem, said["kind"], said["attack"], said.get("stock") == "safe", item, earns, cells, modules
    )


def notebook_with(course: Course, cells: list[tuple[str, str]]) -> Any:
    """The small course's notebook with honest answers but in these cells."""
    notebook = read_notebook(course.exercises / "en" / "mini" / "mini.ipynb")
    for name, source in HONEST.items():
        cell_of(notebook, name).source = source
    place = 0
    for number, (name, source) in enumerate(cells):
        if name == "new":
            notebook.cells.insert(place, new_cell("code", f"new-{number}", source, {}))
        else:
            place = next(i for i, cell in enumerate(notebook.cells) if cell.id == name)
            notebook.cells[place].source = source
        place += 1
    return notebook


def under_the_id(name: str) -> Callable[[Path, Any], None]:
    """Hands a notebook in under an id of its own choice, in the place of the folder that was made for it."""

    def hand_in(folder: Path, notebook: Any) -> None:
        other = folder.parents[1] / name / "mini"
        other.mkdir(parents=True)
        write_notebook(notebook, other / "mini.ipynb")
        folder.rmdir()
        folder.parent.rmdir()

    return hand_in


class Hall:
    """A small course, its exam and a room in which one submission after another is examined."""

    def __init__(self, course: Course, room: Room, outside: Path) -> None:
        self.course, self.room, self.outside = course, room, outside
        bank = load_bank(course.solutions / "mini")
        tasks = [
            replace(task, forbidden=("numpy.mean",)) if task.name == "mean" else task for task in bank.tasks
        ]
        files = {"cases.npz": (course.exercises / "en" / "mini" / "cases.npz").read_bytes()}
        self.exam = Exam(replace(bank, tasks=tuple(tasks)), b"s" * 32, "en", files, SECONDS)
        self.released = read_notebook(course.nbgrader / "release" / "mini" / "mini.ipynb")

    def executed(self, cells: list[tuple[str, str]], student: str = "student-001") -> Any:
        return examine(
            repair(notebook_with(self.course, cells), self.released), student, self.exam, self.room
        )

    def hidden_texts(self, student: str = "student-001") -> list[str]:
        """How the hidden inputs would look if they were shown."""
        cases = [
            case
            for task in self.exam.bank.tasks
            for case in hidden_cases(self.exam.bank, task, student, self.exam.secret, site="").cases
        ]
        values = [float(value) for case in cases for value in case.inputs["x"].ravel()]
        return [form for value in values for form in (f"{value:.6f}"[:-1], value.hex())]


@contextmanager
def nothing_else_changes(hall: Hall) -> Iterator[None]:
    """Files, processes and time outside of the room are after an attack what they were before."""
    files, processes, start = _files(hall), processes_below(os.getpid()), time.monotonic()
    yield
    assert time.monotonic() - start < SECONDS.notebook + 15
    assert _files(hall) == files
    assert left_below(os.getpid(), processes) == set()


def _files(hall: Hall) -> dict[str, str]:
    found = {**snapshot(hall.course.root), **snapshot(hall.outside)}
    return {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}


def left_below(pid: int, before: set[int]) -> set[int]:
    """Processes that descend from this one, were not there before, and do not end."""
    deadline = time.monotonic() + PATIENCE
    while (left := processes_below(pid) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def processes_below(pid: int) -> set[int]:
    """Every living process that descends from this one."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if stat[0] != "Z":
                parents[int(name)] = int(stat[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def points(executed: Any) -> dict[str, float | None]:
    return {
        name: verdict.points for name, verdict in verdicts(executed).items() if name in ("double", "mean")
    }


def verdicts(executed: Any) -> dict[str, Verdict]:
    return read_verdicts(executed)


def shown(executed: Any) -> str:
    """All that a person would see of it."""
    return text_of(executed)
