"""The commands for people and dates: roster, collect, export, feedback for an LMS, report, forget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape

from course_lib.cli.terminal import bar, console, shown, table
from course_lib.course import Course, CourseError, find_course, some_of
from course_lib.grading.plain import printable

if TYPE_CHECKING:
    from rich.table import Table

    from course_lib.grading.report import AsJson
    from course_lib.people.collect import Collection


def roster(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV in UTF-8, UTF-16 or CP949.")],
    source: Annotated[
        Literal["canvas", "moodle", "csv"], typer.Option("--from", help="What gave the list.")
    ] = "csv",
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
    with bar("Reading the list"):
        done = import_roster(course, file, source, id_column=id_column)
    print(
        f"Class: {len(done.new)} new, {len(done.updated)} changed, {len(done.unchanged)} as they were; "
        f"ids from the column {done.id_column!r}."
    )
    for sentence in done.duplicates:
        print(f"Twice in the list, taken once: {sentence}.")
    if done.absent:
        print(f"In the gradebook and not in this list, left as they are: {', '.join(done.absent)}.")
    print(f"Next: course collect PS FILE.zip, for what they hand in ({shown(course.root / 'submitted')}).")


def collect(
    problem_set: Annotated[str, typer.Argument(metavar="PS", help="The problem set: ps1.")],
    file: Annotated[Path, typer.Argument(metavar="FILE.zip", help="All submissions, as the LMS gives them.")],
    source: Annotated[
        Literal["canvas", "moodle"] | None,
        typer.Option("--from", help="What gave the zip; by default, as its names look."),
    ] = None,
    times: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV", help="When each came: Moodle's grading worksheet, or a CSV with id and time."
        ),
    ] = None,
    received: Annotated[
        str | None, typer.Option(metavar="TIME", help="When all of them came, such as '2027-03-31 23:00'.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report there, too.")] = None,
) -> None:
    """Take in what students handed in through Canvas or Moodle.

    Writes submitted/STUDENT/PS/ with the time of each, and says who is missing and what belongs to nobody. What is the
    same as before keeps its time.
    """
    from course_lib.grading.report import require_writable
    from course_lib.people.collect import collect_zip

    course = find_course()
    if json is not None:
        require_writable(json)
    with bar("Taking in what came"):
        done = collect_zip(course, problem_set, file, source=source, times=times, received=received)
    if done.students:
        console().print(_collected_table(course, done))
    _say_of_collection(done)
    save_report(course, done, json)
    print(f"Next: course grade {problem_set}")


def _collected_table(course: Course, done: Collection) -> Table:
    rows = table(done.assignment, "student", "status", "received", "late", "file", "remarks")
    zone = ZoneInfo(course.time_zone or "UTC")
    for one in done.students:
        at = one.received.astimezone(zone).strftime("%Y-%m-%d %H:%M %Z") if one.received else ""
        late = str(one.late).split(".")[0] if one.late else ""
        cells = (one.student, one.status, at, late, printable(one.file), one.note or f"by {one.known_by}")
        rows.add_row(*map(escape, cells))
    return rows


def _say_of_collection(done: Collection) -> None:
    from course_lib.people.collect import JUST_LATE

    taken = sum(one.status in ("new", "replaced") for one in done.students)
    same = sum(one.status == "as before" for one in done.students)
    late = sum(bool(one.late) for one in done.students)
    print(f"Taken in: {taken}; as before: {same}; late: {late}; missing: {len(done.missing)}.")
    if vague := [one.student for one in done.students if one.known_by == JUST_LATE and one.late]:
        print(
            f"Late by Canvas's mark, which does not say how late, and counted as one second: {', '.join(vague)}. "
            "To count more, give a CSV with id and time: --times CSV"
        )
    if done.missing:
        print(f"Nothing came from: {', '.join(done.missing)}.")
    for name, reason in done.unmatched:
        print(f"Nobody's: {printable(name)} ({reason}).")
    if any("can have this name" in reason for _, reason in done.unmatched):
        print("To tell them apart, give what says whose each is: Moodle's grading worksheet after --times.")
    for name, reason in done.refused:
        print(f"Not taken: {printable(name)} ({reason}).")


def export(
    problem_set: Annotated[
        str, typer.Argument(metavar="PS|all", help="A problem set, or all that are graded.")
    ],
    to: Annotated[
        Literal["canvas", "moodle", "csv", "xlsx"],
        typer.Option(help="An LMS, or a table for yourself."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="By default in exports/, named for the set and the LMS."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Fill in what the LMS gave: Canvas's gradebook, or Moodle's grading worksheet.",
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the set is called in the LMS.")
    ] = None,
    missing_as_zero: Annotated[
        bool, typer.Option("--missing-as-zero", help="0 for who handed in nothing; by default empty.")
    ] = False,
) -> None:
    """Write marks for Canvas, Moodle or a spreadsheet.

    What waits for a person stays empty, or as the LMS has it. Late penalties are taken off.
    """
    from course_lib.people.export import export_marks

    course = find_course()
    names = _graded_sets(course) if problem_set == "all" else [problem_set]
    for name in names:
        course.require_problem_set(name)
    ending = "xlsx" if to == "xlsx" else "csv"
    out = _placed(course, out, f"{problem_set}-marks.{ending}" if to == ending else f"{problem_set}-{to}.csv")
    with bar("Writing the marks"):
        done = export_marks(course, names, to, out, into=into, column=column, missing_as_zero=missing_as_zero)
    print(f"Marks: {', '.join(names)} of {done.students} students, in {shown(out.absolute())}.")
    left = "Left empty" if to in ("csv", "xlsx") else "Left as the LMS has it"
    for sentence, listed in (
        (f"{left}, since a person has still to mark", done.waiting),
        (f"{left}, since nothing of theirs was graded", () if missing_as_zero else done.nothing),
        (f"{left}, since they are excused there", done.excused),
        ("In the LMS's file and not in the gradebook", done.unknown),
        ("The LMS has other points for", done.other_points),
    ):
        if listed:
            print(f"{sentence}: {some_of(map(printable, listed), 20)}.")
    if to == "canvas":
        print("Next: import it in Canvas: Grades, Import.")
    elif to == "moodle":
        place = "Grades, Import, CSV file" if into is None else "the assignment, Upload grading worksheet"
        print(f"Next: upload it in Moodle: {place}.")


def report(
    problem_set: Annotated[str, typer.Argument(metavar="PS", help="The problem set: ps1.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="By default exports/PS-report.html.")
    ] = None,
    names: Annotated[
        bool, typer.Option("--names", help="With each student's points: not to be shown.")
    ] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures there, too.")] = None,
) -> None:
    """Write a page on how a problem set went.

    Distribution, difficulty and discrimination of each item, most frequent mistakes. It names nobody.
    """
    from course_lib.grading.files import write_private
    from course_lib.grading.report import require_writable
    from course_lib.people.forget import remember
    from course_lib.people.report_page import report_page
    from course_lib.people.statistics import statistics_of

    course = find_course()
    if json is not None:
        require_writable(json)
    with bar("Counting"):
        found, marks = statistics_of(course, problem_set)
    by_student = {student: one.total for student, one in sorted(marks.students.items())} if names else None
    out = _placed(course, out, f"{problem_set}-report.html")
    page = report_page(found, course.language, by_student=by_student)
    write_private(out, lambda draft: draft.write_text(page, encoding="utf-8"))
    remember(course, out)
    save_report(course, found, json)
    rows = table(problem_set, "item", "points", "mean share", "all points", "discrimination")
    for item in found.items:
        discrimination = "" if item.discrimination is None else f"{item.discrimination:.2f}"
        shares = (f"{100 * item.difficulty:.0f} %", f"{100 * item.full:.0f} %") if item.marked else ("", "")
        rows.add_row(item.id, f"{item.points:g}", *shares, discrimination)
    console().print(rows)
    print(f"Report on {found.handed_in} submissions: {shown(out.absolute())}")


def similar(
    problem_set: Annotated[str, typer.Argument(metavar="PS", help="The problem set: ps1.")],
    most: Annotated[int, typer.Option(metavar="N", min=1, help="So many pairs at most.")] = 50,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the list there, too.")] = None,
) -> None:
    """List submissions that are alike, to be looked at.

    What was handed out and what many wrote counts for nothing. Short tasks have few right answers: this is no verdict.
    """
    from course_lib.grading.report import require_writable
    from course_lib.people.similar import similar_in

    course = find_course()
    if json is not None:
        require_writable(json)
    with bar(f"Reading {problem_set}") as progress:
        found = similar_in(course, problem_set, most=most, progress=progress)
    if found.pairs:
        rows = table(
            f"{problem_set}: to be looked at", "student", "and", "alike", "the same letter by letter"
        )
        for pair in found.pairs:
            rows.add_row(pair.first, pair.second, f"{100 * pair.share:.0f} %", ", ".join(pair.same))
        console().print(rows)
    print(
        f"Pairs to look at: {len(found.pairs)}, of {found.submissions} submissions. It is a list, not a verdict."
    )
    save_report(course, found, json)


def forget(
    term: Annotated[str, typer.Option(metavar="TERM", help="The term that course.toml names.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove a term's people and marks.

    Gradebook, submissions, executed notebooks, feedback, exports, extensions, and the lists and zips in the course's
    folder that were taken in. What lies elsewhere is named and stays; so does what you made for the course, with its
    secret.
    """
    from course_lib.people.forget import forget_term, found_of

    course = find_course()
    found = found_of(course, term)
    if not found:
        print("There is nothing of any student here.")
        return
    print(f"Of the term {term} there is:")
    for what, count in found.items():
        print(f"  {_told(course, what)}" if Path(what).is_absolute() else f"  {what}: {count}")
    if not yes and not typer.confirm("Remove all of it, for good?"):
        raise CourseError("Nothing was removed.")
    with bar("Removing"):
        done = forget_term(course, term)
    print(f"Removed: {', '.join(_told(course, what) for what in done.removed)}.")
    if done.elsewhere:
        print(f"Still there, outside the course's folder: {', '.join(map(str, done.elsewhere))}.")
    if done.left:
        raise CourseError(f"Students' ids still stand in {', '.join(done.left)}. Look into these files.")


def save_report(course: Course, report: AsJson, path: Path | None) -> None:
    """What --json asks for: the report for other programs, in a file that `course forget` knows of."""
    from course_lib.grading.report import write_json
    from course_lib.people.forget import remember

    if path is not None:
        write_json(report, path)
        remember(course, path)
        print(f"Report: {path}")


def _told(course: Course, what: str) -> str:
    """What there is, as `forget` lists it: a file by its place, and by whether it will stay."""
    path = Path(what)
    if not path.is_absolute():
        return what
    inside = path.resolve().is_relative_to(course.root.resolve())
    return shown(path) if inside else f"{what} (outside the course's folder: it stays)"


def _graded_sets(course: Course) -> list[str]:
    from course_lib.people.marks import graded_sets

    names = graded_sets(course)
    if not names:
        raise CourseError("Nothing has been graded here. Run: course grade PS")
    return names


def pack(
    course: Course, problem_set: str, to: Literal["canvas", "moodle", "folder"], out: Path | None
) -> None:
    """What `course feedback --to` does after the pages are written."""
    from course_lib.people.feedback_zip import pack_feedback

    out = _placed(course, out, f"{problem_set}-{'feedback' if to == 'folder' else f'{to}.zip'}")
    done = pack_feedback(course, problem_set, to, out)
    print(f"Packed: {done.pages} pages, in {shown(out.absolute())}.")
    if done.unknown:
        print(f"Not in it, since {to}'s name of their submission is not known: {', '.join(done.unknown)}.")
    if to != "folder":
        where = {
            "canvas": "the assignment, Upload Submissions",
            "moodle": "the assignment, Upload multiple feedback files in a zip",
        }
        print(f"Next: upload it in {where[to]}.")


def _placed(course: Course, out: Path | None, name: str) -> Path:
    """Where a file with marks goes: unless one says otherwise, into a folder that stays out of version control."""
    folder = course.root / "exports"
    out = out or folder / name
    if out.absolute().parent == folder:
        folder.mkdir(exist_ok=True)
    return out
