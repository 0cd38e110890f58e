"""Files written in one piece, whatever becomes of the run and the disk meanwhile."""

from __future__ import annotations

import os
from pathlib import Path


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
