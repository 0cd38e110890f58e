"""The examiner's side of the student's room: starts it, opens seats in it, ends it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import course_lib
from course_lib.course import CourseError
from course_lib.grading.bubblewrap import RoomError, confined
from course_lib.grading.seats import OPEN_SECONDS, Seat
from course_lib.grading.student_room import wire
from course_lib.grading.student_room.place import HOME, Limits
from course_lib.grading.usage import Usage

START_SECONDS = 120.0
# The walls tell the examiner's socket who sent the first message: the process in which a student's code will run.
_CREDENTIALS = struct.Struct("3i")
_PID = struct.Struct("!i")


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
