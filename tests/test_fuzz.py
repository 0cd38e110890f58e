"""Damage by chance to valid notebooks: intake gives a notebook or a sentence, in bounded time and memory, always."""

from __future__ import annotations

import copy
import json
import os
import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mini import DOUBLE, hand_in
from submission_case import Case

from course_lib.course import Course
from course_lib.grading.intake import MAX_BYTES, Missing, Unreadable, stage, submissions_in
from course_lib.grading.intake import parse_submission as parse
from course_lib.grading.notebook import text_of
from course_lib.grading.repair import repair
from course_lib.grading.run import grade

SEED, COUNT = 20_270_301, 2_200
Damage = Callable[[random.Random, bytes], bytes]

ODD = [
    None, True, False, 0, -1, 2**63, 1.5, float("nan"), float("inf"),
    "", "x", "\ud800", "\udfff\ud83d", "\x00", "\u202e",
    "a" * 100_000, [], {}, [[]], [{}], {"": {}}, [None] * 100, {"cells": []},
    {"nbgrader": None}, {"nbgrader": {"grade_id": []}}, {"grade_id": "double", "grade": True, "points": "many"},
    "double", "why", "../../etc/passwd", "😀" * 100,
]  # fmt: skip


@pytest.fixture(scope="module")
def seeds(course: Course) -> list[bytes]:
    """Valid notebooks: with and without outputs, and of format 3."""
    import nbformat

    case = Case(course, course.root, "nobody")
    notebook = case.answered()
    full = case.answered()
    full.cells.append(case.code("1"))
    full.cells[-1].outputs = [
        nbformat.v4.new_output("display_data", data={"image/png": "AAAA", "text/plain": "1"}),
        nbformat.v4.new_output("stream", name="stderr", text="a\n" * 10),
    ]
    full.cells[0].attachments = {"a.png": {"image/png": "AAAA"}}
    old = nbformat.v3.writes_json(nbformat.convert(copy.deepcopy(notebook), 3))
    return [case.bytes_of(notebook), case.bytes_of(full), old.encode()]


def bytes_flipped(rng: random.Random, content: bytes) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 2, 10, 100])):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def piece_moved(rng: random.Random, content: bytes) -> bytes:
    """A piece cut out, doubled or put elsewhere."""
    start, end = sorted(rng.randrange(len(content)) for _ in range(2))
    rest = content[:start] + content[end:]
    place = rng.randrange(len(rest) + 1)
    piece = content[start:end] * rng.choice([0, 1, 2])
    return rest[:place] + piece + rest[place:]


def ending_changed(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))] + rng.randbytes(rng.choice([0, 1, 1000]))


def encoded_otherwise(rng: random.Random, content: bytes) -> bytes:
    encoding = rng.choice(["utf-16", "utf-32", "utf-8-sig", "utf-7", "cp949"])
    return content.decode().encode(encoding, errors="replace")


def parts_changed(rng: random.Random, content: bytes) -> bytes:
    """Parts of the JSON removed, doubled or made something else."""
    tree = json.loads(content)
    for _ in range(rng.choice([1, 2, 5, 20])):
        holder = rng.choice(list(_holders(tree)))
        if not holder:
            continue
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        do = rng.randrange(4)
        if do == 0:
            del holder[key]
        elif do == 1:
            holder[key] = copy.deepcopy(rng.choice(ODD))
        elif do == 2 and isinstance(holder, list):
            holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
        else:
            holder[key] = copy.deepcopy(rng.choice(list(_holders(tree))))
    return json.dumps(tree).encode()


def cells_shuffled(rng: random.Random, content: bytes) -> bytes:
    tree = json.loads(content)
    cells = tree["cells"] if "cells" in tree else tree["worksheets"][0]["cells"]
    cells[:] = rng.choices(cells, k=rng.randrange(2 * len(cells)))
    return json.dumps(tree).encode()


def names_scrambled(rng: random.Random, content: bytes) -> bytes:
    tree = json.loads(content)
    cells = tree["cells"] if "cells" in tree else tree["worksheets"][0]["cells"]
    metadata = [cell.get("metadata", {}) for cell in cells]
    rng.shuffle(metadata)
    for cell, given in zip(cells, metadata, strict=True):
        cell["metadata"] = given if rng.random() < 0.8 else rng.choice(ODD)
        cell["id"] = rng.choice([cell.get("id"), rng.choice(ODD), "double", "why"])
        cell["cell_type"] = rng.choice([cell["cell_type"]] * 5 + ["code", "markdown", "raw", "heading"])
    return json.dumps(tree).encode()


def deep(rng: random.Random, content: bytes) -> bytes:
    depth = rng.choice([10, 500, 5_000, 100_000])
    inner = b'{"a":' * depth + b"1" + b"}" * depth if rng.random() < 0.5 else b"[" * depth + b"]" * depth
    return content.replace(b'"metadata": {', b'"metadata": {"deep": ' + inner + b", ", 1)


DAMAGES: list[Damage] = [
    bytes_flipped, piece_moved, ending_changed, encoded_otherwise, parts_changed, cells_shuffled, names_scrambled, deep,
]  # fmt: skip


def _holders(tree: Any) -> Any:
    """All objects and lists in a JSON tree."""
    if isinstance(tree, dict | list):
        yield tree
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _holders(part)


def damaged(number: int, seeds: list[bytes]) -> bytes:
    """The notebook of that number: the same in every run."""
    rng = random.Random(f"{SEED}/{number}")
    content = rng.choice(seeds)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        try:
            content = rng.choice(DAMAGES)(rng, content)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            content = bytes_flipped(rng, content or b"{")  # what an earlier damage left is no JSON
    return content


def taken_in(content: bytes, released: Any) -> str:
    """What intake makes of a file: "read", or the sentence. Anything else that happens is a failure of the test."""
    try:
        notebook = repair(parse("mini.ipynb", content), released)
    except Unreadable as sentence:
        said = str(sentence)
        assert said.startswith("mini.ipynb ")
        assert said.isprintable()
        assert len(said) < 500
        return said
    text_of(notebook).encode()  # valid, and it can be written
    graded = [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert len(graded) == len(set(graded))
    assert {"double", "mean", "why"} <= set(graded)
    return "read"


def test_intake_gives_a_notebook_or_a_sentence(seeds: list[bytes], released: Any) -> None:
    results = []
    for number in range(COUNT):
        start = time.process_time()
        try:
            results.append(taken_in(damaged(number, seeds), released))
        except BaseException as error:
            error.add_note(f"notebook {number} of seed {SEED}")
            raise
        assert time.process_time() - start < 10, f"notebook {number} of seed {SEED}"
    share = results.count("read") / len(results)
    assert 0.2 < share < 0.8, "damage that always, or never, destroys a notebook tests little"
    assert len(set(results)) > 50


@pytest.mark.slow
def test_no_damage_costs_another_student(course: Course, seeds: list[bytes], tmp_path: Path) -> None:
    """A class of damaged notebooks, with honest work between them."""
    submitted, honest = tmp_path / "handed-in", []
    for number in range(60):
        path = submitted / f"damaged-{number:02}" / "mini" / "mini.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(damaged(number, seeds))
        if number % 10 == 0:
            honest.append(f"honest-{number:02}")
            hand_in(course, submitted, honest[-1], double_solution=DOUBLE)
    report = grade(course, "mini", submitted, tmp_path / "workspace")
    students = {student.id: student for student in report.students}
    assert len(students) == 66
    assert {name: students[name].score for name in honest} == dict.fromkeys(honest, 3.0)
    assert {student.status for student in report.students} <= {"graded", "needs_marking", "unreadable"}


# Too much of everything


def cells(count: int) -> bytes:
    cell = b'{"cell_type":"raw","metadata":{},"source":""}'
    return b'{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[' + b",".join([cell] * count) + b"]}"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (lambda: cells(6_000), "it has 6000 cells, more than the 5000 that are read"),
        (lambda: cells(700_000), "it holds far more than a notebook does; clear its outputs"),
        (lambda: b"[[]" + b",[]" * 10**7, "it holds far more than a notebook does"),
        (lambda: b'{"a":' * 10**6, "it is nested too deeply"),
        (lambda: b"[" * (20 * 2**20), "it holds far more than a notebook does"),
        (lambda: b'{"nbformat":' + b"9" * 10**6 + b"}", "not a valid notebook"),
        (lambda: b'{"nbformat": 1e999, "cells": []}', "it says no version"),
        (lambda: b"\x00" * 10**7, "damaged"),
    ],
)
def test_intake_says_that_it_is_too_much(content: Callable[[], bytes], sentence: str) -> None:
    start = time.process_time()
    with pytest.raises(Unreadable) as caught:
        parse("mini.ipynb", content())
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 500
    assert time.process_time() - start < 20


@pytest.mark.parametrize("size", [MAX_BYTES + 1, 100 * 2**20, 10 * 2**40])
def test_stage_does_not_read_a_file_that_is_too_large(
    course: Course, released: Any, tmp_path: Path, size: int
) -> None:
    path = hand_in(course, tmp_path / "handed-in", "student-001")
    os.truncate(path, size)  # a hole: 10 TB that take no room
    [submission] = submissions_in(tmp_path / "handed-in", "mini")
    tracemalloc.start()
    try:
        with pytest.raises(Unreadable, match=r"MB, more than the 32 MB that are read; clear its outputs"):
            stage(submission, "mini", released, tmp_path / "staged" / "mini.ipynb")
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_stage_takes_one_line_of_many_megabytes(course: Course, released: Any, tmp_path: Path) -> None:
    case = Case(course, tmp_path / "handed-in", "student-001")
    case.write(case.answered(why="x" * (10 * 2**20)))
    [submission] = submissions_in(tmp_path / "handed-in", "mini")
    stage(submission, "mini", released, tmp_path / "staged" / "mini.ipynb")
    assert (tmp_path / "staged" / "mini.ipynb").stat().st_size > 10 * 2**20


@pytest.mark.parametrize(
    "name", ["mini.ipynb\n", "a\x1b[31m.ipynb", "\u202emini.ipynb", "x" * 240 + ".ipynb"]
)
def test_a_sentence_holds_no_odd_file_name(course: Course, released: Any, tmp_path: Path, name: str) -> None:
    case = Case(course, tmp_path, "student-001")
    case.write_bytes(b"{", name=name)
    [submission] = submissions_in(tmp_path, "mini")
    with pytest.raises((Unreadable, Missing)) as caught:
        stage(submission, "mini", released, tmp_path / "staged" / "mini.ipynb")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
