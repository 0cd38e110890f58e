"""Builds the book: every chapter executed, no warning let through, no stale number left standing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from course_lib.course import LANGUAGES, Course, CourseError

STATE_FILE = "book-state.json"
LOG_FILE = "book.log"
# Sphinx's warnings, and the last line of the traceback of a cell that failed.
WARNING = re.compile(r"(^|: )(WARNING|ERROR|CRITICAL): |^\w*(Error|Exception|Warning): ")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
SHOWN_WARNINGS = 5
MADE = {".pyc", ".mo"}  # files that appear beside their sources

# Runs in a process of its own: Sphinx changes global state, and its output goes to the log.
BUILD = """
import sys
from jupyter_book.sphinx import build_sphinx
from sphinx.util.console import nocolor
nocolor()
source, output, doctrees, config, toc = sys.argv[1:]
overrides = {"external_toc_path": toc, "latex_individualpages": False}
result = build_sphinx(source, output, noconfig=True, path_config=config, doctreedir=doctrees,
                      confoverrides=overrides, warningiserror=True, keep_going=True)
sys.exit(0 if result == 0 else 1)
"""
# The first import on a machine writes to stderr, which would fail the first chapter with a picture.
WARM_UP = "import matplotlib.font_manager"


@dataclass(frozen=True)
class SiteReport:
    """Where the book lies, whether it had to be built, and how long that took in seconds."""

    pages: dict[str, Path]
    rebuilt: bool
    seconds: float
    log: Path


@dataclass(frozen=True)
class _Edition:
    """One language of the book: its source tree and where its pages go."""

    language: str
    source: Path
    html: Path
    doctrees: Path

    @property
    def settings(self) -> tuple[Path, Path]:
        return self.source / "_config.yml", self.source / "_toc.yml"


def build_site(course: Course) -> SiteReport:
    """The book in every language that has a source tree, built as far as something changed.

    Where the code behind the pages changed, everything is executed anew; where a chapter changed, that chapter.
    CourseError where a cell fails or the build warns: the warnings in short, and the path of the whole log.
    """
    started = time.monotonic()
    editions = _editions(course)
    log = course.build / LOG_FILE
    state = _state(course, editions)
    rebuilt = not _is_built(course, editions, state)
    if rebuilt:
        _remove_stale(course, state)
        _write_state(course, {"code": state["code"]})  # until the build has succeeded
        log.write_text("", encoding="utf-8")
        for edition in editions:
            _build(course, edition, log)
        _write_state(course, state)
    pages = {edition.language: edition.html / "index.html" for edition in editions}
    return SiteReport(pages=pages, rebuilt=rebuilt, seconds=time.monotonic() - started, log=log)


def _editions(course: Course) -> list[_Edition]:
    """Korean lies at the root of the course, other languages in their folder of `book/`."""
    html, doctrees = course.build / "html", course.build / ".doctrees"
    editions = [_Edition("ko", course.root, html, doctrees / "ko")]
    for language in LANGUAGES:
        source = course.root / "book" / language
        if language != "ko" and (source / "_config.yml").is_file():
            editions.append(_Edition(language, source, html / language, doctrees / language))
    for path in (file for edition in editions for file in edition.settings):
        if not path.is_file():
            raise CourseError(f"The book needs {path}, which is missing. Restore that file and build again.")
    return editions


# What the pages depend on


def _state(course: Course, editions: list[_Edition]) -> dict[str, str]:
    """Digests of what decides the results of cells, the make of every page, and the text of single pages."""
    root = course.root
    code = [*_files(root / "course_lib"), root / "requirements.lock"]
    text = [path for language in LANGUAGES for path in _files(root / "book" / language)]
    make = [*_files(root / "book" / "theme"), *(path for edition in editions for path in edition.settings)]
    names = [path.relative_to(root).as_posix() for path in text]
    return {
        "code": _digest(course, code, f"Python {sys.version}", f"torch {_version('torch')}"),
        "make": _digest(course, make, *names),
        "text": _digest(course, text),
    }


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in MADE)


def _digest(course: Course, files: Iterable[Path], *facts: str) -> str:
    digest = hashlib.sha256("\0".join(facts).encode())
    for path in files:
        name = path.relative_to(course.root).as_posix()
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"\0{name}\0{hashlib.sha256(content).hexdigest()}".encode())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


# What the last build left


def _is_built(course: Course, editions: list[_Edition], state: dict[str, str]) -> bool:
    return _read_state(course) == state and all(
        (edition.html / "index.html").is_file() for edition in editions
    )


def _remove_stale(course: Course, state: dict[str, str]) -> None:
    """Results go where the code changed; pages go there too, and where their make changed or a build failed.

    (Sphinx doesn't repeat the warnings of a page that it has read in a build that failed.)
    """
    last = _read_state(course)
    course.build.mkdir(exist_ok=True)
    if last.get("code") != state["code"]:
        shutil.rmtree(course.build / ".jupyter_cache", ignore_errors=True)
    if any(last.get(key) != state[key] for key in ("code", "make")):
        shutil.rmtree(course.build / "html", ignore_errors=True)
        shutil.rmtree(course.build / ".doctrees", ignore_errors=True)


def _read_state(course: Course) -> dict[str, str]:
    try:
        state = json.loads((course.build / STATE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _write_state(course: Course, state: dict[str, str]) -> None:
    (course.build / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")


# Building


def _build(course: Course, edition: _Edition, log: Path) -> None:
    arguments = [edition.source, edition.html, edition.doctrees, *edition.settings]
    with log.open("a", encoding="utf-8") as file:
        _run(course, ["-c", WARM_UP], file.fileno())
        status = _run(course, ["-c", BUILD, *map(str, arguments)], file.fileno())
    if status != 0:
        raise CourseError(
            f"The book ({edition.language}) could not be built: {_warnings(course, log)} "
            f"Correct that and build again; the whole log is {log}."
        )


def _run(course: Course, arguments: list[str], output: int) -> int:
    """The exit status of this Python with the course's own course_lib first, as its kernels find it too."""
    environment = os.environ | {"PYTHONPATH": str(course.root), "PYTHONUTF8": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=course.root, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False
    ).returncode


def _warnings(course: Course, log: Path) -> str:
    """The first warnings of a log, in one line."""
    lines = COLOUR.sub("", log.read_text(encoding="utf-8", errors="replace")).splitlines()
    found = [line.strip().replace(f"{course.root}{os.sep}", "") for line in lines if WARNING.search(line)]
    if not found:
        return f"{lines[-1].strip() if lines else 'no output'}."
    more = f" (and {len(found) - SHOWN_WARNINGS} more)" if len(found) > SHOWN_WARNINGS else ""
    return "; ".join(dict.fromkeys(found[:SHOWN_WARNINGS])) + more + "."
