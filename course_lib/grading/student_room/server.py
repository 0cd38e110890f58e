"""The warm parent: imports what notebooks need, then forks a confined child for each submission.

It holds no test, no answer and no secret. It speaks with the examiner through a socket: "o" and a socket open a
child that answers on that socket; "k" and a pid end one.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import struct
import sys
from typing import Any

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
    limits = walls.Limits(**given["limits"])
    control = socket.socket(fileno=given["control"])
    if given["walls"]:
        walls.hide_memory()
    shell = _warm_up(given["modules"])
    control.sendall(b"r")
    children: set[int] = set()
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not order:
            break
        if order == b"o":
            open_child = _open_child if given["walls"] else _open_child_without_walls
            pid = open_child(shell, limits, descriptors[0], given["home"])
            children.add(pid)
            os.close(descriptors[0])
            control.sendall(_PID.pack(pid))
        elif order == b"k":
            (pid,) = _PID.unpack(control.recv(_PID.size, socket.MSG_WAITALL))
            if pid in children:
                _end(pid)
                children.discard(pid)
            if not given["walls"]:
                shutil.rmtree(f"{given['home']}-{pid}", ignore_errors=True)
            control.sendall(b"k")
    for pid in children:
        _end(pid)


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
    return shell


def _open_child(shell: Shell, limits: walls.Limits, channel: int, home: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()  # else a signal to the process group reaches the parent
        walls.enter_namespaces(limits, home)
        first = os.fork()
        if first:
            with contextlib.suppress(OSError):
                os.waitpid(first, 0)
            os._exit(0)
        examiner = _settle(channel, home)
        walls.close_in(limits, home)
        _serve(shell, examiner)
    except BaseException as error:
        with contextlib.suppress(Exception):
            wire.send(socket.socket(fileno=channel), {"broken": f"{type(error).__name__}: {error}"})
        os._exit(1)
    os._exit(0)


def _open_child_without_walls(shell: Shell, limits: walls.Limits, channel: int, home: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()  # it is ended with all that it starts
        home = f"{home}-{os.getpid()}"
        os.mkdir(home)
        examiner = _settle(channel, home)
        os.chdir(home)
        with contextlib.suppress(OSError, ValueError):  # what a system does not limit
            walls.limit(limits)
        _serve(shell, examiner)
    finally:
        os._exit(0)


def _settle(channel: int, home: str) -> socket.socket:
    """Closes what the parent had open, but the channel to the examiner."""
    os.dup2(channel, CONTROL)
    os.closerange(CONTROL + 1, 4096)
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.environ.update(HOME=home, TMPDIR="/tmp")
    return socket.socket(fileno=CONTROL)


def _serve(shell: Shell, examiner: socket.socket) -> None:
    """The child: runs cells and answers calls until the examiner hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _reseed()
    wire.send(examiner, {"ready": True})
    while True:
        try:
            request, arrays = wire.receive(examiner)
        except wire.WireError:
            return
        if request["do"] == "run":
            outputs, count = shell.run(request["source"])
            wire.send(examiner, {"outputs": outputs, "count": count})
        elif request["do"] == "put":
            _put(request["files"])
            wire.send(examiner, {"put": True})
        else:
            _answer(examiner, shell, request, arrays)


def _answer(examiner: socket.socket, shell: Shell, request: dict[str, Any], arrays: list[Any]) -> None:
    """Calls the student's function and sends what came of it."""
    from course_lib.checks import call

    inputs = {
        name: arrays[packed["array"]] if "array" in packed else packed["value"]
        for name, packed in request["inputs"]
    }
    if request["name"] not in shell.shell.user_ns:
        wire.send(examiner, {"error": "NameError", "changed": False, "message": "", "line": ""})
        return
    before = sys.stdout
    sys.stdout = _Nowhere()
    try:
        outcome = call(shell.shell.user_ns[request["name"]], tuple(request["required"]), inputs)
    finally:
        sys.stdout = before
    header = {
        "error": outcome.error,
        "changed": outcome.changed,
        "message": outcome.message[:2000],
        "line": outcome.line[:500],
    }
    try:
        wire.send(examiner, header, [] if outcome.value is None else [outcome.value])
    except wire.WireError:
        wire.send(examiner, {**header, "error": "returned an array too large or not of numbers"})


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


def _end(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
