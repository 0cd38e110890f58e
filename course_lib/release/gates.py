"""What has to hold before a term's material is handed out: each gate says in a few words what it looked at."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from course_lib.course import Course, CourseError, some_of
from course_lib.release.leaks import files_in, find_leaks, private_of
from course_lib.release.link_check import look_at_links
from course_lib.release.notebooks import stale

Progress = Callable[[str], None]


def require_up_to_date(course: Course) -> str:
    """The gate on staleness: exercises are what the solutions give now."""
    found = stale(course, course.problem_sets)
    if found:
        raise CourseError(f"The gate 'staleness' does not pass: {some_of(found)}. Run: course release")
    return f"{len(course.problem_sets)} problem sets up to date"


def require_tests(course: Course, gate: str, file: str, tested: str) -> str:
    """A gate that is a file of tests: of the bank in solutions/, of both languages' parity in book/."""
    if not (course.root / file).is_file():
        raise CourseError(f"The gate '{gate}' does not pass: {file} is missing. Put it back and try again.")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", file]
    done = subprocess.run(command, cwd=course.root, capture_output=True, text=True, check=False)
    if done.returncode:
        failed = re.findall(r"^(?:FAILED|ERROR) (.*)$", done.stdout, re.M)
        failed = failed or [done.stderr.strip()[-200:] or "no test was run"]
        raise CourseError(
            f"The gate '{gate}' does not pass: {some_of(failed)}. Correct {tested}, and see: pytest {file}"
        )
    counted = re.search(r"(\d+) passed", done.stdout)
    return f"{counted[1] if counted else 0} tests passed"


def require_links(site: Path, address: str = "") -> str:
    """The gate on links: whatever a page of the site points to within the site is there.

    `address` is where the site will be published, "" where that is unknown.
    """
    looked = look_at_links(site, address)
    if looked.broken:
        raise CourseError(
            f"The gate 'links' does not pass: {some_of(looked.broken)}. Correct these in book/ and try again."
        )
    return f"{looked.links} links on {looked.pages} pages"


def require_no_leak(course: Course, folder: Path, progress: Progress) -> str:
    """The gate on leaks: nothing private in any file below the folder that is about to be published."""
    files = [*files_in(folder)]
    found = find_leaks(private_of(course), files, progress=progress)
    if found:
        raise CourseError(
            f"The gate 'leaks' does not pass: {some_of(map(str, found))}. Take these out and try again."
        )
    return f"{len(files)} files read, nothing found"
