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

from course_lib.checks import NOT_DEFINED, Outcome, call, way_of

from . import walls, wire
from .place import Limits
from .shell import MAX_OUTPUT, Shell

CONTROL = 3  # the descriptor through which a child speaks with the examiner
_PID = struct.Struct("!i")


def main(arguments: str) -> None:
    """Serves until the examiner closes the control socket.

    `arguments` is JSON: modules to import, limits, the control socket's descriptor, whether there are walls, and the
    home of children; without walls, the folder of their homes.
    """
    given = json.loads(arguments)
    control = socket.socket(fileno=given["control"])
    if given["walls"]:
        walls.prepare()
    shell = _warm_up(given["modules"])
    children = _Children(shell, Limits(**given["limits"]), given["home"], walled=given["walls"])
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
    """A shell in which all has run once that children will need: what is loaded here, none of them loads."""
    for name in modules:
        __import__(name)
    shell = Shell()
    for source in (*_WARMING, *([_FIGURE] if "matplotlib" in modules else [])):
        shell.run(source)
    _reseed()
    _speak(shell)
    sys.path.insert(0, "")  # as in Jupyter: what a cell wrote, others import
    shell.shell.reset(new_session=True)
    shell.left = MAX_OUTPUT
    gc.collect()
    gc.freeze()  # a collection would write to every page that children share
    return shell


def _speak(shell: Shell) -> None:
    """Says and hears a message."""
    one, other = socket.socketpair()
    with one, other:
        _Child(shell, one).say(call(lambda x: x, ("x",), {"x": shell.shell.user_ns["x"]}))
        wire.receive(other)


_FIGURE = "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"
_WARMING = (
    "raise ValueError",
    "import io; import numpy as np; np.linalg.svd(np.eye(3)); x = np.ones(3)",
    "file = io.BytesIO(); np.savez_compressed(file, x=x); file.seek(0); np.load(file)['x'].sum()",
    "print(x)",
)


class _Children:
    """The children of the warm parent, each known by its pid: with walls, the first process of its namespace."""

    def __init__(self, shell: Shell, limits: Limits, home: str, *, walled: bool) -> None:
        self.shell, self.limits, self.home, self.walled = shell, limits, home, walled
        self.open_now: set[int] = set()
        self.own_processes = os.open("/proc/self/ns/pid", os.O_RDONLY) if walled else -1

    def open(self, channel: int) -> int:
        """Starts a child that answers on this socket."""
        pid = walls.fork_apart(self.own_processes) if self.walled else os.fork()
        if pid == 0:
            try:
                self._serve(channel)
            finally:
                os._exit(1)
        os.close(channel)
        self.open_now.add(pid)
        return pid

    def end(self, pid: int) -> None:
        """Ends a child with everything that it started, whatever it did."""
        if pid not in self.open_now:
            return
        self.open_now.remove(pid)
        # It was not waited for yet: so the number is still that process's, and nobody else's.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # of a first process: the kernel ends all others of its namespace
        if not self.walled:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
            shutil.rmtree(f"{self.home}-{pid}", ignore_errors=True)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)

    def end_all(self) -> None:
        for pid in list(self.open_now):
            self.end(pid)

    def _serve(self, channel: int) -> None:
        os.setsid()  # else a signal to the process group reaches the parent
        home = self.home if self.walled else f"{self.home}-{os.getpid()}"
        examiner = _settle(channel, home)
        try:
            if self.walled:
                walls.enter_namespaces(self.limits, home)
                walls.close_in(self.limits, home)
            else:
                self._move_in(home)
        except BaseException as error:
            wire.send(examiner, {"broken": f"{type(error).__name__}: {error}"})
            raise
        _serve(self.shell, examiner)

    def _move_in(self, home: str) -> None:
        os.mkdir(home)
        os.chdir(home)
        with contextlib.suppress(OSError, ValueError):  # what a system does not limit
            walls.limit(self.limits)


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
        self.states: dict[str, dict[str, Any]] = {}

    def answer(self, request: dict[str, Any], arrays: list[Any]) -> None:
        self.request = request["id"]
        if request["do"] == "run":
            outputs, count = self.shell.run(request["source"])
            self.reply({"outputs": outputs, "count": count})
        elif request["do"] == "call":
            self.call(request, arrays)
        elif request["do"] == "keep":
            self.keep()
        elif request["do"] == "note":
            self.states[request["state"]] = dict(self.shell.shell.user_ns)
        else:
            _put(request.get("files", []), arrays)
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
        """Calls the student's function on each of the inputs, and sends what came of each."""
        names = self.shell.shell.user_ns
        if request["state"] in self.states:
            names.clear()
            names.update(self.states[request["state"]])
            _set_back()
        way, required, forbidden = way_of(request["way"]), tuple(request["required"]), request["forbidden"]
        for packed in request["inputs"]:
            inputs = {
                name: arrays[value["array"]] if "array" in value else value["value"] for name, value in packed
            }
            before = sys.stdout
            sys.stdout = _Nowhere()
            try:
                function = names[request["name"]]
                outcome = call(function, required, inputs, way=way, forbidden=forbidden)
            except KeyError:
                outcome = Outcome(error=NOT_DEFINED)
            finally:
                sys.stdout = before
            self.say(outcome)

    def say(self, outcome: Outcome) -> None:
        """Sends an outcome."""
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


def _set_back() -> None:
    """What a with statement of a call before could not set back, where memory had ended."""
    import numpy as np

    np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
    sys.setprofile(None)
    if "torch" in sys.modules:
        sys.modules["torch"].set_grad_enabled(True)


class _Nowhere(io.TextIOBase):
    """Takes text of any length and keeps none."""

    def write(self, text: str) -> int:
        return len(text)


def _put(names: list[str], contents: list[Any]) -> None:
    for name, content in zip(names, contents, strict=True):
        with open(os.path.join(os.environ["HOME"], os.path.basename(name)), "wb") as file:
            file.write(content)


def _reseed() -> None:
    """Children of one parent would draw the same numbers."""
    import random

    import numpy as np

    random.seed(os.urandom(16))
    np.random.seed(int.from_bytes(os.urandom(4), "big"))
    if "torch" in sys.modules:
        sys.modules["torch"].seed()
