"""The warm parent: imports what notebooks need, then forks a confined child for each submission.

It holds no test, no answer and no secret. It speaks with the examiner through the descriptor CONTROL: "o" and a
socket open a child that answers on that socket; "k" and a pid end one.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import struct
import sys
from typing import Any

from . import walls, wire
from .shell import MAX_OUTPUT, Shell

CONTROL = 3
HOME = "/home/student"
_PID = struct.Struct("!i")


def main(arguments: str) -> None:
    """Serves until the examiner closes the control socket. `arguments` is JSON: modules to import, limits."""
    given = json.loads(arguments)
    limits = walls.Limits(**given["limits"])
    control = socket.socket(fileno=CONTROL)
    walls.hide_memory()
    shell = _warm_up(given["modules"])
    control.sendall(b"r")
    children: set[int] = set()
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not order:
            break
        if order == b"o":
            pid = _open_child(shell, limits, descriptors[0])
            children.add(pid)
            os.close(descriptors[0])
            control.sendall(_PID.pack(pid))
        elif order == b"k":
            (pid,) = _PID.unpack(control.recv(_PID.size, socket.MSG_WAITALL))
            if pid in children:
                _end(pid)
                children.discard(pid)
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


def _open_child(shell: Shell, limits: walls.Limits, channel: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()  # else a signal to the process group reaches the parent
        walls.enter_namespaces(limits, HOME)
        first = os.fork()
        if first:
            with contextlib.suppress(OSError):
                os.waitpid(first, 0)
            os._exit(0)
        _serve(shell, limits, channel)
    except BaseException as error:
        with contextlib.suppress(Exception):
            wire.send(socket.socket(fileno=channel), {"broken": f"{type(error).__name__}: {error}"})
        os._exit(1)
    os._exit(0)


def _serve(shell: Shell, limits: walls.Limits, channel: int) -> None:
    """The confined child: runs cells and answers calls until the examiner hangs up."""
    os.dup2(channel, CONTROL)
    os.closerange(CONTROL + 1, 4096)
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.environ.update(HOME=HOME, TMPDIR="/tmp")
    examiner = socket.socket(fileno=CONTROL)
    walls.close_in(limits, HOME)
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
        with open(os.path.join(HOME, os.path.basename(name)), "wb") as file:
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
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
