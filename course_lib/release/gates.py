"""What has to hold before a term's material is handed out: each gate says in a few words what it looked at."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from course_lib.course import Course, CourseError
from course_lib.release.leaks import files_in, find_leaks, private_of
from course_lib.release.notebooks import stale

SHOWN = 5
Progress = Callable[[str], None]


def require_up_to_date(course: Course) -> str:
    """The gate on staleness: exercises are what the solutions give now."""
    found = stale(course, course.problem_sets)
    if found:
        raise CourseError(f"The gate 'staleness' does not pass: {_some(found)}. Run: course release")
    return f"{len(course.problem_sets)} problem sets up to date"


def require_tests(course: Course, gate: str, file: str) -> str:
    """A gate that is a file of tests: of the bank, of both languages' parity."""
    if not (course.root / file).is_file():
        raise CourseError(f"The gate '{gate}' does not pass: {file} is missing. Put it back and try again.")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", file]
    done = subprocess.run(command, cwd=course.root, capture_output=True, text=True, check=False)
    if done.returncode:
        failed = re.findall(r"^(?:FAILED|ERROR) (.*)$", done.stdout, re.M)
        failed = failed or [done.stderr.strip()[-200:] or "no test was run"]
        raise CourseError(f"The gate '{gate}' does not pass: {_some(failed)}. See: pytest {file}")
    counted = re.search(r"(\d+) passed", done.stdout)
    return f"{counted[1] if counted else 0} tests passed"


def require_links(site: Path) -> str:
    """The gate on links: whatever a page of the site points to within the site is there."""
    pages = {path: _Page(path) for path in sorted(site.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        for link in sorted(page.links):
            where = urlsplit(link)
            if where.scheme or where.netloc:
                continue
            target = (path.parent / unquote(where.path)).resolve() if where.path else path
            target = target / "index.html" if target.is_dir() else target
            named = unquote(where.fragment)
            if not target.is_file() or (named and target in pages and named not in pages[target].names):
                broken.append(f"{path.relative_to(site)} → {link}")
    if broken:
        raise CourseError(
            f"The gate 'links' does not pass: {_some(broken)}. Correct these in book/ and try again."
        )
    return f"{sum(len(page.links) for page in pages.values())} links on {len(pages)} pages"


def require_no_leak(course: Course, folder: Path, progress: Progress) -> str:
    """The gate on leaks: nothing private in any file below the folder that is about to be published."""
    files = [*files_in(folder)]
    found = find_leaks(private_of(course), files, progress=progress)
    if found:
        raise CourseError(f"The gate 'leaks' does not pass: {_some(map(str, found))}. Nothing was written.")
    return f"{len(files)} files read, nothing found"


def _some(found: object) -> str:
    lines = list(found)  # type: ignore[call-overload]
    more = f" (and {len(lines) - SHOWN} more)" if len(lines) > SHOWN else ""
    return "; ".join(lines[:SHOWN]) + more


class _Page(HTMLParser):
    """What a page points to, and the names in it that one can point to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.names: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.names.update(found[name] for name in ("id", "name") if name in found)
        if "rel" in found and found["rel"] in ("canonical", "alternate"):
            return
        self.links.update(found[name] for name in ("href", "src") if name in found and tag != "base")
