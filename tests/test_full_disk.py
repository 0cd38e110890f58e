"""A disk that gets full while a class is graded: a sentence, nothing half-written, and the same command goes on."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import full_disk
import graded_class
import pytest
from mini import hand_in

import course_lib.grading.run as run
from course_lib.course import Course
from course_lib.grading import worker
from course_lib.grading.files import write_whole
from course_lib.grading.run import grade

MUCH = "\nprint('x' * 100_000)"
MOUNT = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
# Bytes that are left: in the gradebook a tenth of it, then all but for its journal; for temporary files too few to say
# once more what the cells are.
ROOM = [
    ("workspace", 30_000),
    ("workspace", 450_000),
    ("workspace", 800_000),
    ("gradebook", 20_000),
    ("gradebook", 184_000),
    ("temporary", 4_096),
    ("temporary", 8_192),
]


@pytest.fixture(scope="module")
def handed_in(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("handed-in")
    for number, answer in enumerate(graded_class.ANSWERS.values()):
        path = hand_in(course, folder, f"student-{number:03}", double_solution=answer + MUCH)
        path.with_name("timestamp.txt").write_text("2026-03-01 10:00:00.5 UTC\n")
    return folder


@pytest.fixture(scope="module")
def undisturbed(course: Course, handed_in: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "library_digest", lambda: "")
        patch.setattr(run, "LocalWorkers", graded_class.Inline)
        grade(course, "mini", handed_in, place)
    worker.end()
    return full_disk.state(place, place)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "room"), ROOM)
def test_a_full_disk_ends_a_run_that_goes_on_later(
    course: Course, handed_in: Path, undisturbed: dict[str, Any], tmp_path: Path, kind: str, room: int
) -> None:
    if subprocess.run([*MOUNT, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no disk of its own can be mounted here")
    place = tmp_path / "place"
    place.mkdir()
    here = shutil.copytree(course.root, tmp_path / "course")
    command = [sys.executable, "-W", "ignore", full_disk.__file__, here, handed_in, place, kind, str(room)]
    done = subprocess.run([*MOUNT, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    full, again = json.loads(done.stdout)
    assert full["code"] == 1
    assert full["said"].startswith("course: ")
    assert full["said"].count("\n") == 1
    assert " room" in full["said"]
    assert len(full["marks"]) < len(undisturbed["marks"])
    for what in ("marks", "files"):  # none but whole ones
        assert full[what].items() <= undisturbed[what].items()
        assert again[what] == undisturbed[what]
    assert again["code"] == 0


def test_write_whole_leaves_the_old_file_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, b"old")
    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(OSError, match=r"a\.txt"):
        write_whole(path, b"new")
    assert [found.name for found in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_bytes() == b"old"


def full(descriptor: int, mode: str) -> Any:
    os.close(descriptor)
    raise OSError(errno.ENOSPC, "No space left on device")
