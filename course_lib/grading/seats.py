"""A seat in the student's room, as the examiner sees it: one submission's process, which runs cells and answers calls.

What it says is data, and is treated as if an enemy had written it.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from course_lib.checks import PLAIN, RETURNED, Inputs, Outcome, Way
from course_lib.grading.plain import error_name, plain_line, type_name
from course_lib.grading.student_room import wire
from course_lib.grading.student_room.place import Limits
from course_lib.grading.usage import Usage

OPEN_SECONDS = 20.0
KEEP_SECONDS = 5.0
_TOGETHER = 2**20  # bytes of questions in one message


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

    def has_threads(self) -> bool:
        """Whether the process has more than one thread, as far as that can be seen from outside."""
        return self._usage is not None and self._usage.threads() > 1

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
