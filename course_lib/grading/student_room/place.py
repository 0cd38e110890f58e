"""What both sides know of the student's room, on every system: its limits, its home, where Python lies in it."""

from __future__ import annotations

import sys
from dataclasses import dataclass

HOME = "/home/student"
DEVICES = ("null", "zero", "full", "random", "urandom")  # that only give or take bytes


@dataclass(frozen=True)
class Limits:
    """What one submission may use."""

    memory: int = 4 * 2**30  # address space of each process, bytes
    resident: int = 2 * 2**30  # memory of all its processes together, bytes; the examiner looks after it
    disk: int = 64 * 2**20  # its own tmpfs, and the largest file, bytes
    processes: int = 64
    files: int = 256
    cpu_seconds: int = 300
    # that wait, and timers that give them: the kernel's memory, of which each user has a share
    signals: int = 256


def interpreter_folders() -> list[str]:
    """Where Python and its packages lie, but for what the system's /usr holds."""
    return sorted(folder for folder in {sys.prefix, sys.base_prefix} if not f"{folder}/".startswith("/usr/"))


def places_below_tmp() -> dict[str, str]:
    """Of these the ones in /tmp, which a child's own /tmp hides, and where a second view of each lies."""
    below = [folder for folder in interpreter_folders() if folder.startswith("/tmp/")]
    return {folder: f"/room/interpreter-{number}" for number, folder in enumerate(below)}
