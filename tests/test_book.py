r"""Every number in the book is computed: change one digit of any of them, and this fails.

For authors:
- In prose a number comes from a cell: `glue("name", float(value), display=False)` in a cell tagged `remove-cell`, then
  {glue:text}`name:.2f` in the sentence. A digit typed in prose is refused; the few that are no result of
  anything (a reading time) stand in `ALLOWED`, with a reason.
- In a formula a number is typed, because glue does not work there. `tests/book_formulas/CHAPTER.py` recomputes it:
  `formulas(at)` gets the names that the chapter's cells have made and returns, in the chapter's order, every
  formula ($...$ or $$...$$) that contains a digit, as f-strings over computed values. Only single structural digits
  (an index, an exponent, the 1 of a probability) are typed there; `book_formulas/tex.py` writes numbers, rows and
  matrices. One file serves every language of the chapter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import matplotlib as mpl
import myst_nb
import numpy as np
import pytest

import course_lib

ROOT = Path(__file__).resolve().parents[1]
FORMULAS = ROOT / "tests" / "book_formulas"
CHAPTERS = sorted(path for path in (ROOT / "book").glob("*/*.md") if path.parent.name in ("ko", "en"))

# Pages to look something up in: text alone, without cells or numbers.
REFERENCE = {
    "api", "glossary", "references", "teaching", "term", "where-students-work", "settings", "new-task", "trouble",
}  # fmt: skip
# The first page has its numbers in a cell and in a figure, and the one on large classes has all of them from cells.
WITHOUT_DIGITS = {*REFERENCE, "index", "large-classes"}

# Digits in prose that no cell can give.
ALLOWED = {
    "ko": {
        "computation": {"약 35분": "reading time, an estimate"},
        "scaling": {"약 45분": "reading time, an estimate"},
        "worked-example": {"약 30분": "reading time, an estimate"},
        "heads": {"약 50분": "reading time, an estimate", "DeepSeek-V2": "a model's name"},
        "score-control": {
            "약 40분": "reading time, an estimate",
            "Gemma 3는 Gemma 2의 soft-cap을": "names of models",
            "Gemma 2는 attention의 score에": "a model's name",
            "Gemma 2는 scaling 뒤에 soft-cap을 쓰고, Gemma 3는 QK Norm": "names of models",
            "ViT-22B": "a model's name",
        },
        "attention-and-ffn": {
            "약 50분": "reading time, an estimate",
            "DeepSeek-V2": "a model's name",
            "Mixtral 8x7B": "a model's name",
            "Llama 2 7B": "a model's name",
            "Llama 3 8B": "a model's name",
            "bfloat16": "a dtype",
        },
        "long-sequences": {"약 60분": "reading time, an estimate"},
        "check": {"약 30분": "reading time, an estimate"},
    },
    "en": {
        "heads": {"DeepSeek-V2": "a model's name"},
        "score-control": {
            "Gemma 3 put it in place of the soft-cap of Gemma 2": "names of models",
            "Gemma 2 used": "a model's name",
            "Gemma 2 applies soft-cap after scaling, Gemma 3 applies scaling": "names of models",
        },
        "attention-and-ffn": {
            "DeepSeek-V2": "a model's name",
            "Mixtral 8x7B": "a model's name",
            "Llama 2 7B": "a model's name",
            "Llama 3 8B": "a model's name",
            "bfloat16": "a dtype",
        },
    },
}

# What the lecture prints, and the chapter where it stands.
LECTURE = {
    "computation": [
        r"\operatorname{Attention}(Q,K,V)=\operatorname{Softmax}_{\mathrm{keys}}\!\left(\frac{QK^\top}{\sqrt{d_k}}+M\right)V",
        r"S=QK^\top\quad(n_q\times n_k)",
        r"L=\frac{S}{\sqrt{d_k}}+M",
        r"A=\operatorname{Softmax}_{\mathrm{keys}}(L)",
        r"O=AV\quad(n_q\times d_v)",
        r"AV:\quad(n_q\times n_k)(n_k\times d_v)=n_q\times d_v",
        r"d_k=4",
        r"M=[0,0,-\infty]",
        r"[1.5,2,3]",
        r"[0.75,1,-\infty]",
        r"[0.44,0.56,0]",
        r"0.44v_1+0.56v_2",
    ],
    "scaling": [
        r"\mathbb{E}[q_i]=\mathbb{E}[k_i]=0",
        r"\operatorname{Var}(q_i)=\operatorname{Var}(k_i)=1",
        r"\operatorname{Var}(q\cdotk)=d_k",
        r"\operatorname{Var}\!\left(\frac{q\cdotk}{\sqrt{d_k}}\right)=1",
        r"d_k=64",
        r"[16,8,0]",
        r"\operatorname{Softmax}([16,8,0])\approx[0.9997,0.0003,\approx0]",
        r"[2,1,0]",
        r"\operatorname{Softmax}([2,1,0])\approx[0.665,0.245,0.090]",
        r"\frac{\partialp_i}{\partial\ell_i}=p_i(1-p_i)",
    ],
    "worked-example": [
        r"q=[1,0,1,0]",
        r"d_k=4",
        r"[2,0,1]",
        r"[1,0,0.5]",
        r"[0.51,0.19,0.31]",
        r"V=\begin{bmatrix}1&0\\0&1\\0.5&0.5\end{bmatrix}",
        r"d_v=2",
        r"0.51[1,0]=[0.51,0]",
        r"0.19[0,1]=[0,0.19]",
        r"0.31[0.5,0.5]\approx[0.15,0.15]",
        r"[0.66,0.34]",
        r"[0.993,0.00005,0.007]",
        r"q^\topk_i",
    ],
    "score-control": [
        r"frac{QK^\top}{\sqrt{d_k}}",
        r"\operatorname{Norm}(Q)",
        r"\operatorname{Norm}(K)",
        r"50\tanh(a/50)",
        r"(-50,50)",
    ],
    "attention-and-ffn": [
        r"4d^2",
        r"8d^2",
        r"8nd^2",
        r"4n^2d",
        r"16nd^2",
        r"d\to4d\tod",
    ],
    "check": [
        r"\begin{bmatrix}1&0&0.5\end{bmatrix}",
        r"\begin{bmatrix}0.51&0.19&0.31\end{bmatrix}",
        r"\begin{bmatrix}0.66&0.34\end{bmatrix}",
        r"4d^2",
        r"8d^2",
        r"8nd^2",
        r"4n^2d",
        r"16nd^2",
        r"50\tanh(a/50)",
        r"(-50,50)",
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Span:
    kind: str  # "code", "maths" or "prose"
    start: int
    text: str


def _name(path: Path) -> str:
    return path.relative_to(ROOT / "book").with_suffix("").as_posix()


@pytest.mark.parametrize("path", CHAPTERS, ids=_name)
def test_chapter_prints_only_computed_numbers(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8"), path) == []


@pytest.mark.parametrize("path", CHAPTERS, ids=_name)
def test_chapter_with_one_other_digit_is_refused(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    digits = [
        span.start + place
        for span in spans(text)
        if span.kind != "code"
        for place, letter in enumerate(span.text)
        if letter.isdigit()
    ]
    assert bool(digits) is (path.stem not in WITHOUT_DIGITS)
    for place in digits:
        mutant = f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}"
        assert problems(mutant, path), f"unnoticed at {mutant[place - 40 : place + 20]!r}"


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("chapter", LECTURE)
def test_chapter_has_every_formula_of_the_lecture(chapter: str, language: str) -> None:
    text = (ROOT / "book" / language / f"{chapter}.md").read_text(encoding="utf-8")
    printed = [re.sub(r"\s", "", span.text) for span in spans(text) if span.kind == "maths"]
    missing = [tex for tex in LECTURE[chapter] if not any(tex.replace(" ", "") in maths for maths in printed)]
    assert missing == []


@pytest.mark.parametrize("path", sorted(FORMULAS.glob("*.py")), ids=lambda path: path.stem)
def test_formulas_type_no_result(path: Path) -> None:
    """Decimals and longer numbers are computed; what is typed is one digit at a time."""
    constants = [
        node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)
    ]
    texts = [value for value in constants if isinstance(value, str) and "\n" not in value]
    assert [text for text in texts if re.search(r"\d\.?\d", text)] == []
    assert [value for value in constants if isinstance(value, float)] == []


@pytest.mark.parametrize("path", CHAPTERS, ids=_name)
def test_chapter_labels_every_heading(path: Path) -> None:
    """Without a label, a heading in Hangul gets an address such as `id1`."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"(.*)\n(#+ .*)", text)
    assert headings
    assert [heading for line, heading in headings if not re.fullmatch(r"\([\w-]+\)=", line)] == []


@pytest.mark.parametrize("path", CHAPTERS, ids=_name)
def test_shown_code_fits_between_the_sidebars(path: Path) -> None:
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)
    shown = [line for cell in cells if "[remove-cell]" not in cell for line in cell.split("\n")]
    texts = ("    caption:", "    alt:")  # of a picture
    assert [line for line in shown if len(line) > 80 and not line.startswith(texts)] == []


@pytest.mark.parametrize("path", CHAPTERS, ids=_name)
def test_chapter_says_what_failed(path: Path) -> None:
    """A build that stops at a bare assert helps nobody."""
    cells = [span.text for span in spans(path.read_text(encoding="utf-8")) if span.kind == "code"]
    asserts = [node for cell in cells for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Assert)]
    assert [ast.unparse(node) for node in asserts if node.msg is None] == []


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("합은 3이다.\n", True),
        ("합은 ³이다.\n", True),
        (":::{dropdown} 답 3\n답\n:::\n", True),
        ("```{code-cell}\n---\nmystnb:\n  figure:\n    caption: 그림 3\n---\nx = 1\n```\n", True),
        ("2. 둘째부터 센다.\n", True),
        ("1. 하나\n3. 셋\n", True),
        ("식 $3$은 계산되지 않았다.\n", True),
        ("$$\n3\n$$\n", True),
        ("1. 하나\n2. 둘\n", False),
        ("`x3`과 {glue:text}`value:.3f`, [글](chapter-3.md)\n", False),
        ("```{code-cell}\n:tags: [hide-cell]\nx = 3\n```\n", False),
        (":::{grid} 1 2 2 2\n:gutter: 3\n:::\n", False),
    ],
)
def test_problems_finds_typed_digits(text: str, refused: bool) -> None:
    assert bool(problems(text, ROOT / "book" / "ko" / "no-such-chapter.md")) is refused


@pytest.mark.parametrize("path", [path for path in CHAPTERS if path.stem == "glossary"], ids=_name)
def test_glossary_defines_every_term_once_in_one_sentence(path: Path) -> None:
    lists = re.findall(r"^:::\{glossary\}\n(.*?)^:::$", path.read_text(encoding="utf-8"), re.M | re.S)
    entries = [entry.split("\n") for block in lists for entry in block.strip().split("\n\n")]
    terms = [term for *names, _ in entries for term in names]
    assert terms
    assert sorted(terms) == sorted(set(terms))
    assert [entry for entry in entries if len(entry) != 3] == []  # a term, its translation, its definition
    assert [text for *_, text in entries if not re.fullmatch(r"  [^.]+\.", text)] == []


# Korean names that would be a second one for a term of the glossary; "지수" alone is an exponent.
SECOND_NAMES = re.compile(r"분산|독립|내적|지수(?! ?함수| 법칙)|(?<![가-힣])층")
BESIDE_THE_TERM = ("dot product(내적)", "독립(independent)", "모든 지수가 $0$ 이하이므로")


@pytest.mark.parametrize("path", [path for path in CHAPTERS if path.parent.name == "ko"], ids=_name)
def test_korean_chapter_calls_a_thing_by_one_name(path: Path) -> None:
    if path.stem == "glossary":
        return
    text = path.read_text(encoding="utf-8")
    for beside in BESIDE_THE_TERM:
        text = text.replace(beside, "")
    assert [line for line in text.split("\n") if SECOND_NAMES.search(line)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "solutions").glob("*/*.*")), ids=lambda path: path.name)
def test_problem_set_calls_a_thing_as_the_chapters_do(path: Path) -> None:
    second = re.compile(r"분산|내적|벡터|전치|초기화|행렬곱|지수함수|(?<![가-힣])층")
    lines = path.read_text(encoding="utf-8").split("\n")
    assert [line for line in lines if second.search(line)] == []


@pytest.mark.parametrize("path", [path for path in CHAPTERS if path.stem == "api"], ids=_name)
def test_api_shows_every_public_name_once(path: Path) -> None:
    lists = re.findall(r"^:::\{library\}\n(.*?)^:::$", path.read_text(encoding="utf-8"), re.M | re.S)
    assert sorted("".join(lists).split()) == sorted(course_lib.__all__)


def test_bibliography_holds_what_is_cited_and_nothing_else() -> None:
    held = re.findall(r"^@\w+\{(\w+),$", (ROOT / "book" / "references.bib").read_text(encoding="utf-8"), re.M)
    for language in ("ko", "en"):
        texts = "".join(path.read_text(encoding="utf-8") for path in CHAPTERS if path.parent.name == language)
        cited = {key for keys in re.findall(r"\{cite:\w\}`([^`]+)`", texts) for key in keys.split(",")}
        assert sorted(cited) == sorted(held)


def test_tasks_point_at_a_label_of_the_book() -> None:
    labels = {
        f"{path.stem}.html#{label}"
        for path in CHAPTERS
        for label in re.findall(r"^\(([\w-]+)\)=$", path.read_text(encoding="utf-8"), re.M)
    }
    tasks = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "solutions").glob("*/tasks.py"))
    pointers = re.findall(r'\bsee="([^"]+)"', tasks)
    assert pointers
    assert sorted(set(pointers) - labels) == []


def problems(text: str, path: Path) -> list[str]:
    """What is not computed in a chapter: digits in prose, and formulas that come out differently."""
    found = spans(text)
    prose = _without_list_numbers(_prose(text, found))
    for phrase in ALLOWED[path.parent.name].get(path.stem, {}):
        prose = prose.replace(phrase, "")
    typed = [span.text.strip() for span in found if span.kind == "maths" and _has_digit(span.text)]
    result = [f"typed in prose: {line.strip()}" for line in prose.split("\n") if _has_digit(line)]
    computed = _computed(path)
    result += [
        f"{left!r} should be {right!r}" for left, right in zip(typed, computed, strict=False) if left != right
    ]
    result += [f"not recomputed: {tex!r}" for tex in typed[len(computed) :]]
    result += [f"missing: {tex!r}" for tex in computed[len(typed) :]]
    return result


@cache
def _computed(path: Path) -> list[str]:
    """The chapter's formulas with digits, from the values that its cells compute."""
    module = FORMULAS / f"{path.stem.replace('-', '_')}.py"
    if not module.is_file():
        return []
    at = execute([span.text for span in spans(path.read_text(encoding="utf-8")) if span.kind == "code"])
    return list(import_module(f"book_formulas.{module.stem}").formulas(at))


def execute(
    cells: list[str], glue: Callable[..., None] = lambda name, value, display=True: None
) -> dict[str, object]:
    """The names that the cells leave; what they glue goes to `glue`."""
    names: dict[str, object] = {"__name__": "__main__"}
    with pytest.MonkeyPatch.context() as patch, mpl.rc_context({"backend": "agg"}), np.printoptions():
        patch.setattr(myst_nb, "glue", glue)
        for cell in cells:
            exec(compile(cell, "<cell>", "exec"), names)
    return names


def _prose(text: str, found: list[Span]) -> str:
    """The text with all else blanked, so that its lines stay lines."""
    letters = ["\n" if letter == "\n" else "\0" for letter in text]
    for span in found:
        if span.kind == "prose":
            letters[span.start : span.start + len(span.text)] = span.text
    return "".join(letters)


def _without_list_numbers(prose: str) -> str:
    """The numbers of numbered lists count up from 1; any other stays, to be refused."""
    lines, last = [], 0
    for line in prose.split("\n"):
        marker = LIST_NUMBER.match(line)
        if marker and int(marker[1]) == last + 1:
            last, line = last + 1, line[marker.end() :]
        elif line and not line.startswith((" ", "\0")):
            last = 0
        lines.append(line)
    return "\n".join(lines)


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)


# Reading a chapter's source

FENCE = re.compile(r"^\s*(?P<fence>`{3,}|:{3,})\s*(?P<info>\{(?P<directive>[\w-]+)\})?(?P<rest>.*)$")
OPTION = re.compile(r"^\s*:[\w-]+:")
SKIPPED = re.compile(r"^(\([\w-]+\)=|%.*|\+\+\+.*)$")
LIST_NUMBER = re.compile(r"(\d+)\. ")
WITHOUT_TITLE = {"grid", "container", "found-by"}
# Parts of a cell's head that no reader sees; all else there (a caption, say) is prose.
HEAD = re.compile(r"^\s*(---|:?tags\b|mystnb:|image:|figure:|name:|width:|align:|-)")
TOKEN = re.compile(
    r"(?P<role>\{[\w:.-]+\}`[^`]*`)|(?P<code>(?P<ticks>`+).+?(?P=ticks))|\$\$(?P<display>.+?)\$\$(\s*\([\w-]+\))?"
    r"|\$(?P<inline>[^$]+?)\$|(?P<target>\]\([^)]*\))|(?P<address><https?:[^>]*>)",
    re.S,
)


def spans(text: str) -> list[Span]:
    """The chapter in pieces: cells, formulas, and everything else that a reader sees."""
    result: list[Span] = []
    for kind, start, piece in _blocks(text):
        result += [Span(kind, start, piece)] if kind == "code" else _inline(start, piece)
    return result


def _blocks(text: str) -> Iterator[tuple[str, int, str]]:
    """Cells and runs of text, each with its offset; front matter, fences, options and labels are left out."""
    lines = text.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    number = lines.index("---\n", 1) + 1 if lines[:1] == ["---\n"] else 0
    run = number
    while number < len(lines):
        line = lines[number].rstrip("\n")
        fence = FENCE.match(line)
        if not (fence or SKIPPED.match(line)):
            number += 1
            continue
        yield "text", offsets[run], "".join(lines[run:number])
        if fence is None:
            number += 1
        elif fence["fence"].startswith("`") and fence["directive"] in (None, "code-cell", "code-block"):
            end = next(n for n in range(number + 1, len(lines)) if lines[n].strip() == fence["fence"])
            if fence["directive"] == "code-cell":
                yield from _cell(lines, offsets, number + 1, end)
            number = end + 1
        else:
            if fence["directive"] not in WITHOUT_TITLE:
                yield "text", offsets[number] + fence.start("rest"), fence["rest"]
            number += 1
            while number < len(lines) and OPTION.match(lines[number]):
                number += 1
        run = number
    yield "text", offsets[run], "".join(lines[run:])


def _cell(lines: list[str], offsets: list[int], number: int, end: int) -> Iterator[tuple[str, int, str]]:
    start = number
    if lines[number].startswith("---"):
        start = lines.index("---\n", number + 1) + 1
    else:
        while start < end and OPTION.match(lines[start]):
            start += 1
    yield from (("text", offsets[n], lines[n]) for n in range(number, start) if not HEAD.match(lines[n]))
    yield "code", offsets[start], "".join(lines[start:end])


def _inline(start: int, text: str) -> Iterator[Span]:
    rest = 0
    for token in TOKEN.finditer(text):
        yield Span("prose", start + rest, text[rest : token.start()])
        for group in ("display", "inline"):
            if token[group] is not None:
                yield Span("maths", start + token.start(group), token[group])
        rest = token.end()
    yield Span("prose", start + rest, text[rest:])


@pytest.mark.parametrize("language", ["ko", "en"])
def test_problem_set_names_chapters_as_the_book_does(language: str) -> None:
    named = {"ko": r"^\| 먼저 읽을 것 \| (.*) \|$", "en": r"^\| Read first \| (.*) \|$"}[language]
    titles = {re.search(r"^# (.*)$", path.read_text(encoding="utf-8"), re.M)[1].split(":")[0]  # type: ignore[index]
              for path in CHAPTERS if path.parent.name == language}  # fmt: skip
    for path in sorted((ROOT / "solutions").glob("*/ps?.md")):
        (line,) = re.findall(named, path.read_text(encoding="utf-8"), re.M)
        chapters = re.findall(r"\*([^*]+)\*", line)
        assert chapters
        assert set(chapters) <= titles, path.name


MINUTES = {
    "about half an hour": 30, "some thirty-five minutes": 35, "about forty minutes": 40,
    "about forty-five minutes": 45, "about fifty minutes": 50, "about an hour": 60,
}  # fmt: skip
HOURS = {
    "en": "some five and a half hours of reading, and seven to nine for the problem sets.",
    "ko": "읽는 데 다섯 시간 반쯤, 문제집에 일곱에서 아홉 시간.",
}


def _times(language: str) -> dict[str, str]:
    found = {}
    for path in CHAPTERS:
        said = re.search(r"^- \*\*(?:Time|시간)\*\*: (.*)\.$", path.read_text(encoding="utf-8"), re.M)
        if path.parent.name == language and said and path.stem not in {*REFERENCE, "index", "large-classes"}:
            found[path.stem] = said[1]
    return found


def test_both_languages_say_the_same_reading_times() -> None:
    english = {name: MINUTES[time] for name, time in _times("en").items()}
    korean = {name: int(time.removeprefix("약 ").removesuffix("분")) for name, time in _times("ko").items()}
    assert english == korean
    assert len(english) == 8


def test_first_page_adds_up_the_times() -> None:
    reading = sum(MINUTES[time] for time in _times("en").values()) / 60  # said to the nearest half
    sets = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "solutions").glob("ps?/ps?.md"))]
    ranges = [re.search(r"^\| Time \| (\d+)–(\d+) minutes \|$", text, re.M) for text in sets]
    shortest, longest = (sum(int(found[at]) for found in ranges if found) / 60 for at in (1, 2))
    assert (round(2 * reading) / 2, round(shortest), round(longest)) == (5.5, 7, 9)
    for language, sentence in HOURS.items():
        assert sentence in (ROOT / "book" / language / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted((ROOT / "solutions").glob("ps?/ps?.md")), ids=lambda path: path.name)
def test_minutes_of_a_set_lie_within_what_it_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for heading, minutes in (
        (r"\| Time \| (\d+)–(\d+) minutes", "minutes"),
        (r"\| 걸리는 시간 \| (\d+)–(\d+)분", "분"),
    ):
        low, high = map(int, re.search(heading, text).groups())  # type: ignore[union-attr]
        tasks = [int(found) for found in re.findall(rf"^\*\d+.*· (\d+) ?{minutes}\*$", text, re.M)]
        assert tasks
        assert low <= sum(tasks) <= high
