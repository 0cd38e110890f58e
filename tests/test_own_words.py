"""The book and the problem sets say what the lecture says in words of their own.

The lecture's text is not ours to hand out, so `lecture_runs.txt` holds checksums of runs of its letters (formulas,
spaces and marks left out), taken every STEP letters: whatever shares RUN + STEP - 1 letters with it shares one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUN, STEP = 13, 3
KOREAN = 6  # of a run's letters: names such as "Scaled Dot-Product Attention" are everybody's
LECTURE = set((ROOT / "tests" / "lecture_runs.txt").read_text(encoding="utf-8").split())
TEXTS = sorted([*(ROOT / "book" / "ko").glob("*.md"), *(ROOT / "solutions").glob("*/*.md")])


def runs(text: str, step: int = 1) -> Iterator[tuple[str, str]]:
    """Each run of letters that is Korean enough, with its checksum."""
    letters = re.sub(r"[^가-힣A-Za-z]", "", re.sub(r"\{[\w:-]+\}`|\$[^$]*\$", "", text)).lower()
    for start in range(0, len(letters) - RUN + 1, step):
        run = letters[start : start + RUN]
        if sum(letter >= "가" for letter in run) >= KOREAN:
            yield run, f"{crc32(run.encode()):08x}"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_text_shares_no_sentence_with_the_lecture(path: Path) -> None:
    lines = enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
    assert [(line, run) for line, text in lines for run, digest in runs(text) if digest in LECTURE] == []


@pytest.mark.parametrize("before", ["", "그리고 ", "말하자면, "])
def test_runs_find_a_sentence_within_another(before: str) -> None:
    sentence = "가중합은 어느 slot에서 무엇이 왔는지 알려 주지 않는다"
    known = {digest for _, digest in runs(sentence, STEP)}
    assert any(
        digest in known
        for _, digest in runs(f"{before}{{weight}}`가중합`은 어느 **slot**에서 무엇이 왔는지 안다.")
    )
    assert not any(
        digest in known for _, digest in runs("무엇이 어느 slot에서 왔는지 가중합은 알려 주지 않는다.")
    )
