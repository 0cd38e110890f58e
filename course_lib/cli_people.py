"""The commands of `course` for people and dates: roster, collect, export, feedback for an LMS, report, forget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from course_lib._terminal import shown
from course_lib.course import CourseError, find_course


def add_to(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    for command in (roster,):
        app.command()(command)


def roster(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV in UTF-8, UTF-16 or CP949.")],
    source: Annotated[str, typer.Option("--from", metavar="canvas|moodle|csv")] = "csv",
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The column of the students' ids.")
    ] = None,
) -> None:
    """Take the class from a list.

    Canvas: the gradebook, exported. Moodle: the participants, a grade export or a grading worksheet. Else a CSV with
    columns such as id, last name, first name, email. Taken again, it brings the gradebook up to date.
    """
    from course_lib.people.roster import import_roster

    course = find_course()
    if source not in ("canvas", "moodle", "csv"):
        raise CourseError(f"--from must be canvas, moodle or csv, not {source!r}.")
    done = import_roster(course, file, source, id_column=id_column)  # type: ignore[arg-type]
    print(
        f"Class: {len(done.new)} new, {len(done.updated)} changed, {len(done.unchanged)} as they were; "
        f"ids from the column {done.id_column!r}."
    )
    for sentence in done.duplicates:
        print(f"Twice in the list, taken once: {sentence}.")
    if done.absent:
        print(f"In the gradebook and not in this list, left as they are: {', '.join(done.absent)}.")
    print(f"Next: course collect PS FILE.zip, for what they hand in ({shown(course.root / 'submitted')}).")
