"""Feedback ready to upload: one zip in which each page lies where the LMS looks for it, or a zip for each student."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from course_lib.course import Course, CourseError
from course_lib.grading.files import write_private
from course_lib.grading.gradebook import gradebook_of
from course_lib.grading.receipts import read_receipts
from course_lib.people.forget import remember

To = Literal["canvas", "moodle", "folder"]

_ENDING = {"canvas": "_", "moodle": "_assignsubmission_file_"}


@dataclass(frozen=True)
class Packed:
    """How many pages were packed, and of whom the LMS's name of the submission isn't known."""

    pages: int
    unknown: tuple[str, ...]


def pack_feedback(course: Course, problem_set: str, to: To, out: Path) -> Packed:
    """Packs feedback/STUDENT/PROBLEM_SET/PROBLEM_SET.html of everybody.

    Canvas and Moodle know a page by the name under which they gave the submission, which `course collect` has kept;
    each shows it to its student alone. "folder" makes out/STUDENT.zip, closed to all but their owner.
    """
    pages = _pages(course, problem_set)
    remember(course, out)
    if to == "folder":
        return _pack_each(pages, problem_set, out)
    with gradebook_of(course) as gradebook:
        receipts = read_receipts(gradebook, problem_set)
    places = {
        student: receipts[student].place
        for student in pages
        if student in receipts and _is_of(to, receipts[student].place)
    }
    if not places:
        raise CourseError(
            f"No submission of {problem_set} is known to have come from {to}. Take its zip in first: "
            f"course collect {problem_set} FILE.zip --from {to}"
        )
    name = f"/{problem_set}.html" if to == "moodle" else f"{problem_set}.html"
    _write(out, {f"{place}{name}": pages[student] for student, place in places.items()})
    return Packed(len(places), tuple(sorted(set(pages) - set(places))))


def _pages(course: Course, problem_set: str) -> dict[str, bytes]:
    """Each student's own page: a file, no link, in the student's own folder."""
    course.require_problem_set(problem_set)
    found = {}
    for path in sorted(course.root.glob(f"feedback/*/{problem_set}/{problem_set}.html")):
        if not any(part.is_symlink() for part in (path, path.parent, path.parent.parent)):
            found[path.parent.parent.name] = path.read_bytes()
    if not found:
        raise CourseError(f"There is no feedback on {problem_set}. Run: course feedback {problem_set}")
    return found


def _is_of(to: To, place: str) -> bool:
    moodle = place.endswith(_ENDING["moodle"])
    return bool(place) and moodle == (to == "moodle")


def _pack_each(pages: dict[str, bytes], problem_set: str, out: Path) -> Packed:
    if out.is_file():
        raise CourseError(f"{out} is a file. Give a folder.")
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    out.chmod(0o700)
    for student, page in pages.items():
        _write(out / f"{student}.zip", {f"{problem_set}.html": page})
    return Packed(len(pages), ())


def _write(out: Path, members: dict[str, bytes]) -> None:
    """A zip with the same bytes for the same pages."""

    def fill(draft: Path) -> None:
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(members):
                archive.writestr(zipfile.ZipInfo(name), members[name], zipfile.ZIP_DEFLATED)

    write_private(out, fill)
