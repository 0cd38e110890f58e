"""Files that hold marks or names: written in one piece, and for their owner alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from course_lib.course import CourseError


def write_private(out: Path, write: Callable[[Path], object]) -> None:
    """Lets `write` fill a draft beside `out`, and puts it in its place; CourseError where there can be no such file."""
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise CourseError(f"{out} can't be written: give a file in a folder that is there.")
    draft = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        draft.touch(mode=0o600)
        write(draft)
        os.replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)
