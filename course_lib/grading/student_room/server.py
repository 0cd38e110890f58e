"""The warm parent: imports what notebooks need, then forks a confined child for each submission.

It holds no test, no answer and no secret. It speaks with the examiner through a socket: "o" and a socket open a
child that answers on that socket; "k" and a pid end one.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import shutil
import signal
import socket
import struct
import sys
from typing import Any

from course_lib.checks import Outcome, call, way_of

from . import walls, wire
from .shell import MAX_OUTPUT, Shell

CONTROL = 3  # the descriptor through which a child speaks with the examiner
HOME = "/home/student"
_PID = struct.Struct("!i")


def main(arguments: str) -> None:
    """Serves until the examiner closes the control socket.

    `arguments` is JSON: modules to import, limits, the control socket's descriptor, whether there are walls, and the
    home of children; without walls, the folder of their homes.
    """
    given = json.loads(arguments)
    control = socket.socket(fileno=given["control"])
    if given["walls"]:
        walls.hide_memory()
    shell = _warm_up(given["modules"])
    children = _Children(shell, walls.Limits(**given["limits"]), given["home"], walled=given["walls"])
    control.sendall(b"r")
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not order:
            break
        if order == b"o":
            control.sendall(_PID.pack(children.open(descriptors[0])))
        elif order == b"k":
            children.end(_PID.unpack(control.recv(_PID.size, socket.MSG_WAITALL))[0])
            control.sendall(b"k")
    children.end_all()


def _warm_up(modules: list[str]) -> Shell:
    import numpy as np

    for name in modules:
        __import__(name)
    shell = Shell()
    shell.run("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()")
    shell.run("raise ValueError")
    np.linalg.svd(np.eye(3))
    shell.shell.reset(new_session=True)
    shell.left = MAX_OUTPUT
    gc.collect()
    gc.freeze()  # a collection would write to every page that children share
    return shell


class _Children:
    """The children of the warm parent: each is known by the pid of the process that the parent waits for."""

    def __init__(self, shell: Shell, limits: walls.Limits, home: str, *, walled: bool) -> None:
        self.shell, self.limits, self.home, self.walled = shell, limits, home, walled
        self.first: dict[int, int] = {}  # by that pid: the process that runs the student's code

    def open(self, channel: int) -> int:
        """Starts a child that answers on this socket."""
        pid, first = self._open_walled(channel) if self.walled else self._open_plain(channel)
        os.close(channel)
        self.first[pid] = first
        return pid

    def end(self, pid: int) -> None:
        """Ends a child with everything that it started, whatever it did."""
        first = self.first.pop(pid, None)
        if first is None:
            return
        if not self.walled:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            shutil.rmtree(f"{self.home}-{pid}", ignore_errors=True)
        with contextlib.suppress(ChildProcessError):
            # It still waits: so the number of the first process is still that process's, and nobody else's.
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(first, signal.SIGKILL)  # the kernel ends all others of its PID namespace
                os.waitpid(pid, 0)

    def end_all(self) -> None:
        for pid in list(self.first):
            self.end(pid)

    def _open_walled(self, channel: int) -> tuple[int, int]:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid:
            os.close(writing)
            told = os.read(reading, _PID.size)
            os.close(reading)
            return pid, _PID.unpack(told)[0] if told else pid
        try:
            os.setsid()  # else a signal to the process group reaches the parent
            walls.enter_namespaces(self.limits, self.home)
            first = os.fork()
            if first:
                _wait_for(first, writing)
            examiner = _settle(channel, self.home)
            walls.close_in(self.limits, self.home)
            _serve(self.shell, examiner)
        except BaseException as error:
            with contextlib.suppress(Exception):
                wire.send(socket.socket(fileno=channel), {"broken": f"{type(error).__name__}: {error}"})
        finally:
            os._exit(1)

    def _open_plain(self, channel: int) -> tuple[int, int]:
        pid = os.fork()
        if pid:
            return pid, pid
        try:
            os.setsid()  # it is ended with all that it starts
            home = f"{self.home}-{os.getpid()}"
            os.mkdir(home)
            examiner = _settle(channel, home)
            os.chdir(home)
            with contextlib.suppress(OSError, ValueError):  # what a system does not limit
                walls.limit(self.limits)
            _serve(self.shell, examiner)
        finally:
            os._exit(0)


def _wait_for(first: int, writing: int) -> None:
    """Tells the parent which process is the first, and lives as long as it and its namespaces."""
    os.write(writing, _PID.pack(first))
    os.closerange(0, 4096)  # the examiner hears at once when the child's end of the channel closes
    with contextlib.suppress(OSError):
        os.waitpid(first, 0)
    os._exit(0)


def _settle(channel: int, home: str) -> socket.socket:
    """Closes what the parent had open, but the channel to the examiner."""
    os.dup2(channel, CONTROL)
    os.closerange(CONTROL + 1, 4096)
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    os.environ.update(HOME=home, TMPDIR="/tmp")
    return socket.socket(fileno=CONTROL)


def _serve(shell: Shell, examiner: socket.socket) -> None:
    """The child: runs cells and answers calls until the examiner hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _reseed()
    wire.send(examiner, {"ready": True})
    child = _Child(shell, examiner)
    with contextlib.suppress(wire.WireError):
        while True:
            child.answer(*wire.receive(child.examiner))


class _Child:
    """What answers the examiner's requests, one after another."""

    def __init__(self, shell: Shell, examiner: socket.socket) -> None:
        self.shell, self.examiner, self.request = shell, examiner, ""

    def answer(self, request: dict[str, Any], arrays: list[Any]) -> None:
        self.request = request["id"]
        if request["do"] == "run":
            outputs, count = self.shell.run(request["source"])
            self.reply({"outputs": outputs, "count": count})
        elif request["do"] == "call":
            self.call(request, arrays)
        elif request["do"] == "keep":
            self.keep()
        else:
            _put(request.get("files", []))
            self.reply({"done": True})

    def reply(self, header: dict[str, Any], arrays: list[Any] | None = None) -> None:
        wire.send(self.examiner, {**header, "id": self.request}, arrays)

    def keep(self) -> None:
        """Forks: the copy answers on the socket that follows, with all as it is now. Each goes on with its own."""
        _, [channel], _, _ = socket.recv_fds(self.examiner, 1, 1)
        try:
            copied = os.fork() == 0
        except OSError:
            os.close(channel)
            self.reply({"kept": False})
            return
        if copied:
            self.examiner.close()
            self.examiner = socket.socket(fileno=channel)
        else:
            os.close(channel)
            self.reply({"kept": True})

    def call(self, request: dict[str, Any], arrays: list[Any]) -> None:
        """Calls the student's function and sends what came of it."""
        inputs = {
            name: arrays[packed["array"]] if "array" in packed else packed["value"]
            for name, packed in request["inputs"]
        }
        before = sys.stdout
        sys.stdout = _Nowhere()
        try:
            function = self.shell.shell.user_ns[request["name"]]
            way, forbidden = way_of(request["way"]), request["forbidden"]
            outcome = call(function, tuple(request["required"]), inputs, way=way, forbidden=forbidden)
        except KeyError:
            outcome = Outcome(error="NameError")
        finally:
            sys.stdout = before
        header = {
            "error": outcome.error,
            "changed": outcome.changed,
            "message": outcome.message[:2000],
            "line": outcome.line[:500],
        }
        try:
            self.reply(header, list(outcome.values))
        except wire.WireError:
            self.reply({**header, "error": "MemoryError"})


class _Nowhere(io.TextIOBase):
    """Takes text of any length and keeps none."""

    def write(self, text: str) -> int:
        return len(text)


def _put(files: list[list[str]]) -> None:
    import base64

    for name, content in files:
        with open(os.path.join(os.environ["HOME"], os.path.basename(name)), "wb") as file:
            file.write(base64.b64decode(content))


def _reseed() -> None:
    """Children of one parent would draw the same numbers."""
    import random

    import numpy as np

    random.seed(os.urandom(16))
    np.random.seed(int.from_bytes(os.urandom(4), "big"))
    if "torch" in sys.modules:
        sys.modules["torch"].seed()
