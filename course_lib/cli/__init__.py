"""The command `course`: build the book, release problem sets, grade a class, and all of it once as a demo.

Every command says what it did and what to do next. Bad input is answered with one sentence and exit code 1. What a
command needs beyond this is loaded when it runs, so that --help answers at once.
"""

from __future__ import annotations

import errno
import sys
from typing import Any

import typer

from course_lib.cli.book import build, serve
from course_lib.cli.grading import demo, doctor, feedback, grade, secret
from course_lib.cli.people import collect, export, forget, report, roster, similar
from course_lib.cli.problem_sets import new_task, release
from course_lib.course import CourseError

app = typer.Typer(add_completion=False, rich_markup_mode=None)
STOPPED = 128 + 2  # what typer returns when it was interrupted, as shells do
USAGE_ERROR: Any = typer.BadParameter.__base__  # click's own, or of the copy of click that newer typers carry


def main(arguments: list[str] | None = None) -> None:
    """The entry point of the command: exits 0 when done, 1 with one sentence where something is wrong."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(args=arguments or ["--help"], standalone_mode=False)
        if code == STOPPED:
            raise KeyboardInterrupt
    except CourseError as error:
        _fail(str(error))
    except USAGE_ERROR as error:
        said = " ".join(error.format_message().split()).rstrip(".").replace("Value error, ", "")  # pydantic's
        _fail(f"{said}. See: {_command_of(error)} --help")
    except (KeyboardInterrupt, typer.Abort):
        _fail("Stopped. What was finished stays; the same command goes on from there.")
    except OSError as error:
        _fail(_of_the_system(error))
    except Exception as error:
        if not type(error).__module__.startswith("sqlalchemy."):
            raise
        reason = str(error).splitlines()[0]
        _fail(
            f"The gradebook can't be read or written: {reason}. Wait for whatever else works with it, or make room on "
            "the disk. What was recorded stays; the same command goes on from there."
        )
    sys.exit(code or 0)


def _of_the_system(error: OSError) -> str:
    """What the system refused, and what to do."""
    where = f"{error.filename}: " if error.filename else ""
    remedy = "Check the place and its permissions, and try again."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = "there" if where else "on the disk, for temporary files, too"
        remedy = f"Make room {place}. What was finished stays; the same command goes on from there."
    return f"{where}{error.strerror or error}. {remedy}"


def _command_of(error: Any) -> str:
    return f"course {error.ctx.info_name}" if error.ctx and error.ctx.parent else "course"


def _fail(sentence: str) -> None:
    print(f"course: {sentence}", file=sys.stderr)
    sys.exit(1)


@app.callback()
def _course() -> None:
    """Scaled Dot-Product Attention as a course: its book, its problem sets and their grading."""


# In the order in which --help lists them.
for command in (
    build, serve, release, new_task, grade, feedback, demo, doctor, roster, collect, export, report, similar, forget,
    secret,
):  # fmt: skip
    app.command()(command)
