"""The commands for problem sets: release, new-task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli.terminal import bar, shown
from course_lib.course import Course, CourseError, find_course, some_of


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
    names = require_problem_sets(course, problem_sets)
    if bundle is not None:
        _write_bundle(course, term, bundle)
        return
    if check:
        _check_exercises(course, names)
        return
    release_sets(course, names)
    if kits is not None:
        _write_kits(course, names, kits)
        return
    print(f"Next: hand out {shown(course.exercises)}, and later: course grade {names[0]} --submitted DIR")


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
        print(
            f"Next: course release {problem_set}, then: pytest tests/test_bank.py tests/test_bank_draws.py -k {name}"
        )


def require_problem_sets(course: Course, names: list[str] | None) -> list[str]:
    """These problem sets, or all, if none is named; CourseError where one is unknown, or there is none."""
    for name in names or []:
        course.require_problem_set(name)
    if not course.problem_sets:
        raise CourseError(
            f"There is no problem set in {course.solutions}. Add one as solutions/NAME/tasks.py."
        )
    return names or course.problem_sets


def release_sets(course: Course, names: list[str]) -> None:
    """Derives what students get of each, and says where it is."""
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
