"""A term's material in one folder: site, kits, public tree, and a manifest that proves them.

DIR/site, students and public may be published; instructor may not. Nothing is written unless every gate passes.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import course_lib
from course_lib.course import LANGUAGES, Course, CourseError
from course_lib.release import gates
from course_lib.release.kit import write_kits
from course_lib.release.leaks import files_in
from course_lib.release.notebooks import require_bank
from course_lib.release.pdf import build_pdf, find_browser
from course_lib.release.public_tree import copy_exercises, write_public_tree
from course_lib.release.teacher_kit import write_teacher_kits

MANIFEST = "manifest.json"
PACKAGES = ("numpy", "torch", "matplotlib", "jupyter-book", "sphinx", "nbgrader")
PASSING = {".doctrees", ".buildinfo", "*webpack-macros.html"}  # what Sphinx and its theme keep for themselves
Say = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Bundled:
    """Where a bundle lies, what its gates said, how many files it has, and the manifest's own SHA-256."""

    folder: Path
    gates: dict[str, str]
    files: int
    digest: str


def write_bundle(course: Course, term: str | None, folder: Path, progress: Say = lambda *_: None) -> Bundled:
    """Runs every gate and writes the bundle; CourseError names a gate that does not pass, and nothing is written."""
    term = _require_term(course, term)
    _require_place(course, folder)
    find_browser()  # before the minutes that the gates take
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".bundle-") as scratch:
        draft = Path(scratch) / "bundle"
        said = _fill(course, draft, progress)
        files = _digests(draft)
        text = json.dumps(_manifest(course, term, said, files), indent=2, ensure_ascii=False, sort_keys=True)
        (draft / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")
        if folder.exists():
            os.rename(folder, Path(scratch) / "before")  # it goes with the draft's folder
        os.rename(draft, folder)
    return Bundled(folder, said, len(files), _sha256(folder / MANIFEST))


def verify(place: Path) -> tuple[list[str], str]:
    """What differs between a bundle and its manifest, one line each; and the manifest's own SHA-256.

    Of a folder or a file in a bundle, a kit say, what differs there.
    """
    if not place.exists():
        raise CourseError(f"{place} does not exist. Give a bundle, or what lies in one.")
    folder = next((each for each in (place, *place.absolute().parents) if (each / MANIFEST).is_file()), place)
    path = folder / MANIFEST
    within = place.absolute().relative_to(folder.absolute())
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["files"]
        expected = {name: entry["sha256"] for name, entry in listed.items()}
    except (FileNotFoundError, NotADirectoryError):
        raise CourseError(
            f"There is no {MANIFEST} to prove {place} against. Give a bundle, or what lies in one."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CourseError(
            f"{path} is damaged, or no manifest of `course release --bundle`. Get the bundle again, or make it again."
        ) from None
    there = {name: entry["sha256"] for name, entry in _digests(folder).items() if name != MANIFEST}
    found = {name: f"{name} is missing" for name in sorted(expected.keys() - there.keys())}
    found |= {name: f"{name} is not in the manifest" for name in sorted(there.keys() - expected.keys())}
    both = sorted(expected.keys() & there.keys())
    found |= {name: f"{name} was altered" for name in both if expected[name] != there[name]}
    return [line for name, line in found.items() if Path(name).is_relative_to(within)], _sha256(path)


def _require_term(course: Course, term: str | None) -> str:
    term = term or course.term
    if term is None:
        raise CourseError("Which term? Give --term 2027-spring, say, or set term in course.toml.")
    if course.term not in (None, term):
        raise CourseError(
            f"course.toml says term {course.term!r}, not {term!r}. Correct the one or the other."
        )
    return term


def _require_place(course: Course, folder: Path) -> None:
    """A bundle may replace a bundle, and nothing else."""
    if folder.exists() and not (
        folder.is_dir() and ((folder / MANIFEST).is_file() or not any(folder.iterdir()))
    ):
        raise CourseError(f"{folder} holds something else than a bundle. Give a new folder.")
    if course.root.resolve().is_relative_to(folder.resolve()):
        raise CourseError(f"{folder} holds the course itself. Give a new folder.")


def _fill(course: Course, draft: Path, progress: Say) -> dict[str, str]:
    """Writes everything but the manifest; returns what the gates said."""
    said: dict[str, str] = {}

    def scan() -> str:
        return gates.require_no_leak(course, draft, lambda place: progress(number, len(steps), place))

    steps: list[tuple[str, Callable[[], str | None]]] = [
        ("staleness", lambda: gates.require_up_to_date(course)),
        ("bank", lambda: gates.require_tests(course, "bank", "tests/test_bank.py", "solutions/")),
        ("parity", lambda: gates.require_tests(course, "parity", "tests/test_parity.py", "book/")),
        ("the site", lambda: _copy_site(course, draft / "site")),
        ("links", lambda: gates.require_links(draft / "site", course.address("ko"))),
        ("kits", lambda: _write_kits(course, draft)),
        ("leaks", scan),
        ("instructors' kits", lambda: write_teacher_kits(course, draft / "instructor")),
    ]
    for number, (name, step) in enumerate(steps):
        progress(number, len(steps), name)
        answer = step()
        if answer is not None:
            said[name] = answer
    progress(len(steps), len(steps), "")
    return said


def _copy_site(course: Course, folder: Path) -> None:
    build_pdf(course)  # and the pages, where they are stale
    shutil.copytree(course.build / "html", folder, ignore=shutil.ignore_patterns(*PASSING))
    (folder / ".nojekyll").touch()  # or GitHub Pages leaves out _static, and with it every style


def _write_kits(course: Course, draft: Path) -> None:
    write_kits(course, course.problem_sets, draft / "students")
    write_public_tree(course, draft / "public")
    copy_exercises(course, draft / "site" / "exercises")


def _digests(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in files_in(folder)
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _manifest(course: Course, term: str, said: dict[str, str], files: dict[str, Any]) -> dict[str, Any]:
    versions = {"course_lib": course_lib.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return {
        "term": term,
        "languages": list(LANGUAGES),
        "versions": versions,
        "problem_sets": {name: _facts(course, name) for name in course.problem_sets},
        "gates": said,
        "files": files,
    } | ({"source_date_epoch": int(epoch)} if epoch else {})


def _facts(course: Course, name: str) -> dict[str, Any]:
    bank = require_bank(course.solutions / name)
    due = course.deadlines.due.get(name)
    zone = ZoneInfo(course.time_zone) if course.time_zone else None
    return {
        "points": bank.points,
        "tasks": {task.name: task.points for task in bank.tasks}
        | {written.name: written.points for written in bank.written},
    } | ({} if due is None else {"due": due.astimezone(zone).isoformat()})
