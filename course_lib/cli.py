"""The command `course`: build the book, release problem sets, grade a class, and all of it once as a demo.

Every command says what it did and what to do next. Bad input is answered with one sentence and exit code 1.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

from course_lib import cli_people
from course_lib._terminal import bar, console, shown, table
from course_lib.course import Course, CourseError, find_course, some_of

if TYPE_CHECKING:
    from course_lib.grading.report import Report, StudentReport
    from course_lib.release.demo import DemoRow

# What a command needs beyond this is loaded when it runs, so that --help answers at once.

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
        where = f"{error.filename}: " if error.filename else ""
        remedy = "Check the place and its permissions, and try again."
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            place = "there" if where else "on the disk, for temporary files, too"
            remedy = f"Make room {place}. What was finished stays; the same command goes on from there."
        _fail(f"{where}{error.strerror or error}. {remedy}")
    except Exception as error:
        if not type(error).__module__.startswith("sqlalchemy."):
            raise
        reason = str(error).splitlines()[0]
        _fail(
            f"The gradebook can't be read or written: {reason}. Wait for whatever else works with it, or make room on "
            "the disk. What was recorded stays; the same command goes on from there."
        )
    sys.exit(code or 0)


def _command_of(error: Any) -> str:
    return f"course {error.ctx.info_name}" if error.ctx and error.ctx.parent else "course"


def _fail(sentence: str) -> None:
    print(f"course: {sentence}", file=sys.stderr)
    sys.exit(1)


@app.callback()
def _course() -> None:
    """Scaled Dot-Product Attention as a course: its book, its problem sets and their grading."""


@app.command()
def build(
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Print it too, by the Chromium or Chrome of this machine.")
    ] = False,
    links: Annotated[
        bool, typer.Option("--links", help="Look up every link, place and picture within the book.")
    ] = False,
    online: Annotated[
        bool, typer.Option("--online", help="Ask other hosts for what the book links to.")
    ] = False,
) -> None:
    """Build the book into _build/html, in both languages.

    Every cell is executed, unless nothing has changed since.
    """
    course = find_course()
    _build_book(course)
    if links:
        _look_at_links(course)
    if online:
        _ask_hosts(course)
    places = [(f"book, {name}", shown(path)) for name, path in _editions(course).items()]
    if pdf:
        places += [(f"PDF, {name}", shown(path)) for name, path in _print_book(course).items()]
    _say_where(places)
    print("Next: course serve shows it while you write; or put the folder _build/html on any web server.")


@app.command()
def serve(
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port of this machine; 0 is any free one.")
    ] = 8000,
) -> None:
    """Show the book on this machine, built anew at every change.

    Only this machine can reach it. Ctrl+C ends it.
    """
    from course_lib.release.serve import serve_book

    course = find_course()
    serve_book(course, port, partial(print, flush=True))


@app.command()
def release(
    problem_sets: Annotated[
        list[str] | None, typer.Argument(metavar="PS", help="Problem sets: ps1; all, if none is named.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; say whether exercises/ is up to date.")
    ] = False,
    kits: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write PS-LANGUAGE.zip there, which students get."),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Run every gate, then write the term's site, kits and manifest there."
        ),
    ] = None,
    term: Annotated[
        str | None, typer.Option(metavar="TERM", help="The term of the bundle: 2027-spring.")
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Prove a bundle, or a kit in one, against its manifest."),
    ] = None,
) -> None:
    """Derive exercises/ from solutions/.

    These are the notebooks and data that students get.
    """
    if verify is not None:
        _verify_bundle(verify)
        return
    course = find_course()
    names = _require_problem_sets(course, problem_sets)
    if bundle is not None:
        _write_bundle(course, term, bundle)
        return
    if check:
        _check_exercises(course, names)
        return
    _release(course, names)
    if kits is not None:
        _write_kits(course, names, kits)
        return
    print(f"Next: hand out {shown(course.exercises)}, and later: course grade {names[0]} --submitted DIR")


@app.command("new-task")
def new_task(
    problem_set: Annotated[str, typer.Argument(metavar="PS", help="The problem set: ps1.")],
    name: Annotated[str, typer.Argument(metavar="TASK", help="The function that students write: row_sums.")],
    add: Annotated[bool, typer.Option("--add", help="Add it first, as a scaffold.")] = False,
) -> None:
    """Add a task to a problem set, or say what one still lacks.

    Without --add nothing is written.
    """
    from course_lib.release.new_task import missing, scaffold

    course = find_course()
    if add:
        for path in scaffold(course, problem_set, name):
            print(f"Added {name} to {shown(path)}.")
    lacking = missing(course, problem_set, name)
    for line in lacking:
        print(f"lacking {line}")
    if lacking:
        print(f"Next: write what is lacking, then again: course new-task {problem_set} {name}")
    else:
        print(f"Next: course release {problem_set}, then: pytest tests/test_bank.py -k {name}")


@app.command()
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
    cli_people.save_report(course, report, json)
    _say_what_is_in_doubt(report)
    _say_what_waits(report)


@app.command()
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
        cli_people.pack(course, problem_set, to, out)


@app.command()
def demo() -> None:
    """Run all of it once, with a sample class.

    Builds the book, releases the problem sets, and grades the first one for a class whose scores are known beforehand.
    """
    _require_forks()
    from course_lib.release.demo import demo_workspace, grade_sample

    course = find_course()
    _build_book(course)
    names = _require_problem_sets(course, None)
    _release(course, names)
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
    _say_where(_places(course, demo_workspace(course)))
    if surprises:
        raise CourseError(
            f"{len(surprises)} scores differ from what the bank predicts: {', '.join(surprises)}. "
            "Correct the tests or the predictions in solutions/."
        )


@app.command()
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


cli_people.add_to(app)


@app.command()
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


def _build_book(course: Course) -> None:
    from course_lib.release.site import build_site

    with bar("Building the book, every cell executed"):
        site = build_site(course)
    print(f"Book: built in {site.seconds:.0f} s." if site.rebuilt else "Book: up to date.")


def _editions(course: Course) -> dict[str, Path]:
    from course_lib.release.site import editions_of

    return {edition.language: edition.html / "index.html" for edition in editions_of(course)}


def _print_book(course: Course) -> dict[str, Path]:
    from course_lib.release.pdf import build_pdf

    with bar("Printing the book"):
        return build_pdf(course)


def _look_at_links(course: Course) -> None:
    from course_lib.release.link_check import look_at_links

    looked = look_at_links(course.build / "html", course.address("ko"))
    _require_none(looked.broken, "links within the book are broken")
    print(f"Links: {looked.links} on {looked.pages} pages lead where they say.")


def _ask_hosts(course: Course) -> None:
    from course_lib.release.link_check import ask_hosts

    with bar("Asking other hosts"):
        asked = ask_hosts(course)
    for line in (*asked.moved, *asked.unanswered):
        print(f"Link: {line}")
    _require_none(asked.gone, "links lead to what is gone")
    print(f"Links to other hosts: {asked.there} are there, {len(asked.unanswered)} gave no answer.")


def _require_none(found: list[str], what: str) -> None:
    if found:
        raise CourseError(f"{len(found)} {what}: {some_of(found, 9)}. Correct them in book/ and build again.")


def _require_problem_sets(course: Course, names: list[str] | None) -> list[str]:
    for name in names or []:
        course.require_problem_set(name)
    if not course.problem_sets:
        raise CourseError(
            f"There is no problem set in {course.solutions}. Add one as solutions/NAME/tasks.py."
        )
    return names or course.problem_sets


def _release(course: Course, names: list[str]) -> None:
    from course_lib.release.notebooks import release

    for name in names:
        with bar(f"Releasing {name}"):
            done = release(course, name)
        folders = " and ".join(shown(folder) for folder in done.folders)
        print(f"Released {name}: {done.tasks} tasks, {done.points:g} points, in {folders}.")


def _write_bundle(course: Course, term: str | None, folder: Path) -> None:
    from course_lib.release.bundle import write_bundle

    with bar("Making the bundle:") as progress:
        done = write_bundle(course, term, folder, progress)
    for gate, said in done.gates.items():
        print(f"Gate {gate}: {said}.")
    print(f"Bundle: {done.files} files in {shown(done.folder)}; SHA-256 of its manifest {done.digest}")
    print("Next: publish site/, students/ and public/; keep instructor/ to yourselves.")


def _verify_bundle(folder: Path) -> None:
    from course_lib.release.bundle import verify

    with bar("Reading the bundle"):
        found, digest = verify(folder)
    if found:
        raise CourseError(f"{folder} is not what its manifest says: {some_of(found, 9)}.")
    print(f"{shown(folder)} is what its manifest says; SHA-256 of the manifest {digest}")


def _write_kits(course: Course, names: list[str], folder: Path) -> None:
    from course_lib.release.kit import write_kits

    for path in write_kits(course, names, folder):
        print(f"Kit: {shown(path)}")
    print("Next: hand each student one of them; README.txt in it says how to begin.")


def _check_exercises(course: Course, names: list[str]) -> None:
    from course_lib.release.notebooks import stale

    with bar("Deriving the exercises again"):
        found = stale(course, names)
    if found:
        raise CourseError(f"{'; '.join(found)}. Run: course release")
    print(f"exercises/ is up to date: {', '.join(names)}.")


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


def _say_where(places: list[tuple[str, str]]) -> None:
    print("Open:")
    for name, place in places:
        print(f"  {name:10} {place}")
