"""Korean particles behind English words and formulas, and how Korean sentences are joined.

A word is read in one way, so it takes one kind of particle everywhere. A formula is read to its end: the last letter,
or square and power (제곱), say which kind. No space stands before a particle.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = ("book/ko/*.md", "book/figures/*.js", "solutions/*/*", "course_lib/**/*.py")
AFTER_A_CONSONANT = {*"은이을과", "으로", "이다"}
# The word, what closes code or emphasis around it, and a particle that no other syllable follows.
WORD = re.compile(r"([A-Za-z]{2,})[`*\"']{0,2} ?([은는이가을를과와다]|으로|로|이다)(?![가-힣])")


def test_an_english_word_takes_one_kind_of_particle() -> None:
    texts = [
        path.read_text(encoding="utf-8") for pattern in TEXTS for path in ROOT.glob(pattern) if path.is_file()
    ]
    assert not contradictions(texts)


def test_contradictions_finds_a_word_that_is_read_in_two_ways() -> None:
    assert contradictions(["shape는 그대로입니다. mask가", "`shape` 은 바뀝니다. mask는"]) == {
        "shape": {"는", "은"}
    }
    assert contradictions(["mask는 가린다. 이것도 mask이다."]) == {"mask": {"는", "이다"}}
    assert contradictions(["shape으로 broadcast됩니다. shape는, 그리고 model은 model로"]) == {
        "shape": {"으로", "는"}
    }


PATHS = sorted(
    {path for pattern in TEXTS for path in ROOT.glob(pattern) if path.suffix in {".md", ".py", ".js"}}
)
SPACED = re.compile(
    r"(?:[A-Za-z0-9_)\]∞²ᵀ…`$]|</code>) (?:은|는|이|가|을|를|의|에|에는|에서|도|와|과|만|까지|처럼|으로|로"
    r"|인|일|이고|이면|이며|입니다|이다)(?=[\s,.:;)<]|$)"
)
# Between two sentences; a list, a formula or code may follow one.
JOINED = re.compile(r"[다요까]: [^:.?\n<\"]*[다요까][.?]")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_korean_is_spaced_and_joined_as_it_is_written(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [match[0] for pattern in (SPACED, JOINED) for match in pattern.finditer(text)] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`q` 는 배열입니다.", True),
        ("합이 1 이 아닙니다.", True),
        ("$c^2$ 으로 나눕니다.", True),
        ("답은 하나입니다: 나누세요.", True),
        ("`q`는 배열이고 합이 1이 아닙니다.", False),
        ("네 연산을 씁니다: Score, Softmax.", False),
        (":::{admonition} 이 장에서", False),
    ],
)
def test_spaced_and_joined_find_what_is_not_korean(text: str, wrong: bool) -> None:
    assert bool(SPACED.search(text) or JOINED.search(text)) is wrong


@pytest.mark.parametrize("path", sorted(ROOT.glob("book/ko/*.md")), ids=lambda path: path.stem)
def test_the_copula_is_short_after_a_vowel(path: Path) -> None:
    """수다 and not 수이다, as vector다; 차이다 is 차이 with the short one."""
    found = re.finditer(r"(?!차이다)([가-힣])이다(?=[\s.,)|])", path.read_text(encoding="utf-8"))
    assert [match[0] for match in found if (ord(match[1]) - ord("가")) % 28 == 0] == []


def contradictions(texts: Iterable[str]) -> dict[str, set[str]]:
    """The words that stand before particles of both kinds, each with its particles."""
    particles: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        for word, particle in WORD.findall(text):
            particles[word.lower()].add(particle)
    return {word: found for word, found in particles.items() if differ(found)}


def differ(found: set[str]) -> bool:
    """Whether the particles are of both kinds; 로 follows a vowel or ㄹ, so it is of neither, but is no 으로."""
    sounds = found - {"로"}
    return sounds & AFTER_A_CONSONANT not in (set(), sounds) or {"으로", "로"} <= found


FORMULA = re.compile(r"(?<!\$)\$([^$]+)\$(은|는|이|가|을|를|과|와|으로|로)(?![가-힣])")
POWER = re.compile(r"(?:\^\{?\d|e\^\{[^}]*(?:\{[^}]*\}[^}]*)*)$")  # the square of something, or a power of e
LAST = re.compile(r"([A-Za-z]+|\d)$")
WITH_A_CONSONANT = set("lmnrLMNR013678")  # as they are read: 엘, 엠, 엔, 알; 영, 일, 삼, 육, 칠, 팔
WITH_AN_L = set("lrLR178")  # takes 로, as a vowel does
WORDS_WITH_A_CONSONANT = {"up", "down", "model", "logit"}


@pytest.mark.parametrize("path", sorted(ROOT.glob("book/ko/*.md")), ids=lambda path: path.stem)
def test_a_particle_fits_the_end_of_the_formula_before_it(path: Path) -> None:
    found = FORMULA.finditer(path.read_text(encoding="utf-8"))
    assert [match[0] for match in found if not fits(match[1], match[2])] == []


@pytest.mark.parametrize(
    ("formula", "particle", "right"),
    [
        ("n_k", "는", True),
        ("n_k", "은", False),
        ("K^R", "을", True),
        ("K^R", "를", False),
        ("c^2", "으로", True),
        (r"e^{-m_i}", "을", True),
        (r"e^{-m_i}", "를", False),
        (r"W_{\mathrm{up}}", "과", True),
        ("QK^\\top", "와", True),
        ("d_{\\mathrm{model}}", "로", True),
        ("n=3", "으로", True),
    ],
)
def test_fits_reads_a_formula_to_its_end(formula: str, particle: str, right: bool) -> None:
    assert fits(formula, particle) is right


def fits(formula: str, particle: str) -> bool:
    """Whether the particle can follow the formula; True where how it is read isn't plain."""
    end = formula.rstrip("}|)] ")
    power = POWER.search(end)
    last = LAST.search(end)
    if not power and (last is None or end[: last.start()].endswith("\\") or "/" in end):
        return True  # ends in a sign or a command, or is read backwards
    word = last[1] if last else ""
    consonant = bool(power) or (
        word[-1] in WITH_A_CONSONANT if len(word) == 1 else word in WORDS_WITH_A_CONSONANT
    )
    if particle in ("으로", "로"):
        return (particle == "으로") is (consonant and (bool(power) or word[-1] not in WITH_AN_L))
    return (particle in AFTER_A_CONSONANT) is consonant
