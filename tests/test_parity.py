"""The Korean and the English book say the same: whatever is not prose is equal, chapter for chapter.

Prose is compared by what it holds: in every section the same formulas, computed numbers, citations, links and code.
Word order differs between the languages, so their order within a section is free; all else is compared in order.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from course_lib import plots

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
CHAPTERS = sorted(path.stem for path in (BOOK / "ko").glob("*.md"))
HANGUL = re.compile("[가-힣]")
# Settings that are words or paths.
OWN_SETTINGS = {
    "language", "locale_dirs", "include_patterns", "bibtex_bibfiles", "html_favicon", "togglebutton_hint",
    "togglebutton_hint_hide", "nb_code_prompt_show", "nb_code_prompt_hide", "search_bar_text", "toc_title",
    "extra_footer",
}  # fmt: skip

FRONT = re.compile(r"\A---\n.*?^---\n", re.M | re.S)
CELL = re.compile(
    r"^(`{3,})\{code-cell\}\n(?P<head>---\n.*?^---\n|(?::[\w-]+:[^\n]*\n)*)(?P<code>.*?)^\1$", re.M | re.S
)
DISPLAY = re.compile(r"^\$\$\n.*?^\$\$.*?$", re.M | re.S)
SOURCES = re.compile(r"^```(?:diff|python)\n.*?^```$", re.M | re.S)  # of a bank, which has both languages
FOUND_BY = re.compile(r"^:::\{found-by\} .*$", re.M)  # what readers type, in either language
SECTION = re.compile(r"^(?=\([\w-]+\)=\n#)", re.M)
IN_ORDER = {
    "labels": re.compile(r"^\([\w-]+\)=$", re.M),
    "heading levels": re.compile(r"^#+(?= )", re.M),
    "directives": re.compile(r"^ *(?:`{3,}|:{3,})(?:\{[\w-]+\}|$)", re.M),
    "words to find by": FOUND_BY,
    "options": re.compile(r"^ *:[\w-]+:.*$", re.M),
    "elements": re.compile(r"</?[a-z][\w-]*(?: (?:id|name|src|data-[\w-]+)=\"[^\"]*\")*"),
}
IN_SECTIONS = {
    "formulas": re.compile(r"\$[^$]+\$"),
    "roles": re.compile(r"\{[\w:.-]+\}`(?:[^`<]*(?=<)<[^`]*|[^`<]*)`"),
    "code": re.compile(r"(?<!`)`[^`\n]+`(?!`)"),
    "list items": re.compile(r"^ *(?:-|\d+\.) ", re.M),
}
LISTING = re.compile(r"^(`{3,})\w+\n(.*?)^\1$", re.M | re.S)
NAMES = re.compile(r"^:::\{(?:library|glossary)\}\n(.*?)^:::$", re.M | re.S)
TABLE = re.compile(r"(?:^\|.*\n)+", re.M)


@dataclass(frozen=True)
class Cell:
    head: str
    code: str


def test_both_languages_have_the_same_files() -> None:
    assert CHAPTERS
    assert sorted(path.stem for path in (BOOK / "en").glob("*.md")) == CHAPTERS


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter_is_the_same_in_both_languages(chapter: str) -> None:
    assert differences(read("ko", chapter), read("en", chapter)) == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_english_chapter_is_in_english(chapter: str) -> None:
    text = FOUND_BY.sub("", SOURCES.sub("", read("en", chapter)))
    korean = [line for line in text.split("\n") if HANGUL.search(line)]
    if chapter == "glossary":  # the Korean name of a term, on a line of its own
        korean = [line for line in korean if re.search("[a-z]{3}", line)]
    assert korean == []
    assert list(plots_without_language(read("en", chapter))) == []


def test_settings_are_the_same_but_for_words_and_paths() -> None:
    korean, english = (dict(flat(yaml.safe_load((ROOT / path / "_config.yml").read_text("utf-8"))))
                       for path in ("", "book/en"))  # fmt: skip
    kept = [{key: value for key, value in settings.items() if key[-1] not in OWN_SETTINGS}
            for settings in (korean, english)]  # fmt: skip
    assert kept[0] == kept[1]
    assert HANGUL.search(str(english)) is None
    toc = [(ROOT / path / "_toc.yml").read_text("utf-8") for path in ("", "book/en")]
    toc = [re.sub(r"caption: .*", "caption:", text) for text in toc]
    assert toc[0].replace("book/ko/", "") == toc[1]


def swap(old: str, new: str) -> Callable[[str], str]:
    """One place of a chapter changed, which has to be there."""

    def planted(text: str) -> str:
        changed, count = re.subn(old, new, text, count=1, flags=re.M | re.S)
        assert count == 1, f"{old!r} is not there"
        assert changed != text
        return changed

    return planted


@pytest.mark.parametrize(
    ("chapter", "plant", "found"),
    [
        ("computation", swap(r"^\(masks\)=$", "(hidden)="), "labels"),
        ("computation", swap(r"^## Score$", "### Score"), "heading levels"),
        ("computation", swap(r"\(masks\)=\n## [^\n]*\n", ""), "labels"),
        ("computation", swap(r"^S=QK\^\\top", "S=Q K"), "equations"),
        ("computation", swap(r"\(eq-score\)", "(eq-scores)"), "equations"),
        ("computation", swap(r"\$\[1\.5,2,3\]\$", "$[1.5,2,4]$"), "formulas"),
        ("computation", swap(r" \$n_q=n_k\$", " the lengths are equal"), "formulas"),
        ("computation", swap(r"default_rng\(7\)", "default_rng(8)"), "cell"),
        ("computation", swap(r'print\("weights", weights\)', 'print("shares", weights)'), "cell"),
        ("computation", swap(r"\[tab-torch\]", "[tab-numpy]"), "cell"),
        ("computation", swap(r"^```\{code-cell\}\nscores = .*?^```\n", ""), "cells"),
        ("computation", swap(r"fig-computation-pipeline", "fig-pipeline"), "cell"),
        ("computation", swap(r"^    caption: [^\n]*\n", ""), "cell"),
        ("computation", swap(r"`weight-first:\.2f`", "`weight-second:.2f`"), "roles"),
        ("computation", swap(r"`weight-first:\.2f`", "`weight-first:.3f`"), "roles"),
        ("computation", swap(r"^\| Weights [^\n]*\n", ""), "tables"),
        ("computation", swap(r"^\| Step \| Value \|", "| Step | Value | Shape |"), "tables"),
        ("computation", swap(r"^:::\{wrong\}.*?^:::\n", ""), "directives"),
        ("computation", swap(r"^:::\{right\}", ":::{wrong}"), "directives"),
        ("computation", swap(r":name: computation-axis", ":name: computation-other"), "options"),
        ("computation", swap(r":digits: 2", ":digits: 3"), "options"),
        ("computation", swap(r"\{glue:text\}`unscaled-third", "{glue:text}`unmasked-third"), "roles"),
        ("computation", swap(r"^:::\{warning\}", ":::{note}"), "directives"),
        ("computation", swap(r"\{doc\}`scaling`", "{doc}`check`"), "roles"),
        ("computation", swap(r"exercises/en/ps1", "exercises/en/ps2"), "code"),
        ("computation", swap(r"^- [^\n]*\n", ""), "list items"),
        ("computation", swap(r"^kernelspec.*?$", "kernelspec: {name: other}"), "front matter"),
        ("index", swap(r":link: scaling", ":link: check"), "options"),
        ("heads", swap(r"\{cite:p\}`michel2019`", ""), "roles"),
        ("heads", swap(r"\[\"cat\", \"dog\"", '["dog"'), "cell"),
        ("settings", swap(r"^penalty = \"10%", "penalty = \"20%"), "listings"),
        ("api", swap(r"^softmax$\n", ""), "names"),
        ("glossary", swap(r"^Query$", "Question"), "names"),
    ],
)  # fmt: skip
def test_differences_finds(chapter: str, plant: Callable[[str], str], found: str) -> None:
    english = read("en", chapter)
    reported = differences(read("ko", chapter), plant(english))
    assert any(found in difference for difference in reported), reported


def test_plots_without_language_finds() -> None:
    text = read("en", "scaling")
    assert list(plots_without_language(text.replace(', language="en"', "", 1))) == [
        "plots.dot_product_variance"
    ]
    assert list(plots_without_language('```{code-cell}\nsteps.plot(language="ko")\n```\n')) == ["steps.plot"]


def read(language: str, chapter: str) -> str:
    return (BOOK / language / f"{chapter}.md").read_text(encoding="utf-8")


# Comparing


def differences(korean: str, english: str) -> list[str]:
    """What differs besides prose, each kind with the first place."""
    english = re.sub(r"exercises/en(?=/|$)", "exercises/ko", english, flags=re.M)
    found: list[str] = []
    ours, theirs = anatomy(korean), anatomy(english)
    found += [
        f"{kind}: {difference(ours[kind], theirs[kind])}" for kind in ours if ours[kind] != theirs[kind]
    ]
    cells = [list(cells_of(text)) for text in (korean, english)]
    if len(cells[0]) != len(cells[1]):
        found.append(f"cells: {len(cells[0])} and {len(cells[1])}")
    found += [
        f"cell {place}: {other.head}{other.code}"
        for place, (one, other) in enumerate(zip(*cells, strict=False))
        if without_words(one.head) != without_words(other.head) or not same_code(one.code, other.code)
    ]
    return found


def difference(korean: list[str], english: list[str]) -> str:
    """What is in one of two lists only, or else that their order is not the same."""
    only = [list((Counter(one) - Counter(other)).elements())
            for one, other in ((korean, english), (english, korean))]  # fmt: skip
    return f"only in Korean {only[0]}, only in English {only[1]}" if any(only) else "in another order"


def anatomy(text: str) -> dict[str, list[str]]:
    """What a chapter consists of besides its words and its cells."""
    front = FRONT.match(text)
    body = CELL.sub("\0\n", FRONT.sub("", text))
    prose = DISPLAY.sub("", body)
    without_roles = IN_SECTIONS["roles"].sub("", prose)
    found = {"front matter": [front[0] if front else ""], "equations": DISPLAY.findall(body)}
    found["listings"] = [line for listing in LISTING.finditer(body) for line in without_comments(listing[2])]
    found["tables"] = [shape_of(table) for table in TABLE.findall(body)]
    found["names"] = [line for names in NAMES.findall(body) for line in names.splitlines() if line[:1] != " "]
    found |= {kind: [match[0] for match in pattern.finditer(prose)] for kind, pattern in IN_ORDER.items()}
    for kind, pattern in IN_SECTIONS.items():
        found[kind] = [
            f"{section[: section.find(')')]}): {item}"
            for section in SECTION.split(without_roles if kind == "code" else prose)
            for item in sorted(once(kind, [without_title(match[0]) for match in pattern.finditer(section)]))
        ]
    return found


def once(kind: str, items: list[str]) -> list[str]:
    """A sentence may name a formula again in one language and say "it" in the other; a number it may not."""
    return items if kind in ("list items", "roles") else list(set(items))


def without_title(role: str) -> str:
    return re.sub(r"`[^`<]*<([^`>]*)>`", r"`\1`", role)


def without_comments(listing: str) -> list[str]:
    """The lines of a listing, but for what has to be in the reader's language."""
    lines = [re.sub(r"(^|\s+)#.*", "", line) for line in listing.splitlines()]
    return [re.sub(r'"en"|"ko"', '"LANGUAGE"', line) for line in lines]


def shape_of(table: str) -> str:
    lines = [re.sub(r"\$[^$]*\$|`[^`]*`", "", line) for line in table.splitlines()]
    return " ".join(str(line.count("|") - 1) for line in lines)


def cells_of(text: str) -> Iterator[Cell]:
    for cell in CELL.finditer(text):
        yield Cell(cell["head"], cell["code"])


def without_words(head: str) -> str:
    return re.sub(r"^( +(?:caption|alt): ).*$", r"\1", head, flags=re.M)


def same_code(korean: str, english: str) -> bool:
    """Comments aside, and texts where the Korean one is Korean; `language` names that of a picture."""
    ours, theirs = (ast.parse(code) for code in (korean, english))
    for tree in (ours, theirs):
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            call.keywords = [keyword for keyword in call.keywords if keyword.arg != "language"]
    for one, other in zip(ast.walk(ours), ast.walk(theirs), strict=False):
        if is_text(one) and is_text(other) and HANGUL.search(one.value):  # type: ignore[attr-defined]
            one.value = other.value = ""  # type: ignore[attr-defined]
    return ast.dump(ours) == ast.dump(theirs)


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def plots_without_language(text: str) -> Iterator[str]:
    """Calls in a chapter that draw in the default language, which is Korean."""
    for cell in cells_of(text):
        for call in (node for node in ast.walk(ast.parse(cell.code)) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            draws = name.endswith(".plot") or (name.startswith("plots.") and "language" in parameters(name))
            if draws and not any(ast.unparse(keyword) == "language='en'" for keyword in call.keywords):
                yield name


def parameters(name: str) -> Any:
    return inspect.signature(getattr(plots, name.removeprefix("plots."))).parameters


def flat(settings: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from flat(value, (*path, key))
        else:
            yield (*path, key), value
