"""Korean particles behind English words: each word is read in one way, so it takes one kind of particle everywhere."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXTS = ("book/ko/*.md", "book/figures/*.js", "solutions/*/*", "course_lib/**/*.py")
AFTER_A_CONSONANT = set("은이을과")
# The word, what closes code or emphasis around it, and a particle that no other syllable follows.
WORD = re.compile(r"([A-Za-z]{2,})[`*\"']{0,2} ?([은는이가을를과와])(?![가-힣])")


def test_an_english_word_takes_one_kind_of_particle() -> None:
    texts = [
        path.read_text(encoding="utf-8") for pattern in TEXTS for path in ROOT.glob(pattern) if path.is_file()
    ]
    assert not contradictions(texts)


def test_contradictions_finds_a_word_that_is_read_in_two_ways() -> None:
    assert contradictions(["shape는 그대로입니다. mask가", "`shape` 은 바뀝니다. mask는"]) == {
        "shape": {"는", "은"}
    }


def contradictions(texts: Iterable[str]) -> dict[str, set[str]]:
    """The words that stand before particles of both kinds, each with its particles."""
    particles: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        for word, particle in WORD.findall(text):
            particles[word.lower()].add(particle)
    return {
        word: found for word, found in particles.items() if found & AFTER_A_CONSONANT not in (set(), found)
    }
