"""What a worker does: examines one submission after another, in rooms that it keeps warm.

A unit of work and its result are plain data, and examining is a pure function of the unit and the paper: a lost
worker or a killed run costs only time. Nothing here writes a mark.
"""

from __future__ import annotations

import atexit
import importlib.util
import multiprocessing
import os
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from multiprocessing.connection import wait
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import numpy as np

import course_lib
from course_lib.course import Course
from course_lib.grading.bank import load_bank_text
from course_lib.grading.bubblewrap import RoomError
from course_lib.grading.examiner import Exam, Limits, examine
from course_lib.grading.notebook import packed, unpacked
from course_lib.grading.rooms import Room
from course_lib.grading.secret import secret_of
from course_lib.grading.verdicts import Verdict, limits_hit, read_verdicts

_LARGE = {
    "torch": re.compile(r"^[^\S\n]*(?:import|from)[^\S\n]+torch\b", re.MULTILINE),
    "matplotlib": re.compile(r"\bmatplotlib\b|\bpylab\b"),
}


class NoRoom(Exception):
    """No room opens on the worker's machine: one sentence. No submission is to blame, and none can be examined."""


class OtherLibrary(NoRoom):
    """The worker's library would give other marks than the run's."""


@dataclass(frozen=True)
class Paper:
    """What the submissions of one run share, as plain data."""

    problem_set: str
    tasks: str  # the text of tasks.py
    secret: bytes = field(repr=False)
    language: str
    files: dict[str, bytes] = field(repr=False)  # laid beside the notebook
    walls: bool
    library: str  # a digest: a worker with another library would give other marks
    limits: Limits = field(default_factory=Limits)
    site: str = ""  # the address of the book

    @cached_property
    def digest(self) -> str:
        """The paper's name among others."""
        return sha256(repr(astuple(self)).encode()).hexdigest()


@dataclass(frozen=True)
class Place:
    """What a process of a local pool works with: a paper, and the one core that it and its rooms keep to, if any."""

    paper: Paper
    core: int | None = None


@dataclass(frozen=True)
class Unit:
    """One submission: a staged notebook's text, and whose it is; `paper` is a digest."""

    student: str
    notebook: str
    paper: str


@dataclass(frozen=True)
class Examined:
    """The executed notebook's text and the verdicts in it; or, in one sentence, why there is none."""

    student: str
    notebook: str = ""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    failure: str = ""
    note: str = ""


def paper_of(course: Course, problem_set: str, *, walls: bool = True) -> Paper:
    """The paper of a released problem set."""
    released = course.released(problem_set).parent
    return Paper(
        problem_set=problem_set,
        tasks=(course.solutions / problem_set / "tasks.py").read_text(encoding="utf-8"),
        secret=secret_of(course),
        language=course.language,
        files={path.name: path.read_bytes() for path in released.iterdir() if path.suffix != ".ipynb"},
        walls=walls,
        library=library_digest(),
        site=course.address("ko"),
    )


@cache
def library_digest() -> str:
    """A digest of what may change a mark: the library without people, release and command, and NumPy's version."""
    package = Path(course_lib.__file__).parent
    names = sorted(path.relative_to(package) for path in package.rglob("*.py"))
    kept = [name for name in names if name.parts[0] not in ("people", "release", "cli")]
    parts = [name.as_posix().encode() + (package / name).read_bytes() for name in kept]
    return sha256(b"\0".join([*parts, np.__version__.encode()])).hexdigest()


def begin(paper: Paper, *, elsewhere: bool = False) -> None:
    """Makes a paper known to this process; `elsewhere` is one that may have another library than the run has."""
    _papers[paper.digest] = paper
    if elsewhere and paper.library != library_digest():
        _refused.add(paper.digest)


def begin_process(places: multiprocessing.Queue[Place]) -> None:
    """What a process of a local pool does first: it ends with the run that started it, and leaves no room behind.

    One place waits for it in the queue.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run says when to stop
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    place = places.get()
    if place.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {place.core})
    begin(place.paper)


def get_ready(digest: str) -> None:
    """Opens the room that submissions on this paper will most likely need. NoRoom where none opens."""
    _threads().submit(_warm, digest).result()


def end(digest: str = "") -> None:
    """Forgets a paper, or all; when none is left, closes the rooms."""
    for known in [digest] if digest else list(_papers):
        _papers.pop(known, None)
    while _rooms and not _papers:
        _rooms.popitem()[1].close()


def examine_unit(unit: Unit) -> Examined:
    """Examines one submission. NoRoom where none opens; whatever else happens is a failure of this unit alone."""
    # A room ends with the thread that opened it (PDEATHSIG): a thread of ours lives on, a caller's may not.
    return _threads().submit(_examine, unit).result()


_papers: dict[str, Paper] = {}
_refused: set[str] = set()
_rooms: dict[tuple[object, ...], Room] = {}  # by thread, modules, walls


@cache
def _threads() -> ThreadPoolExecutor:
    atexit.register(end)
    Finalize(None, end, exitpriority=10)  # atexit does not run in processes of multiprocessing
    return ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="examiner")


def _warm(digest: str) -> None:
    _room(tuple(sorted(_exam_of(digest).bank.modules)), walls=_papers[digest].walls)


def _examine(unit: Unit) -> Examined:
    paper = _papers[unit.paper]
    exam = _exam_of(paper.digest)
    notebook = unpacked(unit.notebook)
    modules = _modules(exam, notebook)
    for last_try in (False, True):
        room = _room(modules, walls=paper.walls)
        try:
            return _examine_in(room, notebook, unit.student, exam)
        except RoomError as error:
            room.close()  # it opens afresh when asked for a seat
            if last_try:
                return Examined(unit.student, failure=f"the student's room was lost twice: {error}")
    raise AssertionError("unreachable")


def _examine_in(room: Room, notebook: Any, student: str, exam: Exam) -> Examined:
    try:
        executed = examine(notebook, student, exam, room)
        text = packed(executed)
    except RoomError:
        raise
    except Exception as error:  # whatever a submission makes of it: the class goes on
        return Examined(
            student, failure=f"the notebook could not be examined ({type(error).__name__}: {error})"
        )
    return Examined(student, text, read_verdicts(executed), note=limits_hit(executed))


@lru_cache(maxsize=4)
def _exam_of(digest: str) -> Exam:
    paper = _papers[digest]
    if digest in _refused:
        raise OtherLibrary(
            "A Dask worker has another version of course_lib or NumPy than this course. "
            "Install the same on all machines."
        )
    bank = load_bank_text(paper.tasks, paper.problem_set)
    return Exam(bank, paper.secret, paper.language, paper.files, paper.limits, paper.site)


def _modules(exam: Exam, notebook: Any) -> tuple[str, ...]:
    """What the room has loaded: what the set needs, and what is large where the notebook takes it."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    taken = {name for name, sign in _LARGE.items() if sign.search(text) and importlib.util.find_spec(name)}
    return tuple(sorted(taken | {*exam.bank.modules}))


def _room(modules: tuple[str, ...], *, walls: bool) -> Room:
    """This thread's room with these modules, opened and tried when first asked for."""
    key = (threading.get_ident(), modules, walls)
    if key not in _rooms:
        room = Room(modules, walls=walls)
        try:
            room.__enter__()
            with room.seat():
                pass
        except RoomError as error:
            room.close()
            raise NoRoom(str(error)) from error
        _rooms[key] = room
    return _rooms[key]


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)  # without the run that would record them, results are worth nothing
