"""The course that a command works on: where it lies and what its instructor has set."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from course_lib.deadlines import Deadlines, read_deadlines

SETTINGS_FILE = "course.toml"
LANGUAGES = ("ko", "en")
WORDS = ("language", "term", "time_zone", "repository", "site")
TABLES = ("released", "due", "late", "extensions")


class CourseError(Exception):
    """Bad input to a command: one sentence that says what is wrong, where, and what to do."""


def some_of(lines: Iterable[str], most: int = 5) -> str:
    """The first of many lines within a sentence, and how many more there are."""
    lines = list(lines)
    more = f" (and {len(lines) - most} more)" if len(lines) > most else ""
    return "; ".join(lines[:most]) + more


@dataclass(frozen=True)
class Course:
    """A checkout of the module, with the settings of `course.toml`."""

    root: Path
    language: str = "ko"
    term: str | None = None
    time_zone: str | None = None
    repository: str | None = None
    site: str | None = None
    deadlines: Deadlines = field(default_factory=Deadlines)

    @property
    def build(self) -> Path:
        return self.root / "_build"

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    @property
    def exercises(self) -> Path:
        return self.root / "exercises"

    @property
    def private(self) -> Path:
        """What belongs to this course's term alone and never enters version control: secret, state of grading."""
        return self.root / ".course"

    @property
    def nbgrader(self) -> Path:
        """The derived folders `source` and `release` in nbgrader's layout."""
        return self.build / "nbgrader"

    def released(self, problem_set: str) -> Path:
        """The notebook of a released set as students got it, in all its languages."""
        return self.nbgrader / "release" / problem_set / f"{problem_set}.ipynb"

    @property
    def problem_sets(self) -> list[str]:
        """The names of all that have a bank, in order."""
        return sorted(tasks.parent.name for tasks in self.solutions.glob("*/tasks.py"))

    def address(self, language: str) -> str:
        """Where the book of a language is published, with a slash at its end; "" where no site is set."""
        if self.site is None:
            return ""
        return self.site.rstrip("/") + ("/" if language == "ko" else f"/{language}/")

    def exercise_address(self, language: str, problem_set: str) -> str:
        """Where the files of an exercise can be fetched, with a slash at its end; "" where nothing says so.

        A repository on GitHub holds the public tree; without one, a bundle puts them into the site.
        """
        path = f"exercises/{language}/{problem_set}/"
        if name := self.on_github:
            return f"https://raw.githubusercontent.com/{name}/HEAD/{path}"
        return self.address("ko") + path if self.site else ""

    @property
    def on_github(self) -> str:
        """OWNER/NAME of the repository, where GitHub hosts it."""
        found = re.fullmatch(
            r"https?://(?:www\.)?github\.com/([^/]+/[^/]+?)(?:\.git)?/?", self.repository or ""
        )
        return found[1] if found else ""

    def require_problem_set(self, name: str) -> Path:
        """The folder of a problem set's solutions; CourseError where there is none of that name."""
        if name not in self.problem_sets:
            known = ", ".join(self.problem_sets) or "none"
            raise CourseError(
                f"No problem set {name!r} in {self.solutions} (there is: {known}). Give one of these names."
            )
        return self.solutions / name


def find_course(start: Path | None = None) -> Course:
    """The course around `start`, found upwards like a git repository; by default from COURSE_ROOT or from here."""
    start = (start or Path(os.environ.get("COURSE_ROOT") or Path.cwd())).resolve()
    for folder in (start, *start.parents):
        if (folder / SETTINGS_FILE).is_file():
            return read_course(folder)
    raise CourseError(
        f"No {SETTINGS_FILE} in {start} or any folder above it. Change into the course's folder and try again."
    )


def read_course(root: Path) -> Course:
    """The course in `root`, with its settings checked; CourseError names the setting that is wrong."""
    path = root / SETTINGS_FILE
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} is not valid TOML: {error}. Correct that place and try again.") from error
    tables = {key: settings.pop(key) for key in TABLES if key in settings}
    _require_words(path, settings)
    if settings.get("language", "ko") not in LANGUAGES:
        raise CourseError(
            f"{path}: language must be one of {', '.join(LANGUAGES)}, not {settings['language']!r}."
        )
    if "time_zone" in settings:
        _require_time_zone(path, settings["time_zone"])
    for key in ("repository", "site"):
        _require_address(path, key, settings.get(key))
    try:
        deadlines = read_deadlines(tables, settings.get("time_zone"))
    except ValueError as error:
        raise CourseError(f"{path}: {error}") from error
    return Course(root=root, deadlines=deadlines, **settings)


def without_people(text: str) -> str:
    """The text of a course.toml without its table of extensions, which names students: for whatever is handed out."""
    kept: list[str] = []
    skipping = False
    for line in text.splitlines(keepends=True):
        if header := re.match(r"\s*\[+\s*([^\]]*)\]", line):
            skipping = re.split(r"\s*\.", header[1].strip())[0].strip("\"'") == "extensions"
        elif re.match(r"\s*([\"']?)extensions\1\s*[.=]", line) and not any(
            re.match(r"\s*\[", before) for before in kept
        ):
            continue
        if not skipping:
            kept.append(line)
    return "".join(kept)


def _require_words(path: Path, settings: dict[str, object]) -> None:
    for key, value in settings.items():
        if key not in WORDS:
            raise CourseError(
                f"{path} sets {key!r}, which is unknown. Use one of: {', '.join(sorted({*WORDS, *TABLES}))}."
            )
        if not isinstance(value, str) or not value:
            raise CourseError(
                f"{path}: {key} must be a non-empty string, not {value!r}. Set it or leave the line out."
            )


def _require_address(path: Path, key: str, address: str | None) -> None:
    """They are written into pages and into what pip reads."""
    if address is not None and not re.fullmatch(r"https?://[\w.-]+(:\d+)?(/[\w.~%/-]*)?", address):
        raise CourseError(
            f"{path}: {key} must be an address such as https://example.org/course, not {address!r}."
        )


def _require_time_zone(path: Path, name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise CourseError(
            f"{path}: unknown time_zone {name!r}. Write a name such as 'Asia/Seoul'."
        ) from error
