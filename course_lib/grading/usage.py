"""A seat's processes seen from outside, where nothing inside can change what is seen: the memory that they use."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator

_FIELD = r"^{}:\s*(\d+) kB$"
# Bytes that wait in a socket to be read, at most: no page of a process, so no other figure shows them.
_SOCKET = 2**18


class Usage:
    """Of all processes in the PID namespace that `first` is in; of `first` alone where namespaces can't be read.

    Shared pages are counted once, and what the processes had in common with their parent is part of each figure.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self._descriptor = os.pidfd_open(first)  # a number may come to mean another process
        self._namespace = _namespace(first)
        self._before: dict[int, int] = {}

    def close(self) -> None:
        os.close(self._descriptor)

    def pause(self) -> None:
        """Stops the first process."""
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGSTOP)

    def end(self) -> None:
        """Ends the first process; the kernel ends all others of its namespace."""
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def threads(self) -> int:
        """How many threads the first process has."""
        return sum(_fields(self.first, "status", r"^Threads:\s*(\d+)$"))

    def resident(self) -> int:
        """Bytes in use now, each page divided by those who share it; with what is swapped out, and the kernel's own.

        That is the tables of pages, which pages that were only read may take alone, and what may wait in sockets.
        """
        held = sum(
            bytes_of(pid, "smaps_rollup", "(?:Swap)?Pss") + bytes_of(pid, "status", "VmPTE")
            for pid in self._processes()
        )
        return held + _SOCKET * _sockets(self.first)

    def forget_peak(self) -> None:
        """Lets `peak` begin anew from what is in use now."""
        for pid in self._processes():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/clear_refs", "w") as file:
                file.write("5")
            self._before[pid] = bytes_of(pid, "status", "VmRSS")

    def peak(self) -> int:
        """Bytes by which the processes grew at most since `forget_peak`; one that ended in between does not count."""
        return sum(
            max(0, bytes_of(pid, "status", "VmHWM") - self._before.get(pid, 0)) for pid in self._processes()
        )

    def _processes(self) -> Iterator[int]:
        if self._namespace is None:
            yield self.first
            return
        for name in os.listdir("/proc"):
            if name.isdigit() and _namespace(int(name)) == self._namespace:
                yield int(name)


def _namespace(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def _sockets(pid: int) -> int:
    """How many sockets there are in the network namespace of a process: those of its room."""
    try:
        with open(f"/proc/{pid}/net/unix", encoding="ascii", errors="replace") as lines:
            return sum(1 for _ in lines) - 1
    except OSError:
        return 0


def bytes_of(pid: int, file: str, field: str) -> int:
    """The fields of this name in a file of /proc/PID; 0 where the process has ended, or may not be looked at."""
    return sum(_fields(pid, file, _FIELD.format(field))) * 1024


def _fields(pid: int, file: str, pattern: str) -> list[int]:
    try:
        with open(f"/proc/{pid}/{file}", encoding="ascii", errors="replace") as lines:
            return [int(found) for found in re.findall(pattern, lines.read(), re.MULTILINE)]
    except OSError:
        return []
