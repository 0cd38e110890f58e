"""The examiner: what a task earns, whatever the submission does, and that its limits hold."""

from __future__ import annotations

import itertools
import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from attack_suite import processes_below

from course_lib.checks import Text
from course_lib.grading.bank import Bank, Mistake, Part, Task
from course_lib.grading.examiner import Exam, Limits, examine
from course_lib.grading.notebook import new_cell, new_notebook
from course_lib.grading.rooms import Room
from course_lib.grading.seats import Ended, Seat
from course_lib.grading.student_room.place import Limits as RoomLimits
from course_lib.grading.usage import bytes_of
from course_lib.grading.verdicts import LIMITS, Verdict, read_verdicts


def draw(rng: np.random.Generator) -> list[dict[str, Any]]:
    return [{"x": rng.normal(size=5)}]


def double(x: Any) -> Any:
    return 2 * x


def triple(x: Any) -> Any:
    return 3 * x


DOUBLE = Task(
    "double",
    double,
    (Part("all", 2.0, Text("모두", "all"), draw),),
    (Mistake(triple, Text("셋", "three"), frozenset({"all"})),),
    (),
    "x",
)


SECONDS = Limits(cell=5.0, call=5.0)


def examined(room: Room, task: Task, *sources: str, limits: Limits = SECONDS, site: str = "") -> Any:
    cells = [new_cell("code", f"c{number}", source, {}) for number, source in enumerate(sources)]
    graded = {"grade": True, "solution": False, "grade_id": task.name, "points": task.points}
    place = 1
    cells.insert(place, new_cell("code", "graded", "", {"nbgrader": graded}))
    exam = Exam(Bank("set", (task,)), b"s" * 32, "en", {}, limits, site)
    return examine(new_notebook(cells, {}), "student-001", exam, room)


def verdict(notebook: Any) -> tuple[float | None, str]:
    [found] = read_verdicts(notebook).values()
    return found.points, found.message


def test_examine_grades_the_state_at_the_graded_cell(room: Room) -> None:
    assert verdict(examined(room, DOUBLE, "def double(x):\n    return 2 * x", "double = double(3)"))[0] == 2.0


def test_examine_names_the_mistake_and_the_limit(room: Room) -> None:
    assert "three" in verdict(examined(room, DOUBLE, "def double(x):\n    return 3 * x"))[1]
    late = examined(room, DOUBLE, "def double(x):\n    while True:\n        pass", limits=Limits(call=0.5))
    assert verdict(late)[0] == 0.0
    assert "after the time limit of 0.5 s" in verdict(late)[1]
    assert late.metadata[LIMITS] == ["double: Stopped after the time limit of 0.5 s."]


def test_limits_hold_while_the_clock_is_set(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Back by years, forward by years, at every look."""
    clock = itertools.cycle((0.0, 4e9))
    monkeypatch.setattr(time, "time", lambda: next(clock))
    cells = ["def double(x):\n    return 2 * x", "while True:\n    pass", "import time; time.sleep(0.2)"]
    assert verdict(examined(room, DOUBLE, *cells, limits=Limits(cell=3.0)))[0] == 2.0
    late = examined(room, DOUBLE, "def double(x):\n    while True:\n        pass", limits=Limits(call=0.5))
    assert late.metadata[LIMITS] == ["double: Stopped after the time limit of 0.5 s."]


def test_a_machine_that_holds_a_process_up_costs_nobody_a_cell(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For two seconds, where it has run a cell and is asked whether it is there."""
    ping, going_on = Seat.ping, []

    def held_up(seat: Seat, *, seconds: float) -> None:
        assert seat._usage is not None
        if not going_on:
            seat.pause()
            again = (signal.pidfd_send_signal, (seat._usage._descriptor, signal.SIGCONT))
            going_on.append(threading.Timer(2, *again))
            going_on[0].start()
        ping(seat, seconds=seconds)

    monkeypatch.setattr(Seat, "ping", held_up)
    notebook = examined(room, DOUBLE, "import os\ndef double(x):\n    return 2 * x")
    going_on[0].join()
    assert verdict(notebook)[0] == 2.0
    assert notebook.metadata[LIMITS] == []


def test_examine_opens_nothing_after_the_notebooks_time(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    seat = room.seat
    monkeypatch.setattr(room, "seat", lambda crowd: opened.append(1) or seat(crowd))
    cells = ["def double(x):\n    return 2 * x", "while True:\n    pass", *["1"] * 50]
    late = examined(room, DOUBLE, *cells, limits=Limits(cell=5.0, notebook=1.0))
    assert opened == [1]
    assert verdict(late)[0] == 0.0
    assert "Not run: the notebook's time limit of 1 s is used up." in str(late.cells[-1].outputs)
    assert len(late.metadata[LIMITS]) == 20


@pytest.mark.parametrize("value", ["3", "[2]", "None", "type('x ' + str(1), (), {})()"])
def test_examine_says_what_stands_where_a_function_should(room: Room, value: str) -> None:
    said = verdict(examined(room, replace(DOUBLE, forbidden=("numpy.mean",)), f"double = {value}"))[1]
    assert re.search(r"it is of type (int|list|NoneType|object)\.", said)


def test_examine_names_one_of_so_many_lines(room: Room) -> None:
    """Which one it is tells a little of an input: the more lines there are to choose from, the more."""
    lines = "\n".join(f"# {number}" for number in range(3000))
    for source, shown in ((f"{{}}\n{lines}", True), (f"{lines}\n{{}}", False)):
        said = verdict(examined(room, DOUBLE, source.format("def double(x):\n    raise ValueError(1)")))[1]
        assert "ValueError" in said
        assert ("raise ValueError(1)" in said) == shown


def losing_an_axis(x: Any) -> Any:
    raise ValueError(f"shapes {x.shape} (3,)")


def test_examine_takes_an_error_for_a_named_mistake_where_its_words_begin_alike(room: Room) -> None:
    lost = Mistake(losing_an_axis, Text("축", "the lost axis"), frozenset({"all"}))
    task = replace(DOUBLE, mistakes=(*DOUBLE.mistakes, lost))

    def said(words: str) -> str:
        return verdict(examined(room, task, f"def double(x):\n    raise ValueError({words})"))[1]

    assert "the lost axis" in said("'shapes (2,7) (2,)'")
    other = said("str(list(x))")
    assert "ValueError" in other
    assert not any(words in other for words in ("the lost axis", "other words"))


@pytest.mark.parametrize(("site", "link"), [("", "x"), ("https://example.org/", "https://example.org/en/x")])
def test_examine_links_the_book_where_it_is_published(room: Room, site: str, link: str) -> None:
    message = verdict(examined(room, DOUBLE, "def double(x):\n    return 3 * x", site=site))[1]
    assert message.splitlines()[-1] == f"  In the book: {link}"


def test_examine_holds_a_task_to_its_own_time_and_memory(room: Room) -> None:
    greedy = "import numpy as np\ndef double(x):\n    np.ones(5_000_000).sum()\n    return 2 * x"
    assert verdict(examined(room, replace(DOUBLE, memory=100 * 2**20), greedy))[0] == 2.0
    points, message = verdict(examined(room, replace(DOUBLE, memory=20 * 2**20), greedy))
    assert points == 0.0
    assert "Too much memory" in message
    slow = "import time\ndef double(x):\n    time.sleep(1)\n    return 2 * x"
    assert "time limit of 0.3 s" in verdict(examined(room, replace(DOUBLE, seconds=0.3), slow))[1]


def test_a_room_without_walls_still_keeps_verdicts_outside() -> None:
    with Room(walls=False) as room:
        assert verdict(examined(room, DOUBLE, "def double(x):\n    return 2 * x"))[0] == 2.0
        with room.seat() as seat, pytest.raises(Ended):
            seat.run("import os\nos._exit(0)", seconds=10)


# Time and memory


def count(n: Any) -> Any:
    """n (1,) -> how many pairs there are"""
    return n * n


def short(rng: np.random.Generator) -> list[dict[str, Any]]:
    return [{"n": rng.integers(5, 20, 1)}]


def long(rng: np.random.Generator) -> list[dict[str, Any]]:
    return [{"n": rng.integers(3000, 3100, 1)}]


COUNT = Task(
    "count",
    count,
    (Part("short", 1.0, Text("짧은", "short"), short), Part("long", 1.0, Text("긴", "long"), long)),
    (),
    (),
    "x",
    memory=32 * 2**20,
)
FULL = "import numpy as np\ndef count(n):\n    return np.ones((n[0], n[0])).sum(keepdims=True)[0]"
LEAN = (
    "import numpy as np\ndef count(n):\n    return sum(np.ones(n[0]).sum(keepdims=True) for _ in range(n[0]))"
)
# tracemalloc is the student's to patch; what the system knows of the process is not.
FORGED = f"{FULL}\nimport tracemalloc\ntracemalloc.get_traced_memory = lambda: (0, 0)"


@pytest.mark.parametrize(("source", "points"), [(LEAN, 2.0), (FULL, 1.0), (FORGED, 1.0)])
def test_memory_costs_just_the_part_that_takes_too_much(room: Room, source: str, points: float) -> None:
    earned, said = verdict(examined(room, COUNT, source))
    assert earned == points
    assert ("Too much memory" in said) == (points == 1.0)


MUCH = """
import os, time, numpy as np
hold = np.ones(15 * 2**20)
time.sleep(0.5)
os.write(3, bytes(4096))
time.sleep(9)
"""


@pytest.mark.parametrize("kept", [True, False])
def test_what_a_submission_holds_counts_together(kept: bool) -> None:
    """A process that broke its channel stays for the copies that were kept of it, but not with all that it holds."""
    peak, cells = 0, ["def double(x):\n    return 2 * x", *[MUCH] * 4, "import time; time.sleep(0.5)"]
    with Room(limits=RoomLimits(resident=200 * 2**20)) as room, ThreadPoolExecutor() as pool:
        done = pool.submit(examined, room, DOUBLE, *(cells if kept else [*cells[1:], cells[0]]))
        while not done.done():
            peak = max(peak, sum(bytes_of(p, "smaps_rollup", "Pss") for p in processes_below(os.getpid())))
            time.sleep(0.05)
    assert 100 * 2**20 < peak < 350 * 2**20
    assert verdict(done.result())[0] == (2.0 if kept else 0.0)


GREEDY = "np.ones(3_000_000).sum()"  # 24 MB, where 15 are allowed
PRIMED = "np.ones(3_500_000).sum()"


@pytest.mark.parametrize(
    ("before", "within"),
    [
        ("x = 1", f"for i in range(5):\n        {GREEDY}"),
        (f"for i in range(5):\n    {PRIMED}", GREEDY),
        (f"def double(x):\n    for i in range(5):\n        {PRIMED}", GREEDY),
    ],
    ids=["its own first call", "a cell", "a call of another task"],
)
def test_examine_sees_memory_that_was_made_ready_before(room: Room, before: str, within: str) -> None:
    """What a process has freed and kept would not grow when it is used again."""
    again = replace(DOUBLE, name="again", memory=15 * 2**20)
    sources = ("import numpy as np", before, f"def again(x):\n    {within}\n    return 2 * x")
    points = {name: found.points for name, found in examined_both(room, again, sources).items()}
    assert points["again"] == 0.0


def test_examine_asks_a_task_whose_memory_counts_apart(room: Room) -> None:
    again = replace(DOUBLE, name="again", memory=15 * 2**20)
    sources = ("def double(x):\n    return 2 * x", "def again(x):\n    return 2 * x")
    assert {name: found.points for name, found in examined_both(room, again, sources).items()} == {
        "double": 2.0,
        "again": 2.0,
    }


def examined_both(room: Room, second: Task, sources: tuple[str, ...]) -> dict[str, Verdict]:
    """The verdicts on `double` and a second task behind these cells."""
    cells = [new_cell("code", f"c{number}", source, {}) for number, source in enumerate(sources)]
    for task in (DOUBLE, second):
        graded = {"grade": True, "solution": False, "grade_id": task.name, "points": task.points}
        cells.append(new_cell("code", f"graded-{task.name}", "", {"nbgrader": graded}))
    exam = Exam(Bank("set", (DOUBLE, second)), b"s" * 32, "en", {}, SECONDS)
    return read_verdicts(examine(new_notebook(cells, {}), "student-001", exam, room))


def test_examine_forbids_what_the_task_forbids(room: Room) -> None:
    task = replace(DOUBLE, forbidden=("numpy.multiply", "numpy.linalg.svd"))
    source = "import numpy as np\ndef double(x):\n    np.linalg.svd(np.eye(2))\n    return 2 * x"
    assert "This task may not use numpy.linalg.svd" in verdict(examined(room, task, source))[1]


def test_examine_judges_after_a_cell_that_ends_the_process(room: Room) -> None:
    answer = "def double(x):\n    return 2 * x"
    for later in (
        "import os\nos._exit(0)",
        "while True:\n    pass",
        "import os\nos.kill(-1, 9)\nos.kill(1, 9)",
    ):
        notebook = examined(room, DOUBLE, answer, later, "print('on')", limits=Limits(cell=3.0))
        assert verdict(notebook)[0] == 2.0
        assert notebook.cells[-1].outputs[0].text == "on\n"


def test_examine_caps_what_a_notebook_shows(room: Room) -> None:
    notebook = examined(
        room,
        DOUBLE,
        "print('x' * 10_000_000)",
        "print('y' * 10_000_000)",
        "for _ in range(5000):\n    display(1)",
    )
    size = sum(len(str(cell.outputs)) for cell in notebook.cells)
    assert 2**20 < size < 3 * 2**20
