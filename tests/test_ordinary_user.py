"""The rooms hold as well where an ordinary user grades, without any right of root's."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOMS = (
    "call_gives_what_checks_call_gives",
    "call_gives_gradients_of_inputs_and_parameters",
    "nothing_of_this_machine_shows",
    "nothing_can_be_written_but_its_own",
    "capabilities_namespaces_and_sockets_are_gone",
    "seats_share_nothing",
    "too_much_memory_is_noticed",
    "everything_that_a_seat_started_ends_with_it",
    "a_copy_keeps_the_state_and_outlives_a_loop",
    "peak_memory_is_measured_from_outside",
)
ATTACKS = (
    "compare_agree",
    "forge_broken",
    "input_shown",
    "kill_group",
    "left_daemon",
    "memory_helper",
    "memory_kernel",
    "memory_processes",
    "memory_sockets",
    "memory_tables",
    "neighbour_core",
    "neighbour_devices",
    "neighbour_escape",
    "neighbour_limits",
    "neighbour_signals",
    "neighbour_sockets",
    "seek_devices",
    "shadow_poison",
)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="these tests run as an ordinary user already")
def test_the_room_works_as_an_ordinary_user() -> None:
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(prefix="course-room-tests-", dir="/var/tmp") as scratch:
        os.chown(scratch, nobody.pw_uid, nobody.pw_gid)
        python = readable_python(Path(scratch))
        checkout = readable_checkout(Path(scratch))
        # Full names, so that pytest fails where one of them is no test.
        tests = [f"tests/test_rooms.py::test_{name}" for name in ROOMS]
        tests += ["tests/test_examiner.py::test_examine_grades_the_state_at_the_graded_cell"]
        tests += [
            f"tests/test_attacks.py::test_attack_earns_nothing_and_touches_nobody[{name}]" for name in ATTACKS
        ]
        options = ["-q", "-p", "no:cacheprovider", "--basetemp", f"{scratch}/t"]
        done = subprocess.run(
            [python, "-m", "pytest", *options, *tests],
            env={"PATH": "/usr/bin:/bin", "HOME": scratch, "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"},
            cwd=checkout,
            user=nobody.pw_uid,
            group=nobody.pw_gid,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=1800,
        )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def readable_checkout(scratch: Path) -> Path:
    """This checkout, or a copy where an ordinary user may not read it: in a folder that mktemp made, say."""
    checkout = TESTS.parent
    nobody = pwd.getpwnam("nobody").pw_uid
    tried = ["test", "-r", checkout / "pyproject.toml"]
    if subprocess.run(tried, user=nobody, extra_groups=[], cwd="/").returncode == 0:
        return checkout
    without = shutil.ignore_patterns(".*", "_build", "__pycache__")
    return Path(shutil.copytree(checkout, scratch / "checkout", ignore=without))


def readable_python(scratch: Path) -> str:
    """This interpreter, or one of its version with its packages, that an ordinary user may start; else a skip."""
    if may_start(sys.executable):
        return sys.executable
    system = shutil.which(
        f"python{sys.version_info.major}.{sys.version_info.minor}", path="/usr/bin:/usr/local/bin"
    )
    if system is None or not may_start(system):
        pytest.skip(f"{sys.executable} is below a folder that an ordinary user may not read")
    subprocess.run([system, "-m", "venv", "--without-pip", scratch / "venv"], check=True)
    packages = Path(sysconfig.get_path("purelib"))
    [target] = (scratch / "venv").glob("lib/python*/site-packages")
    shutil.copytree(packages, target, copy_function=os.link, dirs_exist_ok=True)
    python = scratch / "venv" / "bin" / "python"
    alembic = python.with_name("alembic")  # nbgrader starts it by its name
    alembic.write_text(f"#!{python}\nfrom alembic.config import main\nmain()\n")
    alembic.chmod(0o755)
    return str(python)


def may_start(python: str) -> bool:
    nobody = pwd.getpwnam("nobody").pw_uid
    try:
        return subprocess.run([python, "-c", ""], user=nobody, extra_groups=[], cwd="/").returncode == 0
    except OSError:
        return False
