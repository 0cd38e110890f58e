"""The leak scan: reads what is about to be published as an attacker would, and looks for what must not be there.

That is: lines of solutions, of mistakes and of everything else that a bank computes; hidden cells; model answers and
rubrics; the course's secret. Lines of code that the library or a cell of the book holds as well do not count.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import course_lib
from course_lib.course import LANGUAGES, Course
from course_lib.grading.bank import Bank, source_of
from course_lib.grading.secret import secret_path
from course_lib.release.cells import graded_source, solution_source
from course_lib.release.notebooks import require_bank
from course_lib.release.unwrap import Unreadable, encoded, members, normal, views, worth_reading

# Shorter lines (`return 2 * x`) stand everywhere and say nothing. A power of two: see _Finder.
SHORTEST = 16
FORBIDDEN_NAMES = re.compile(
    r"(^|/)(tasks\.py|([^/]*[^a-z/])?solutions?([^a-z/][^/]*)?|gradebook\.db[^/]*|secret|\.env|[^/]*\.pyc|"
    r"\.git|\.course|\.ipynb_checkpoints|submitted|autograded|feedback)(?=/|$)",
    re.IGNORECASE,
)
MARKERS = re.compile(r"(BEGIN|END)\s+(SOLUTION|HIDDEN\s+TESTS|MARK\s+SCHEME)", re.IGNORECASE)
DEEPEST = 8  # archives in archives, and what is encoded in them
CELL = re.compile(r"^```\{code-cell\}.*?^```$", re.DOTALL | re.MULTILINE)
SOLUTION = re.compile(r"### BEGIN SOLUTION.*?### END SOLUTION", re.DOTALL)
KEPT_METADATA = {"nbgrader", "deletable", "editable"}


@dataclass(frozen=True)
class Leak:
    """What stands where it must not."""

    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


@dataclass(frozen=True)
class Private:
    """What must not be published: texts in their normal form, each with what it is; and the secret's bytes."""

    texts: Mapping[str, str]
    secret: bytes | None = None


def private_of(course: Course) -> Private:
    """What is private in a course: all that its banks hold, but for lines of code that it publishes as well."""
    found: dict[str, str] = {}
    stubs = []
    for name in course.problem_sets:
        tasks = course.solutions / name / "tasks.py"
        bank = require_bank(tasks.parent)
        for kind, text in _texts_of(bank, tasks.read_text(encoding="utf-8-sig")):
            found.setdefault(text, f"{kind} ({name})")
        stubs += [SOLUTION.sub("", solution_source(task)) for task in bank.tasks]
        stubs += [graded_source(name, task.name).splitlines()[-1] for task in bank.tasks]
    public = normal("\n".join([*_public(course), *stubs]))
    texts = {text: kind for text, kind in found.items() if text not in public}
    texts |= {text: kind for kind, text in _long_ones([str(course.root)], "the path of the course's folder")}
    path = secret_path(course)
    if not path.is_file():
        return Private(texts)
    secret = path.read_bytes()
    return Private(texts | dict.fromkeys(_forms(secret), "the course's secret"), secret)


def find_leaks(
    private: Private,
    files: Iterable[tuple[str, bytes]],
    *,
    progress: Callable[[str], None] = lambda place: None,
) -> list[Leak]:
    """What the files (name, bytes) give away, each place and kind once, in their order."""
    scan = _Scan(private)
    found: dict[Leak, None] = {}
    for name, data in files:
        progress(name)
        found |= dict.fromkeys(Leak(place, what) for place, what in scan.file(name, data))
    return list(found)


def files_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, by its path there; of a link, where it leads."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield name, str(path.readlink()).encode()
        elif path.is_file():
            yield name, path.read_bytes()


# What is private


def _texts_of(bank: Bank, source: str) -> Iterator[tuple[str, str]]:
    for function in ast.parse(source).body:
        if isinstance(function, (ast.FunctionDef, ast.ClassDef)):
            yield from _lines(ast.get_source_segment(source, function) or "", f"a line of {function.name}")
    for task in bank.tasks:
        for mistake in task.mistakes:
            yield from _lines(source_of(mistake.function), f"a line of the mistake {mistake.name}")
        yield from _lines(graded_source(bank.name, task.name), f"the hidden cell of {task.name}")
    for written in bank.written:
        for kind, text in (("model answer", written.model_answer), ("rubric", written.rubric)):
            for language in LANGUAGES:
                sentences = re.split(r"(?<=[.!?:])\s+|\n", text.in_language(language))
                yield from _long_ones(sentences, f"the {kind} of {written.name}")


def _lines(source: str, kind: str) -> Iterator[tuple[str, str]]:
    """The lines of a function's body; where all are short, the whole body. Students get signatures and docstrings."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            last = node.body[0].end_lineno if ast.get_docstring(node) is not None else node.body[0].lineno - 1
            first = min(node.lineno, *(decorator.lineno for decorator in node.decorator_list), node.lineno)
            lines[first - 1 : last] = [""] * ((last or node.lineno) - first + 1)
    long_ones = list(_long_ones(lines, kind))
    yield from long_ones or _long_ones(["".join(lines)], kind)


def _long_ones(pieces: Iterable[str], kind: str) -> Iterator[tuple[str, str]]:
    for piece in pieces:
        text = normal(piece)
        if len(text) >= SHORTEST:
            yield kind, text


def _public(course: Course) -> Iterator[str]:
    """Code that is published: the library that runs, which goes into every kit, and the cells of the book.

    Not the book's prose: what stands in an alternative text or a comment there was not meant to be read.
    """
    for path in Path(course_lib.__file__).parent.rglob("*.py"):
        yield path.read_text(encoding="utf-8", errors="replace")
    for path in course.root.glob("book/**/*.md"):
        yield from CELL.findall(path.read_text(encoding="utf-8", errors="replace"))


def _forms(secret: bytes) -> Iterator[str]:
    """How one writes 32 bytes down."""
    encoders = (
        base64.b64encode,
        base64.urlsafe_b64encode,
        base64.b32encode,
        base64.b85encode,
        base64.a85encode,
    )
    for form in (*(encode(secret).decode().rstrip("=") for encode in encoders), secret.hex()):
        yield normal(form)
    yield ",".join(map(str, secret))


# Finding it


class _Scan:
    """One scan: what was read once (the library's wheel lies in every kit) is not read again."""

    def __init__(self, private: Private) -> None:
        self.find = _Finder(private.texts)
        self.secret = private.secret
        self.read: dict[bytes, list[tuple[str, str]]] = {}

    def file(self, name: str, data: bytes, depth: int = 0) -> Iterator[tuple[str, str]]:
        """What the name and the content of a file give away, and at which place."""
        for what in self.find.all_in(normal(name)):
            yield name, f"its name holds {what}"
        if FORBIDDEN_NAMES.search(name):
            yield name, "a file of that name is never published"
        key = hashlib.sha256(data).digest()
        if key not in self.read:
            self.read[key] = list(dict.fromkeys(self._content(data, depth)))
        yield from ((f"{name}{place}", what) for place, what in self.read[key])

    def _content(self, data: bytes, depth: int) -> Iterator[tuple[str, str]]:
        if self.secret and any(half in data for half in (self.secret[:16], self.secret[16:])):
            yield "", "the course's secret"
        if depth > DEEPEST:
            yield "", f"is packed more than {DEEPEST} times over: nobody can say what is in it"
            return
        try:
            for name, member in members(data):
                yield from self._under(" → ", self.file(name, member, depth + 1))
        except Unreadable as error:
            yield "", f"{error}: nobody can say what is in it"
        for view in views(data):
            yield from (("", what) for what in (*self.find.all_in(normal(view)), *_odd_notebook(view)))
            for inner in encoded(view):
                if worth_reading(inner):
                    yield from self._under(" → ", self.file("(encoded)", inner, depth + 1))
                elif self.secret and any(half in inner for half in (self.secret[:16], self.secret[16:])):
                    yield "", "the course's secret"

    def _under(self, joint: str, found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        yield from ((f"{joint}{place}", what) for place, what in found)


class _Finder:
    """Finds thousands of texts in megabytes: by a hash of every SHORTEST letters in a row, then letter for letter."""

    BITS = 20
    FACTOR = 0x9E3779B97F4A7C15

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.by_hash: dict[int, list[tuple[str, str]]] = {}
        for text, kind in texts.items():
            self.by_hash.setdefault(int(self._hashes(text[:SHORTEST])[0]), []).append((text, kind))
        self.table = np.zeros(1 << self.BITS, dtype=bool)
        for value in self.by_hash:
            self.table[value >> (64 - self.BITS)] = True

    def all_in(self, text: str) -> Iterator[str]:
        """What each of the texts is that stand in this one."""
        hashes = self._hashes(text)
        for position in np.flatnonzero(self.table[hashes >> np.uint64(64 - self.BITS)]).tolist():
            for private, kind in self.by_hash.get(int(hashes[position]), ()):
                if text.startswith(private, position):
                    yield kind

    def _hashes(self, text: str) -> np.ndarray:
        """A hash of the SHORTEST letters that begin at each place."""
        hashes = np.frombuffer(text.encode("utf-32-le", "replace"), dtype="<u4").astype(np.uint64)
        length, factor = 1, self.FACTOR
        while length < SHORTEST:
            if len(hashes) <= length:
                return np.zeros(0, dtype=np.uint64)
            hashes = hashes[:-length] * np.uint64(factor) + hashes[length:]
            length, factor = 2 * length, factor * factor % 2**64
        return hashes


def _odd_notebook(text: str) -> Iterator[str]:
    """What an exercise's notebook must not hold, whatever stands in it: outputs, attachments, other metadata."""
    if '"cells"' not in text or '"nbgrader"' not in text:
        return
    try:
        notebook = json.loads(text)
        cells = [(cell, cell["metadata"], "".join(cell["source"])) for cell in notebook["cells"]]
    except (ValueError, KeyError, TypeError):
        return
    for number, (cell, metadata, source) in enumerate(cells, start=1):
        yield from (f"cell {number} {fault}" for fault in _faults(cell, metadata, source))
    if other := set(notebook["metadata"]) - {"kernelspec", "language_info"}:
        yield f"the notebook's metadata hold {', '.join(sorted(other))}"


def _faults(cell: dict[str, Any], metadata: dict[str, Any], source: str) -> Iterator[str]:
    if cell.get("outputs") or cell.get("execution_count"):
        yield "has been run: it keeps outputs or a count"
    if cell.get("attachments"):
        yield "has an attachment"
    if other := set(metadata) - KEPT_METADATA:
        yield f"has metadata of its own: {', '.join(sorted(other))}"
    if marker := MARKERS.search(source):
        yield f"holds the marker {marker[0]}"
