"""The examiner's side of the student's room: opens it, runs cells and calls functions in it, ends it.

What comes out of the room is data, and is treated as if an enemy had written it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import course_lib
from course_lib.checks import PLAIN, RETURNED, Inputs, Outcome, Way
from course_lib.course import CourseError
from course_lib.grading.bubblewrap import RoomError as RoomError
from course_lib.grading.bubblewrap import confined
from course_lib.grading.plain import error_name, plain_line, type_name
from course_lib.grading.student_room import wire
from course_lib.grading.student_room.place import HOME, Limits
from course_lib.grading.usage import Usage

START_SECONDS = 120.0
OPEN_SECONDS = 20.0
KEEP_SECONDS = 5.0
_TOGETHER = 2**20  # bytes of questions in one message
# The walls tell the examiner's socket who sent the first message: the process in which a student's code will run.
_CREDENTIALS = struct.Struct("3i")
_PID = struct.Struct("!i")


class Lost(Exception):
    """The process in the room gives no more answers."""


class Ended(Lost):
    """It has ended, or said something that is no message."""


class TooLong(Lost):
    """It did not answer in time."""


class TooMuch(Lost):
    """It and what it started used more memory than the room has."""


@dataclass(frozen=True)
class Cell:
    """What a cell gave when it ran: outputs in nbformat's form, and its number."""

    outputs: list[Any]
    count: int | None


class Seat:
    """One submission's confined process. Every method raises Lost, in one of its kinds, where no answer comes."""

    def __init__(
        self, channel: socket.socket, usage: Usage | None, limits: Limits, crowd: Sequence[Usage] = ()
    ) -> None:
        self._channel, self._usage, self._limits, self._crowd = channel, usage, limits, crowd
        self._unread = bytearray()
        self._request = ""

    def put(self, files: dict[str, bytes]) -> None:
        """Lays files beside the notebook."""
        contents = [np.frombuffer(content, np.uint8) for content in files.values()]
        self._ask({"do": "put", "files": list(files)}, contents, OPEN_SECONDS)

    def run(self, source: str, *, seconds: float) -> Cell:
        """Runs a cell."""
        header, _ = self._ask({"do": "run", "source": source}, [], seconds)
        outputs, count = header.get("outputs"), header.get("count")
        if not isinstance(outputs, list):
            raise Ended("no outputs came")
        return Cell(outputs, count if isinstance(count, int) else None)

    def keep(self) -> Seat:
        """A copy of the process as it is now, which answers for itself while this one goes on. Close it."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._send({"do": "keep"}, [], KEEP_SECONDS)
                socket.send_fds(self._channel, [b"c"], [theirs.fileno()], socket.MSG_DONTWAIT)
            header, _ = self._receive(KEEP_SECONDS)
            if header.get("kept") is not True:
                raise Ended("it can't be copied")
        except (OSError, Lost) as error:
            ours.close()
            raise error if isinstance(error, Lost) else Ended(str(error)) from error
        return Seat(ours, self._usage, self._limits, self._crowd)

    def ping(self, *, seconds: float) -> None:
        """Sees that it is there and waits for a question."""
        self._ask({"do": "put"}, [], seconds)

    def call(self, question: Call, *, seconds: float) -> Outcome:
        """Calls what has this name in the notebook, as `checks.call` does."""
        return next(self.calls([question], seconds=lambda: seconds))

    def calls(self, questions: Sequence[Call], *, seconds: Callable[[], float]) -> Iterator[Outcome]:
        """The outcomes of calls, one after another; `seconds` says before each what it may take.

        Questions about one function go there together: who grades a class pays for every message.
        """
        for some in _together(questions):
            left = seconds()
            self._send(*_request(some), left)
            for number in range(len(some)):
                more = number + 1 < len(some)
                yield _outcome(*self._receive(left if number == 0 else seconds(), gather=more))

    def note(self, state: str) -> None:
        """Keeps what the names of the notebook stand for now; a call with this `state` finds them so."""
        self._send({"do": "note", "state": state}, [], OPEN_SECONDS)

    def forget_peak(self) -> None:
        """Lets `peak_memory` begin anew."""
        if self._usage is not None:
            self._usage.forget_peak()

    def peak_memory(self) -> int | None:
        """Bytes by which its processes grew at most since `forget_peak`, seen from outside; None where none can see."""
        return None if self._usage is None else self._usage.peak()

    def pause(self) -> None:
        """Stops the process, whatever it is busy with; copies that were kept of it still answer."""
        if self._usage is not None:
            self._usage.pause()

    def close(self) -> None:
        """Hangs up: a copy ends then."""
        self._channel.close()

    def _ask(
        self, request: dict[str, Any], arrays: list[np.ndarray], seconds: float
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        start = time.monotonic()
        self._send(request, arrays, seconds)
        return self._receive(seconds - (time.monotonic() - start))

    def _send(self, request: dict[str, Any], arrays: list[np.ndarray], seconds: float) -> None:
        self._request = os.urandom(8).hex()  # an answer from before it was asked for is none
        try:
            wire.send(self._channel, {**request, "id": self._request}, arrays, seconds=seconds)
        except wire.Silence as error:
            raise TooLong(f"nothing read within {seconds:g} s") from error
        except wire.WireError as error:
            raise Ended(str(error)) from error

    def _receive(self, seconds: float, *, gather: bool = False) -> tuple[dict[str, Any], list[np.ndarray]]:
        try:
            header, arrays = wire.receive(
                self._channel, seconds=seconds, watch=self._watch, unread=self._unread, gather=gather
            )
        except wire.Silence as error:
            raise TooLong(f"no answer within {seconds:g} s") from error
        except wire.WireError as error:
            raise Ended(str(error)) from error
        if header.get("id") != self._request:
            raise Ended("an answer to no question came")
        return header, arrays

    def _watch(self) -> None:
        if self._usage is None:
            return
        used, most = self._usage.resident(), self._limits.resident
        others = [usage for usage in self._crowd if usage is not self._usage]
        if used + sum(usage.resident() for usage in others) > most:
            for usage in others:
                usage.end()
        if used > most:
            raise TooMuch(f"more than {most / 2**30:.3g} GiB of memory")


@dataclass(frozen=True)
class Call:
    """A question to a room: the name of a function or class of the notebook, and what it is called with."""

    name: str
    required: Sequence[str]
    inputs: Inputs
    way: Way = PLAIN
    forbidden: Sequence[str] = ()
    state: str = ""

    @property
    def about(self) -> tuple[object, ...]:
        """All of it but its inputs."""
        return self.name, tuple(self.required), self.way, tuple(self.forbidden), self.state

    @property
    def head(self) -> dict[str, Any]:
        """What is sent of it besides its inputs."""
        head = {"do": "call", "name": self.name, "required": list(self.required), "state": self.state}
        return head | {"way": asdict(self.way), "forbidden": list(self.forbidden)}

    @property
    def arrays(self) -> list[np.ndarray]:
        return [value for value in self.inputs.values() if isinstance(value, np.ndarray)]


def _together(questions: Sequence[Call]) -> Iterator[list[Call]]:
    """The questions in groups that fit into one message each."""
    some: list[Call] = []
    arrays = size = 0
    for question in questions:
        more, bytes_ = len(question.arrays), sum(array.nbytes for array in question.arrays)
        if some and (
            arrays + more > wire.MAX_ARRAYS or size + bytes_ > _TOGETHER or question.about != some[0].about
        ):
            yield some
            some, arrays, size = [], 0, 0
        some.append(question)
        arrays, size = arrays + more, size + bytes_
    if some:
        yield some


def _request(questions: list[Call]) -> tuple[dict[str, Any], list[np.ndarray]]:
    """One message with all of these questions, which differ in their inputs alone."""
    arrays: list[np.ndarray] = []
    inputs = []
    for question in questions:
        packed: list[list[Any]] = []
        for name, value in question.inputs.items():
            if isinstance(value, np.ndarray):
                packed.append([name, {"array": len(arrays)}])
                arrays.append(value)
            else:
                packed.append([name, {"value": value}])
        inputs.append(packed)
    return questions[0].head | {"inputs": inputs}, arrays


def _outcome(header: dict[str, Any], values: list[np.ndarray]) -> Outcome:
    """What a room says of a call, in words that can carry nothing else: they are shown to people."""
    error = header.get("error")
    if error is None and values:
        return Outcome(value=values[0], changed=header.get("changed") is not False, more=tuple(values[1:]))
    if isinstance(error, str) and error.startswith(RETURNED):
        said = RETURNED + type_name(error.removeprefix(RETURNED))
    else:
        said = RETURNED + "None" if error is None else error_name(error)
    return Outcome(
        error=said,
        changed=header.get("changed") is not False,
        message=plain_line(header.get("message"), 500),
        line=plain_line(header.get("line"), 200),
    )


class Room:
    """A warm parent and its children. `modules` are imported once, before anything of a student is read.

    Without `walls` the children are plain processes, in reach of everything that whoever grades can reach.
    """

    def __init__(
        self, modules: Sequence[str] = (), limits: Limits | None = None, *, walls: bool = True
    ) -> None:
        self._modules = list(modules)
        self._limits = limits or Limits()
        self._walls = walls
        self._folder: tempfile.TemporaryDirectory[str] | None = None  # the homes of children without walls
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def __enter__(self) -> Room:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the parent and with it every child."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            with self._process, contextlib.suppress(ProcessLookupError):
                self._process.kill()
        if self._folder is not None:
            self._folder.cleanup()
        self._process = self._control = self._folder = None

    @contextlib.contextmanager
    def seat(self, crowd: list[Usage] | None = None) -> Iterator[Seat]:
        """A fresh confined process, ended at the end whatever it did.

        What those of one `crowd` use counts together: where it is too much, those end that are not asked just then.
        """
        pid, channel, usage = self._open()
        crowd = [] if crowd is None else crowd
        crowd += [usage] if usage else []
        try:
            yield Seat(channel, usage, self._limits, crowd)
        finally:
            channel.close()
            if usage is not None:
                crowd.remove(usage)
                usage.close()
            self._end(pid)

    def _open(self) -> tuple[int, socket.socket, Usage | None]:
        try:
            return self._open_once()
        except (OSError, wire.WireError):
            self.close()  # whatever ended the parent: another takes its place, once
        try:
            return self._open_once()
        except (OSError, wire.WireError) as error:
            self.close()
            raise RoomError(f"The student's room did not open: {error}.") from error

    def _open_once(self) -> tuple[int, socket.socket, Usage | None]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        if self._walls:  # before the child can say anything
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            with theirs:
                socket.send_fds(self._control, [b"o"], [theirs.fileno()])
                pid = _PID.unpack(_exactly(self._control, _PID.size))[0]
            usage = _usage_of_sender(ours) if self._walls else None
            # The one message that is believed: no student's code has run in there yet.
            ready, _ = wire.receive(ours, seconds=OPEN_SECONDS)
        except BaseException:
            ours.close()
            raise
        if "broken" in ready:
            ours.close()
            self._end(pid)
            raise RoomError(f"The walls of the student's room could not be put up: {ready['broken']}.")
        return pid, ours, usage

    def _end(self, pid: int) -> None:
        if self._control is None:
            return
        try:
            self._control.sendall(b"k" + _PID.pack(pid))
            _exactly(self._control, 1)
        except OSError:
            self.close()

    def _start(self) -> None:
        place = self._place()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                self._command(place, theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(place.scratch),
                pass_fds=(theirs.fileno(),),
            )
        self._control = ours
        ours.settimeout(START_SECONDS)
        try:
            _exactly(ours, 1)
        except OSError as error:
            raise RoomError(f"The student's room did not start: {self._last_words() or error}") from error

    def _command(self, place: _Place, control: int) -> list[str]:
        """What starts the warm parent, which speaks on the descriptor `control`."""
        arguments = {
            "modules": self._modules,
            "limits": asdict(self._limits),
            "control": control,
            "walls": self._walls,
            "home": place.home,
        }
        code = (
            f"import sys; sys.path.insert(0, {place.imports!r}); "
            f"from student_room.server import main; main({json.dumps(arguments)!r})"
        )
        return [*place.confining, sys.executable, "-I", "-c", code]

    def _last_words(self) -> str:
        """Ends a parent that did not start; the last line that it wrote."""
        assert self._process is not None
        self._process.kill()
        _, said = self._process.communicate()
        self.close()
        return "".join(said.decode(errors="replace").strip().splitlines()[-1:])

    def _place(self) -> _Place:
        if self._walls:
            return _Place(confined(), "/room", HOME, "/tmp")
        if not hasattr(os, "fork"):
            raise RoomError("This system cannot fork processes. On Windows, grade inside WSL.")
        self._folder = tempfile.TemporaryDirectory(prefix="course-room-")
        folder = Path(self._folder.name)
        (folder / "course_lib").mkdir()
        (folder / "student_room").symlink_to(Path(__file__).parent / "student_room")
        (folder / "course_lib" / "checks").symlink_to(Path(course_lib.__file__).parent / "checks")
        return _Place([], str(folder), str(folder / "home"), str(folder))


@dataclass(frozen=True)
class _Place:
    """Where a warm parent starts."""

    confining: list[str]  # the command before its own
    imports: str  # the folder there with what it imports
    home: str  # of its children
    scratch: str  # for what libraries write


def _environment(scratch: str) -> dict[str, str]:
    one_thread = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": HOME,
        **dict.fromkeys(one_thread, "1"),  # a child hangs where a library had threads before the fork
        # What is freed goes back at once, so that memory made ready before a measured call does not hide what it takes.
        **dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), "131072"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": f"{scratch}/matplotlib",
        "IPYTHONDIR": f"{scratch}/ipython",
        **{key: value for key, value in os.environ.items() if key.startswith("OPENBLAS_")},
    }


def require_walls() -> None:
    """CourseError, with what is missing, unless students' code can be confined on this machine."""
    try:
        with Room() as room, room.seat():
            pass
    except RoomError as error:
        raise CourseError(
            f"{error} Students' code is not run without walls. See what is missing: course doctor"
        ) from error


def _usage_of_sender(channel: socket.socket) -> Usage:
    """The processes of whoever sends the next message, which is left to be read; OSError where nobody says who."""
    channel.settimeout(OPEN_SECONDS)
    _, ancillary, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size), socket.MSG_PEEK)
    channel.settimeout(None)
    channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    pids = [_CREDENTIALS.unpack(data)[0] for _, kind, data in ancillary if kind == socket.SCM_CREDENTIALS]
    if not pids or pids[0] <= 0:
        raise OSError("nobody says which process it is")
    return Usage(pids[0])


def _exactly(channel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            raise OSError("the warm parent is gone")
        data += part
    return data
