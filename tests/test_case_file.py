"""The file beside a notebook: what is written into it is what is read."""

import dataclasses
import io
import random

import numpy as np
import pytest
from double_task import TASK, X, double

from course_lib.checks import Outcome, agree, judge, read_cases, save_cases


def test_save_cases_and_read_cases_are_inverse(tmp_path):
    path = tmp_path / "cases.npz"
    save_cases(path, [TASK])
    (task,) = read_cases(path).tasks
    assert [field.name for field in dataclasses.fields(task)]
    assert (task.name, task.required, task.parts, task.hints) == ("double", ("x",), TASK.parts, TASK.hints)
    assert judge(task, double).points == 3
    assert judge(task, lambda x, plus=0: 3 * x + plus).mistakes == ["tripled"]
    with np.load(path, allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (X / 3, np.float32),
        (np.array([1e300, np.nan, np.inf]), np.float64),  # beyond float32
        (np.array([np.nan, -np.inf, 0.1]), np.float32),
        (2 * X + 1e-9, np.float64),  # the right value, whose bytes are there
    ],
)
def test_save_cases_keeps_a_mistake_in_half_of_the_bytes_where_that_says_the_same(tmp_path, given, kept):
    case = dataclasses.replace(TASK.cases[0], mistakes={"tripled": Outcome(given)})
    save_cases(tmp_path / "cases.npz", [dataclasses.replace(TASK, cases=(case,))])
    (task,) = read_cases(tmp_path / "cases.npz").tasks
    found = task.cases[0].mistakes["tripled"]
    assert found.value.dtype == kept
    assert agree(found, Outcome(given), rtol=1e-7, atol=1e-8)


def test_save_cases_gives_the_same_bytes_each_time(tmp_path):
    for name in ("a.npz", "b.npz"):
        save_cases(tmp_path / name, [TASK])
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("content", [None, b"", b"not a zip file", b"PK\x03\x04 broken"])
def test_read_cases_says_that_the_file_is_missing_or_damaged(tmp_path, content):
    path = tmp_path / "cases.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cases\.npz .*Copy it from the exercise's folder again"):
        read_cases(path)


def test_read_cases_reads_what_is_damaged_or_says_so(tmp_path):
    """Cut off, with other bytes in it, or with a text that says something else: never another error."""
    path, others = tmp_path / "cases.npz", random.Random(1)
    save_cases(path, [TASK])
    whole = path.read_bytes()
    damaged = [whole[:end] for end in range(0, len(whole), 37)]
    for _ in range(500):
        changed = bytearray(whole)
        changed[others.randrange(len(whole))] = others.randrange(256)
        damaged.append(bytes(changed))
    for text in (
        "",
        "[]",
        "5",
        "[" * 10_000,
        '{"library": "9", "modules": [], "problem_set": "", "tasks": [5]}',
    ):
        file = io.BytesIO()
        np.savez(file, tasks=np.frombuffer(text.encode(), np.uint8))
        damaged.append(file.getvalue())
    refused = []
    for content in damaged:
        path.write_bytes(content)
        try:
            read_cases(path)
        except ValueError as error:
            refused.append(str(error))
    assert all("can't be read" in said for said in refused)
    assert len(refused) > 300
