"""Grades the small course's class where a disk gets full on the way, then again with room on it; says what came of it.

A program: `unshare --mount python full_disk.py COURSE SUBMITTED PLACE KIND ROOM`. At PLACE is then a disk of its own
with so many bytes left, which holds the workspace, the gradebook or temporary files, as KIND says.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import graded_class
from mini import snapshot

import course_lib.cli as cli
import course_lib.grading.run as run
import course_lib.grading.worker as worker

SIZE = 32 * 2**20


def grade(course: Path, submitted: Path) -> dict[str, Any]:
    """What `course grade` says and leaves."""
    said = io.StringIO()
    os.chdir(course)
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            cli.main(["grade", "mini", "--submitted", str(submitted)])
    except SystemExit as end:
        return {"code": end.code, "said": said.getvalue()}
    raise AssertionError("it did not exit")


def state(course: Path, gradebook: Path) -> dict[str, Any]:
    """The marks by student and every file of a class, as digests."""
    files = {
        f"{folder}/{name}": hashlib.sha256(content).hexdigest()
        for folder in ("autograded", "submitted")
        for name, content in snapshot(course / folder).items()
    }
    marks = {student: repr(kept) for student, kept in graded_class.marks(gradebook).items()}
    return {"marks": marks, "files": files}


def arrange(course: Path, place: Path, kind: str) -> tuple[Path, Path]:
    """The course and the folder of its gradebook, one of which lies in the place."""
    if kind == "workspace":
        here = Path(shutil.copytree(course, place / "course"))
        return here, here
    if kind == "gradebook":
        config = f"\nget_config().CourseDirectory.db_url = 'sqlite:///{place / 'gradebook.db'}'\n"
        with (course / "nbgrader_config.py").open("a") as file:
            file.write(config)
        return course, place
    tempfile.tempdir = os.environ["TMPDIR"] = str(place)
    return course, course


def main() -> None:
    course, submitted, place = (Path(word) for word in sys.argv[1:4])
    kind, room = sys.argv[4], int(sys.argv[5])
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", place], check=True)
    worker.library_digest = lambda: ""
    run.LocalWorkers, run.BATCH = graded_class.Inline, 2
    course, gradebook = arrange(course, place, kind)
    ballast = place / "ballast"
    left = shutil.disk_usage(place).free - room
    with ballast.open("wb") as file:
        file.write(bytes(left))
    full = grade(course, submitted)
    ballast.unlink()  # what is looked at now may be written to
    full |= state(course, gradebook)
    print(json.dumps([full, grade(course, submitted) | state(course, gradebook)]))


if __name__ == "__main__":
    main()
