"""The course's secret: what makes hidden draws unpredictable for students and the same in every regrade."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from course_lib.course import Course, CourseError

SECRET_BYTES = 32


def secret_path(course: Course) -> Path:
    """Where the secret is kept: outside everything that is handed out."""
    return course.private / "secret"


def secret_of(course: Course) -> bytes:
    """The 32 random bytes in `.course/secret` of the course (readable by its owner only), made when missing."""
    path = secret_path(course)
    if not path.exists():
        _make_secret(path)
    secret = path.read_bytes()
    if len(secret) != SECRET_BYTES:
        raise CourseError(
            f"{path} holds {len(secret)} bytes, not {SECRET_BYTES}. Restore it from a backup, or delete it: "
            "then a new secret is made and every submission is graded on other hidden cases."
        )
    return secret


def _make_secret(path: Path) -> None:
    """Writes a new secret; of two processes that come at once, one wins and both read the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"secret.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
