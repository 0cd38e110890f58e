"""Submissions that are alike: a list to look at, never a verdict.

Winnowing (Schleimer, Wilkerson, Aiken 2003) over Python's tokens, with names made equal. What was handed out and what
many wrote counts for nothing, since short tasks have few right answers.
"""

from __future__ import annotations

import hashlib
import io
import keyword
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from course_lib.course import Course, CourseError
from course_lib.grading.notebook import read_notebook
from course_lib.grading.workspace import open_workspace

Progress = Callable[[int, int, str], None]

TOKENS = 12  # in one fingerprint
LONGEST = 200_000  # characters of a submission that are looked at: no answer needs a tenth of them
WINDOW = 4  # of fingerprints, of which one is kept
LEAST = 0.5  # share of the shorter one's fingerprints from which a pair is listed
_LEAST_SHARED = 6
_SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """Two students, how many fingerprints they share that few others have, and which part of the shorter that is."""

    first: str
    second: str
    shared: int
    share: float
    same: tuple[str, ...]  # answers that are the same letter by letter, comments included


@dataclass(frozen=True)
class Similarity:
    """Of how many submissions, and the pairs that are most alike."""

    assignment: str
    submissions: int
    pairs: tuple[Pair, ...]

    def as_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return asdict(self)


def similar_in(
    course: Course,
    problem_set: str,
    *,
    most: int = 50,
    progress: Progress = lambda done, total, student: None,
) -> Similarity:
    """The pairs of graded submissions that are most alike, at most so many."""
    course.require_problem_set(problem_set)
    place = open_workspace(course, course.root)
    paths = sorted(place.root.glob(f"autograded/*/{problem_set}/{problem_set}.ipynb"))
    if not paths:
        raise CourseError(f"{problem_set} has not been graded here. Run: course grade {problem_set}")
    released = read_notebook(course.released(problem_set))
    given = {cell.source for cell in released.cells}
    known = fingerprints(cell.source for cell in released.cells if cell.cell_type == "code")
    answers: dict[str, dict[str, str]] = {}
    prints: dict[str, set[int]] = {}
    for done, path in enumerate(paths, start=1):
        student = path.parent.parent.name
        answers[student] = _answers(read_notebook(path), given)
        prints[student] = fingerprints(answers[student].values()) - known
        progress(done, len(paths), student)
    return Similarity(problem_set, len(paths), tuple(alike(prints, answers)[:most]))


def alike(prints: dict[str, set[int]], answers: dict[str, dict[str, str]]) -> list[Pair]:
    """The pairs with much in common, most first; what more than a tenth of a class has (3 to 20) counts for nothing."""
    few = min(20, max(3, len(prints) // 10))
    owners: dict[int, list[str]] = {}
    for student, marks in prints.items():
        for mark in marks:
            owners.setdefault(mark, []).append(student)
    rare = {mark: students for mark, students in owners.items() if len(students) <= few}
    size = Counter(student for students in rare.values() for student in students)
    shared = Counter(pair for students in rare.values() for pair in combinations(sorted(students), 2))
    pairs = []
    for (first, second), count in shared.items():
        share = count / min(size[first], size[second])
        if count >= _LEAST_SHARED and share >= LEAST:
            pairs.append(
                Pair(first, second, count, share, _same(answers.get(first, {}), answers.get(second, {})))
            )
    return sorted(
        pairs, key=lambda pair: (-len(pair.same), -pair.share, -pair.shared, pair.first, pair.second)
    )


def fingerprints(sources: Iterable[str]) -> set[int]:
    """The fingerprints of pieces of Python: of each window of hashes of TOKENS tokens the smallest."""
    kept: set[int] = set()
    left = LONGEST
    for source in sources:
        words = _tokens(source[:left])
        left -= min(left, len(source))
        grams = [" ".join(words[start : start + TOKENS]) for start in range(len(words) - TOKENS + 1)]
        hashes = [
            int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=8).digest(), "big") for gram in grams
        ]
        kept |= {min(hashes[start : start + WINDOW]) for start in range(max(0, len(hashes) - WINDOW + 1))}
    return kept


def _tokens(source: str) -> list[str]:
    """The tokens that say what is computed: names of one's own all alike, comments and layout left out."""
    words: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in _SILENT:
                continue
            own = token.type == tokenize.NAME and not keyword.iskeyword(token.string)
            attribute = own and words[-1:] == ["."]
            words.append(
                "name" if own and not attribute else "text" if token.type == tokenize.STRING else token.string
            )
    except (tokenize.TokenError, SyntaxError):  # half-written code: what there is before it
        pass
    return words


def _answers(notebook: Any, given: set[str]) -> dict[str, str]:
    """The code that a student wrote, by cell; what was handed out is left out."""
    written = {}
    for place, cell in enumerate(notebook.cells):
        metadata = cell.metadata.get("nbgrader", {})
        if (
            cell.cell_type == "code"
            and cell.source not in given
            and (metadata.get("solution") or not metadata)
        ):
            written[metadata.get("grade_id", f"cell {place}")] = cell.source
    return written


def _same(first: dict[str, str], second: dict[str, str]) -> tuple[str, ...]:
    return tuple(
        name.removesuffix("-solution")
        for name, source in first.items()
        if name in second and len(source) > 40 and source.strip() == second[name].strip()
    )
