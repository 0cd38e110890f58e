"""Builds the book in its languages: every chapter executed, no warning let through, no stale number left standing."""

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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from textwrap import shorten
from typing import Any

from course_lib.course import LANGUAGES, Course, CourseError, some_of

STATE_FILE = "book-state.json"
# Sphinx's warnings, and the last line of the traceback of a cell that failed.
WARNING = re.compile(r"(^|: )(WARNING|ERROR|CRITICAL): |^\w*(Error|Exception|Warning): ")
FAILED_CELL = "The cell that failed: "  # what sphinx_run.py writes before a cell's error, as JSON
SPHINX_RUN = Path(__file__).with_name("sphinx_run.py")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
SWITCH = '<a class="language"'  # book/theme/templates/language.html
SHOWN_LETTERS = 300
MADE = {".pyc", ".mo"}  # files that appear beside their sources

# The first import on a machine writes to stderr, which would fail the first chapter with a picture.
WARM_UP = "import matplotlib.font_manager"


@dataclass(frozen=True)
class SiteReport:
    """Where the book lies, whether it had to be built, and how long that took in seconds."""

    pages: dict[str, Path]
    rebuilt: bool
    seconds: float


@dataclass(frozen=True)
class Edition:
    """One language of the book: its source tree, where its pages go, and what is kept of a build."""

    language: str
    source: Path
    html: Path
    build: Path

    @property
    def settings(self) -> tuple[Path, Path]:
        """Jupyter Book's two files: what a build is like, and the order of the pages."""
        return self.source / "_config.yml", self.source / "_toc.yml"

    @property
    def doctrees(self) -> Path:
        """Where Sphinx keeps the pages that it has read."""
        return self.build / ".doctrees" / self.language

    @property
    def cache(self) -> Path:
        """Where the outputs of cells are kept from build to build."""
        return self.build / ".jupyter_cache" / self.language

    @property
    def executed(self) -> Path:
        """Where MyST-NB runs cells and puts down what failed."""
        return self.build / "jupyter_execute" / self.language

    @property
    def pdf(self) -> Path:
        return self.build / "html" / f"attention-{self.language}.pdf"

    @property
    def log(self) -> Path:
        return self.build / f"book-{self.language}.log"


def build_site(course: Course) -> SiteReport:
    """The book in every language that has a source tree, built as far as something changed.

    Where the code behind the pages changed, everything is executed anew; where a chapter changed, that chapter.
    CourseError where a cell fails or the build warns: the warnings in short, and the path of the whole log.
    """
    started = time.monotonic()
    editions = editions_of(course)
    state = _state(course, editions)
    _remove_stale(course, state)
    due = [edition for edition in editions if not _is_built(course, edition, state)]
    if due:
        _build_all(course, due, state)
    return SiteReport(
        pages={edition.language: edition.html / "index.html" for edition in editions},
        rebuilt=bool(due),
        seconds=time.monotonic() - started,
    )


def editions_of(course: Course) -> list[Edition]:
    """Korean lies at the root of the course, other languages in their folder of `book/`."""
    html = course.build / "html"
    editions = [Edition("ko", course.root, html, course.build)]
    for language in LANGUAGES:
        source = course.root / "book" / language
        if language != "ko" and (source / "_config.yml").is_file():
            editions.append(Edition(language, source, html / language, course.build))
    for path in (file for edition in editions for file in edition.settings):
        if not path.is_file():
            raise CourseError(f"The book needs {path}, which is missing. Restore that file and build again.")
    return editions


def link_pdf(edition: Edition) -> None:
    """Puts a link to the PDF before that to the other language, on each page that has none."""
    for page in edition.html.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if f'<html lang="{edition.language}" ' in text and edition.pdf.name not in text:
            address = Path(os.path.relpath(edition.pdf, page.parent)).as_posix()
            link = f'<a class="language" href="{address}" type="application/pdf">PDF</a>\n{SWITCH}'
            page.write_text(text.replace(SWITCH, link, 1), encoding="utf-8", newline="\n")


# What the pages depend on


def _state(course: Course, editions: list[Edition]) -> dict[str, str]:
    """Digests of what decides the results of cells, the make of every page, and the text of each language."""
    root = course.root
    code = [*_files(root / "course_lib"), root / "requirements.lock"]
    text = {edition.language: _files(root / "book" / edition.language) for edition in editions}
    settings = [path for edition in editions for path in edition.settings]
    make = [*_files(root / "book" / "theme"), *_files(root / "book" / "figures"), *settings]
    names = [path.relative_to(root).as_posix() for paths in text.values() for path in paths]
    return {
        "code": _digest(course, code, f"Python {sys.version}", f"torch {_version('torch')}"),
        "make": _digest(course, make, *names, course.repository or "", course.address("ko")),
        **{language: _digest(course, paths) for language, paths in text.items()},
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


def _is_built(course: Course, edition: Edition, state: dict[str, str]) -> bool:
    """Whether the pages of a language are those of its text, after what is stale has been removed."""
    same = _read_state(course).get(edition.language) == state[edition.language]
    return same and (edition.html / "index.html").is_file()


def _remove_stale(course: Course, state: dict[str, str]) -> None:
    """Results go where the code changed; pages go there too, and where their make changed."""
    last = _read_state(course)
    course.build.mkdir(exist_ok=True)
    if last.get("code") != state["code"]:
        shutil.rmtree(course.build / ".jupyter_cache", ignore_errors=True)
    if any(last.get(key) != state[key] for key in ("code", "make")):
        shutil.rmtree(course.build / "html", ignore_errors=True)
        shutil.rmtree(course.build / ".doctrees", ignore_errors=True)
        _write_state(course, {key: state[key] for key in ("code", "make")})


def _read_state(course: Course) -> dict[str, str]:
    try:
        state = json.loads((course.build / STATE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _write_state(course: Course, state: dict[str, str]) -> None:
    (course.build / STATE_FILE).write_text(json.dumps(state), encoding="utf-8", newline="\n")


# Building


def _build_all(course: Course, editions: list[Edition], state: dict[str, str]) -> None:
    """Builds side by side, as cells of one kernel leave processors idle; what has succeeded is noted even so."""
    _run(course, ["-c", WARM_UP], subprocess.DEVNULL)
    done = _read_state(course)
    for edition in editions:
        if done.pop(edition.language, None) is None:
            # Sphinx doesn't repeat the warnings of a page that it has read in a build that failed.
            shutil.rmtree(edition.doctrees, ignore_errors=True)
    _write_state(course, done)  # until a build has succeeded
    with ThreadPoolExecutor() as pool:
        succeeded = list(pool.map(lambda edition: _build(course, edition), editions))
    built = {e.language: state[e.language] for e, good in zip(editions, succeeded, strict=True) if good}
    _write_state(course, done | built)
    for edition in (edition for edition in editions if edition.language not in built):
        raise CourseError(
            f"The book ({edition.language}) could not be built: {failure_in(course, edition.log)} "
            f"Correct that and build again; the whole log is {edition.log}."
        )


def _build(course: Course, edition: Edition) -> bool:
    """Whether the build succeeded; Sphinx says why not in the log."""
    succeeded = run_sphinx(course, edition, "html", edition.html)
    if edition.pdf.is_file():
        link_pdf(edition)  # the pages that were written anew have lost it
    return succeeded


def run_sphinx(
    course: Course, edition: Edition, builder: str, output: Path, overrides: dict[str, Any] | None = None
) -> bool:
    """Whether this builder of Sphinx wrote an edition to `output`; its words go to the edition's log.

    `overrides` are further settings of Sphinx, by name.
    """
    config, toc = edition.settings
    settings = {
        "builder": builder,
        "source": str(edition.source),
        "output": str(output),
        "doctrees": str(edition.doctrees),
        "executed": str(edition.executed),
        "config": str(config),
        "overrides": {
            "external_toc_path": str(toc),
            "nb_execution_cache_path": str(edition.cache),
            "html_baseurl": course.address(edition.language),
            **(overrides or {}),
        },
    }
    with edition.log.open("w", encoding="utf-8") as file:
        return _run(course, ["-P", str(SPHINX_RUN), json.dumps(settings)], file.fileno()) == 0


def _run(course: Course, arguments: list[str], output: int) -> int:
    """The exit status of this Python with the course's own course_lib first, as its kernels find it too."""
    environment = os.environ | {"PYTHONPATH": str(course.root), "PYTHONUTF8": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=course.root, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False
    ).returncode


def failure_in(course: Course, log: Path) -> str:
    """Why a build failed, in one line: the cell that did, or else the first warnings of its log."""
    lines = COLOUR.sub("", log.read_text(encoding="utf-8", errors="replace")).splitlines()
    cells = [line.removeprefix(FAILED_CELL) for line in lines if line.startswith(FAILED_CELL)]
    if cells:
        return _about_cell(course, json.loads(cells[0]))
    found = [line.strip().replace(f"{course.root}{os.sep}", "") for line in lines if WARNING.search(line)]
    if not found:
        return f"{lines[-1].strip() if lines else 'no output'}."
    return some_of(dict.fromkeys(found)) + "."


def _about_cell(course: Course, failed: dict[str, Any]) -> str:
    page = Path(failed["page"])
    name = page.relative_to(course.root).as_posix() if page.is_relative_to(course.root) else str(page)
    line = f", line {failed['line']}" if failed["line"] else ""
    begins = f", which begins {failed['begins']!r}," if failed["begins"] else ""
    text = " ".join(COLOUR.sub("", failed["text"]).split())
    said = f": {shorten(text, SHOWN_LETTERS, placeholder=' …').rstrip('.')}" if text else ", without a text"
    return f"the cell at {name}{line}{begins} raised {failed['kind']}{said}."
