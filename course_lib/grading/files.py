"""Files written in one piece, whatever becomes of the run and the disk meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from course_lib.course import CourseError


def write_whole(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Writes a file: a reader, and the next run, find the old or the new, and no draft stays where it fails.

    `mode` is what a new file has, less what the process takes away. OSError, with the file's name, where it can't be
    written.
    """
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
        os.replace(draft, path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk does not say which file it had no room for
        raise
    finally:
        draft.unlink(missing_ok=True)


def write_private(out: Path, write: Callable[[Path], object]) -> None:
    """What holds marks or names: `write` fills a draft for its owner alone, which is put in the place of `out`.

    CourseError where there can be no such file.
    """
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise CourseError(f"{out} can't be written: give a file in a folder that is there.")
    draft = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        draft.touch(mode=0o600)
        write(draft)
        os.replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)
