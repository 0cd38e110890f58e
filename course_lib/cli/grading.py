"""The commands for grading: grade, feedback, doctor, secret; and demo, which does all of it once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

from course_lib.cli.book import build_book
from course_lib.cli.people import pack, save_report
from course_lib.cli.problem_sets import release_sets, require_problem_sets
from course_lib.cli.terminal import bar, console, say_where, shown, table
from course_lib.course import Course, CourseError, find_course

if TYPE_CHECKING:
    from course_lib.grading.report import Report, StudentReport
    from course_lib.release.demo import DemoRow


def grade(
    problem_set: Annotated[str, typer.Argument(metavar="PS", help="The problem set: ps1.")],
    submitted: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Holds STUDENT/PS/*.ipynb; by default submitted/ of the course."),
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report there, too.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Run unchanged submissions again as well.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Examine so many at a time; by default one on each core."),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Examine on the Dask cluster of this scheduler.")
    ] = None,
    without_walls: Annotated[
        bool,
        typer.Option(
            "--without-walls",
            help="Run students' code where it can't be confined: it can then read and change your files, "
            "use your network and end your processes.",
        ),
    ] = False,
) -> None:
    """Grade what students handed in.

    Marks go into gradebook.db, executed notebooks into autograded/, as nbgrader has them. What is graded already is
    not run again, so a run that was stopped goes on where it was.
    """
    from course_lib.grading.report import require_writable

    _require_forks()
    course = find_course()
    _require_current_release(course, problem_set)
    _require_secret(course)
    if json is not None:
        require_writable(json)
    options = {"again": again, "jobs": jobs, "scheduler": scheduler, "walls": not without_walls}
    report = _grade(course, problem_set, submitted or course.root / "submitted", options)
    console().print(_report_table(report))
    if not report.walls:
        print("Graded without walls: students' code ran with your rights, in reach of your files and marks.")
    save_report(course, report, json)
    _say_what_is_in_doubt(report)
    _say_what_waits(report)


def feedback(
    problem_set: Annotated[str, typer.Argument(metavar="PS", help="The problem set: ps1.")],
    to: Annotated[
        Literal["canvas", "moodle", "folder"] | None,
        typer.Option(help="Pack one zip to upload there, or one for each student into a folder."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where that zip or folder goes.")] = None,
) -> None:
    """Write each student's own page.

    Marks, mistakes, hints and comments as the gradebook has them now, in feedback/STUDENT/PS/, where nbgrader and its
    exchange look for them.
    """
    from course_lib.grading.feedback import write_feedback

    course = find_course()
    with bar(f"Writing the feedback on {problem_set}") as progress:
        written = write_feedback(course, problem_set, course.root, progress=progress)
    print(f"Feedback: {written.pages} pages in {shown(written.folder)}/STUDENT/{problem_set}.")
    if written.without:
        print(f"Without a page, since nothing of theirs was graded: {', '.join(written.without)}.")
    if to is None:
        packs = f"course feedback {problem_set} --to canvas, moodle or folder packs them"
        print(f"Next: {packs}; on a hub: nbgrader release_feedback {problem_set}")
    else:
        pack(course, problem_set, to, out)


def demo() -> None:
    """Run all of it once, with a sample class.

    Builds the book, releases the problem sets, and grades the first one for a class whose scores are known beforehand.
    """
    _require_forks()
    from course_lib.release.demo import demo_workspace, grade_sample

    course = find_course()
    build_book(course)
    names = require_problem_sets(course, None)
    release_sets(course, names)
    surprises: list[str] = []
    for name in names[:1]:  # the others have their sample classes graded by the tests
        with _grading_bar(f"Grading the sample class of {name}") as progress:
            graded = grade_sample(course, name, progress=progress)
        console().print(_demo_table(name, graded.rows))
        if not graded.walls:
            print(
                "Nothing confines code here, so the sample class, which is ours, ran without. See: course doctor"
            )
        surprises += [f"{name} {row.student.id}" for row in graded.rows if not row.as_predicted]
    say_where(_places(course, demo_workspace(course)))
    if surprises:
        raise CourseError(
            f"{len(surprises)} scores differ from what the bank predicts: {', '.join(surprises)}. "
            "Correct the tests or the predictions in solutions/."
        )


def doctor() -> None:
    """Say whether this machine can confine students' code.

    It runs behind walls, or not at all: each part of them is looked at, and a room is opened.
    """
    from course_lib.grading.doctor import examine_machine

    findings = examine_machine()
    for finding in findings:
        print(f"{'ok     ' if finding.good else 'lacking'} {finding.what}: {finding.found}")
        if not finding.good and finding.remedy:
            print(f"        {finding.remedy}.")
    if not findings[-1].good:
        raise CourseError(
            "Students' code can't be confined on this machine. Mend what is lacking above, and run: course doctor"
        )
    print("Submissions can be graded here: each runs confined.")


def secret() -> None:
    """Make the course's secret, if it has none, and say where it is.

    Hidden tests draw their inputs from it. Keep a copy in a safe place, and never hand it out.
    """
    from course_lib.grading.secret import secret_of, secret_path

    course = find_course()
    path = secret_path(course)
    made = not path.exists()
    secret_of(course)
    print(f"The course's secret {'was made now' if made else 'is there'}: {shown(path)}")
    print("Next: copy it to where you keep passwords. Without it, a regrade asks other questions.")


def _require_forks() -> None:
    """What grades needs processes that fork."""
    if not hasattr(os, "fork"):
        raise CourseError("Windows can't confine students' code. Grade inside WSL; course doctor says how.")


def _require_current_release(course: Course, problem_set: str) -> None:
    from course_lib.release.notebooks import is_current

    course.require_problem_set(problem_set)
    if not is_current(course, problem_set):
        raise CourseError(
            f"solutions/{problem_set} has changed since it was released, or was never released. "
            f"Run: course release {problem_set}"
        )


def _require_secret(course: Course) -> None:
    """A secret that is gone is not replaced in silence."""
    from course_lib.grading.secret import secret_path

    path = secret_path(course)
    if not path.exists() and any(course.root.glob("autograded/*/*")):
        raise CourseError(
            f"The course's secret is gone ({shown(path)}), and a regrade without it draws other inputs. "
            "Put its copy back, or make a new one: course secret"
        )


def _grade(course: Course, problem_set: str, submitted: Path, options: dict[str, Any]) -> Report:
    from course_lib.grading.run import grade

    with _grading_bar(f"Grading {problem_set}") as progress:
        return grade(course, problem_set, submitted, course.root, progress=progress, **options)


@contextmanager
def _grading_bar(what: str) -> Iterator[Callable[[int, int, int], None]]:
    with bar(what) as show:
        yield lambda done, total, failures: show(done, total, f"({failures} failed)" if failures else "")


def _say_what_is_in_doubt(report: Report) -> None:
    doubtful = [student.id for student in report.students if student.time_stamp]
    if doubtful:
        names = ", ".join(doubtful[:9]) + (f" and {len(doubtful) - 9} more" if len(doubtful) > 9 else "")
        print(
            f"Not sure when it came: {names}. Lateness was taken by the time stamps as they are. Look at them; write "
            "the right time into timestamp.txt beside the notebook, and grade again."
        )


def _say_what_waits(report: Report) -> None:
    waiting = [student.id for student in report.students if student.waits]
    if waiting:
        print(
            f"Next: mark {len(waiting)} by hand: run jupyter lab here, then the menu Nbgrader > Formgrader."
        )
    failed = [student.id for student in report.students if student.status == "failed"]
    if failed:
        raise CourseError(
            f"{len(failed)} notebooks could not be run to their end: {', '.join(failed)}. See above why."
        )


def _report_table(report: Report) -> Table:
    late = ["after lateness"] if any(student.penalty for student in report.students) else []
    lines = table(report.assignment, "student", "status", "score", *late, "remarks")
    for student in report.students:
        nothing = student.status in ("missing", "unreadable") and not student.score
        points = "" if nothing else _points(student.score, student.max_score)
        remarks = [student.note, student.time_stamp, "" if student.before is None else _before(student)]
        cost = [_after_lateness(student)] if late else []
        cells = (
            student.id,
            student.status.replace("_", " "),
            points,
            *cost,
            "; ".join(filter(None, remarks)),
        )
        lines.add_row(*map(escape, cells))  # names and remarks may hold what rich takes for markup
    return lines


def _after_lateness(student: StudentReport) -> str:
    """What is left of the score, and what was taken off; empty where nothing was."""
    return f"{student.score - student.penalty:g} (−{student.penalty:g})" if student.penalty else ""


def _before(student: StudentReport) -> str:
    """What a regrade changed: the old score, and each item's."""
    old = student.before or {}
    changes = [
        f"{item.id} {_score(old.get(item.id))} → {_score(item.score)}"
        for item in student.items
        if old.get(item.id) != item.score
    ]
    return f"Before: {student.score_before:g} ({', '.join(changes)})."


def _score(score: float | None) -> str:
    return "waits" if score is None else f"{score:g}"


def _demo_table(problem_set: str, rows: tuple[DemoRow, ...]) -> Table:
    lines = table(f"{problem_set}: the sample class", "student", "handed in", "score", "predicted", "why")
    for row in rows:
        predicted = f"{row.student.predicted:g}" if row.as_predicted else f"[red]{row.student.predicted:g}[/]"
        points = _points(row.report.score, row.report.max_score)
        lines.add_row(row.student.id.removeprefix("student-"), row.student.title, points, predicted, row.why)
    return lines


def _points(score: float, max_score: float) -> str:
    return f"{score:g} / {max_score:g}"


def _places(course: Course, workspace: Path) -> list[tuple[str, str]]:
    return [
        ("book", shown(course.build / "html" / "index.html")),
        ("exercises", shown(course.exercises / course.language)),
        ("gradebook", f"cd {shown(workspace)} && jupyter lab, then the menu Nbgrader > Formgrader"),
        ("a class", f"{shown(workspace)}/gradebook.csv and submissions.zip, to rehearse a term with"),
    ]
