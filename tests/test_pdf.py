"""The book on paper: tagged, outlined, its letters embedded as letters."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pypdf import PageObject, PdfReader
from pypdf.generic import IndirectObject

from course_lib.course import LANGUAGES, CourseError, read_course
from course_lib.release import pdf

ROOT = Path(__file__).resolve().parents[1]
EDITIONS = {"ko": "한국어판", "en": "English edition"}
# In the picture of each figure that answers, in its first state, without spaces.
DRAWN = {
    "four-steps": "0.506",
    "why-sqrt": "−100",
    "score-control": "×32",
    "attention-and-ffn": "100.7MB",
    "blocks": "block4",
}
WORDS = {"ko": ("가중합", "Softmax over Keys"), "en": ("weighted sum", "Softmax over Keys")}


sys.path.insert(0, str(ROOT))
figures = import_module("book.theme.figures")


ANSWERS = {"ko": ("답", "맞다."), "en": ("Answers", "Right.")}
GUIDES = {"ko": "성적", "en": "gradebook"}  # what only the guides for instructors speak of
DATE = "1800000000"
FOOT = 90  # points: below it are the margin and the number of the sheet


@dataclass(frozen=True)
class Sheet:
    """The text of a sheet, and how high its last line stands, in points."""

    text: str
    lowest: float


@pytest.fixture(scope="module")
def editions() -> Iterator[dict[str, PdfReader]]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SOURCE_DATE_EPOCH", DATE)
        yield {language: PdfReader(path) for language, path in pdf.build_pdf(read_course(ROOT)).items()}


@pytest.fixture(scope="module")
def sheets(editions: dict[str, PdfReader]) -> dict[str, list[Sheet]]:
    return {language: [sheet_of(page) for page in edition.pages] for language, edition in editions.items()}


def sheet_of(page: PageObject) -> Sheet:
    heights: list[float] = []

    def note(text: str, outer: Any, inner: Any, *_: Any) -> None:
        if text.strip():
            heights.append(inner[4] * outer[1] + inner[5] * outer[3] + outer[5])

    text = page.extract_text(visitor_text=note)
    return Sheet(text, min((height for height in heights if height > FOOT), default=0.0))


def chapters_of(edition: PdfReader, language: str) -> dict[str, int]:
    """The titles in the list on the first sheet, and the place of the sheet to which each leads."""
    listed = re.findall(r'<li><a href="#(document-[^"]+)">(.*?)<span class="place"', page_of(language))
    within = edition.named_destinations
    return {
        plain(title): edition.get_destination_page_number(within[f"/{name}"]) or 0 for name, title in listed
    }


def page_of(language: str) -> str:
    return (ROOT / "_build" / "pdf" / language / "index.html").read_text(encoding="utf-8")


def plain(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", "", html)).split())


def squeezed(text: str) -> str:
    return "".join(text.split())


def outlined(entries: list[Any]) -> Iterator[Any]:
    for entry in entries:
        yield from outlined(entry) if isinstance(entry, list) else [entry]


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_build_pdf_prints_a_tagged_and_outlined_book(
    editions: dict[str, PdfReader], sheets: dict[str, list[Sheet]], language: str
) -> None:
    edition = editions[language]
    catalog = edition.trailer["/Root"]
    assert catalog["/MarkInfo"]["/Marked"]
    assert catalog["/Lang"] == language
    assert catalog["/ViewerPreferences"]["/DisplayDocTitle"]
    assert edition.metadata is not None
    assert edition.metadata.title == "Scaled Dot-Product Attention"
    first, *others = (sheet.text for sheet in sheets[language])
    for word in ("Scaled Dot-Product\nAttention", EDITIONS[language], "Computation"):
        assert word in first
    text = "".join(others)
    for word in WORDS[language]:
        assert word in text
    assert "𝑄" in text  # a formula, in the letters of mathematics


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_outline_has_each_heading_word_for_word(editions: dict[str, PdfReader], language: str) -> None:
    """Chromium leaves the space out at which a line of a heading ends, and doubles what it moved overleaf."""
    body = page_of(language).split('class="title-page"')[1]
    written = re.findall(r'<h[234]>((?:(?!<math|</h).)*?)<a class="headerlink', body, re.DOTALL)
    titles = {" ".join(entry.title.split()) for entry in outlined(editions[language].outline)}
    assert len(written) > 60
    assert {plain(heading) for heading in written} <= titles


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_contents_and_heads_name_the_sheets_of_each_chapter(
    editions: dict[str, PdfReader], sheets: dict[str, list[Sheet]], language: str
) -> None:
    edition, chapters = editions[language], chapters_of(editions[language], language)
    starts = list(chapters.values())
    assert len(chapters) == 11
    assert starts == sorted(set(starts))
    contents = squeezed(sheets[language][0].text)
    for title, start, end in zip(chapters, starts, [*starts[1:], len(edition.pages)], strict=True):
        assert f"{squeezed(title)}{start + 1}" in contents
        for place in range(start, end):
            text = squeezed(sheets[language][place].text)
            assert text.startswith(f"{squeezed(title)}{place + 1}"), place + 1


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_paper_is_for_readers_and_answers_them_at_the_end(
    sheets: dict[str, list[Sheet]], language: str
) -> None:
    title, right = ANSWERS[language]
    text = "\n".join(sheet.text for sheet in sheets[language])
    assert GUIDES[language] not in text
    parts = re.split(rf"^{title}\s*$", text, flags=re.MULTILINE)
    assert len(parts) == 9  # eight chapters have checks
    assert right not in squeezed(parts[0])
    assert all(squeezed(part).count(right) >= 2 for part in parts[1:])
    questions = re.findall(r'<course-check class="check (\w+) asked"', page_of(language))
    assert len(questions) == len(re.findall('<div class="answer-to">', page_of(language))) > 40
    assert 'class="feedback' not in page_of(language).split('class="answers"')[0]


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_sheets_are_full_but_for_the_last_of_a_chapter(
    editions: dict[str, PdfReader], sheets: dict[str, list[Sheet]], language: str
) -> None:
    """A large picture may leave one early now and then; with other letters it is another one."""
    begin = set(chapters_of(editions[language], language).values())
    inner = [place for place in range(1, len(sheets[language]) - 1) if place + 1 not in begin]
    early = [place + 1 for place in inner if sheets[language][place].lowest > FOOT + 0.42 * (842 - 2 * FOOT)]
    assert len(early) <= len(inner) / 20, early


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_lines_of_code_are_whole(sheets: dict[str, list[Sheet]], language: str) -> None:
    printed = {squeezed(line) for sheet in sheets[language] for line in sheet.text.splitlines()}
    listings = re.findall("<pre>(.*?)</pre>", page_of(language), re.DOTALL)
    lines = [unescape(re.sub("<[^>]+>", "", line)) for listing in listings for line in listing.splitlines()]
    long = [line for line in lines if len(line) > 72 and line.isascii()]
    assert len(long) > 20
    assert [line for line in long if squeezed(line) not in printed] == []


def elements(node: Any) -> Iterator[Any]:
    """What a PDF is tagged with, one element after the other."""
    node = node.get_object() if isinstance(node, IndirectObject) else node
    if isinstance(node, list):
        for child in node:
            yield from elements(child)
    elif isinstance(node, dict):
        if "/S" in node:
            yield node
        yield from elements(node.get("/K"))


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_tags_say_what_pictures_show_and_what_heads_a_table(
    editions: dict[str, PdfReader], language: str
) -> None:
    tags = list(elements(editions[language].trailer["/Root"]["/StructTreeRoot"]["/K"]))
    figures = [tag for tag in tags if tag["/S"] == "/Figure"]
    assert len(figures) > 15
    assert all(tag.get("/Alt") for tag in figures)
    tables = [tag for tag in tags if tag["/S"] == "/Table"]
    assert len(tables) > 20
    assert all(any(tag["/S"] == "/TH" for tag in elements(table)) for table in tables)
    levels = [int(tag["/S"][2:]) for tag in tags if re.fullmatch(r"/H\d", tag["/S"])]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all(page["/Tabs"] == "/S" for page in editions[language].pages)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_figures_that_answer_are_drawn_on_paper_above_their_titles(
    sheets: dict[str, list[Sheet]], language: str
) -> None:
    texts = [squeezed(sheet.text) for sheet in sheets[language]]
    assert list(DRAWN) == list(figures.TITLES)
    for name, word in DRAWN.items():
        title = "".join(figures.TITLES[name][LANGUAGES.index(language)].split())
        assert any(word in text and title in text for text in texts), name


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_paper_does_not_ask_for_what_a_screen_does(sheets: dict[str, list[Sheet]], language: str) -> None:
    text = squeezed("".join(sheet.text for sheet in sheets[language]))
    chapters = [path.read_text(encoding="utf-8") for path in (ROOT / "book" / language).glob("*.md")]
    asked = [
        line for chapter in chapters for line in re.findall(r"^\{\.on-screen\}\n(.*)$", chapter, re.MULTILINE)
    ]
    assert len(asked) == 6
    assert [line for line in asked if squeezed(line[-15:]) in text] == []
    assert (
        re.findall({"ko": "접힌|접어|클릭", "en": "folded|[Uu]nfold|[Cc]lick|[Hh]over"}[language], text) == []
    )


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sheet_is_empty(sheets: dict[str, list[Sheet]], language: str) -> None:
    lengths = [len(sheet.text) for sheet in sheets[language]]
    assert min(lengths) > 40, lengths.index(min(lengths)) + 1


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_leads_to_the_pdf_of_its_language(editions: dict[str, PdfReader], language: str) -> None:
    html = ROOT / "_build" / "html"
    folder = html / {"ko": "book/ko", "en": "en"}[language]
    pages = [folder / f"{path.stem}.html" for path in (ROOT / "book" / language).glob("*.md")]
    assert pages
    for page in pages:
        [address] = re.findall(r'href="([^"]*)" type="application/pdf"', page.read_text(encoding="utf-8"))
        assert (page.parent / address).resolve() == html / f"attention-{language}.pdf"


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_links_on_paper_stay_within_it_or_lead_to_the_web(
    editions: dict[str, PdfReader], language: str
) -> None:
    notes = [note.get_object() for page in editions[language].pages for note in page.get("/Annots", [])]
    addresses = [note["/A"]["/URI"] for note in notes if "/URI" in note.get("/A", {})]
    within = {note["/Dest"] for note in notes if "/Dest" in note}
    assert addresses
    assert len(within) > 40
    assert within <= set(editions[language].named_destinations)
    assert [address for address in addresses if not address.startswith("https://")] == []


@pytest.mark.slow
def test_build_pdf_prints_the_same_bytes_where_the_date_is_given(editions: dict[str, PdfReader]) -> None:
    course = read_course(ROOT)
    english = next(each for each in pdf.editions_of(course) if each.language == "en")
    before = english.pdf.read_bytes()
    assert pdf._print(course, english, pdf.find_browser())[1].read_bytes() == before
    assert b"(D:20270115080000+00'00')" in before


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_build_pdf_embeds_letters_as_truetype(editions: dict[str, PdfReader], language: str) -> None:
    fonts = [font for page in editions[language].pages for font in fonts_of(page)]
    assert {font["/Subtype"] for font in fonts} == {"/CIDFontType2"}
    assert all("/FontFile2" in font["/FontDescriptor"] for font in fonts)
    assert any("STIXTwoMath" in font["/BaseFont"] for font in fonts)
    hangul = {font["/BaseFont"] for font in fonts if "OTS-derived" in font["/BaseFont"]}
    assert language == "en" or len(hangul) == 2  # plain, and a real bold one


def fonts_of(page: PageObject) -> list[dict]:
    fonts = [font.get_object() for font in page["/Resources"].get("/Font", {}).values()]
    return [
        font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font for font in fonts
    ]


@pytest.mark.parametrize(
    ("epoch", "prints", "taken"),
    [(None, "ab", "a"), ("1800000000", "aab", "a"), ("1800000000", "bacab", "a")],
)
def test_print_that_has_to_be_the_same_is_one_of_two_that_are(
    epoch: str | None, prints: str, taken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    if epoch:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    coming = iter(prints)
    monkeypatch.setattr(pdf, "_to_paper", lambda browser, page, target: target.write_text(next(coming)))
    pdf._to_paper_alike("chromium", tmp_path / "index.html", tmp_path / "book.pdf")
    assert (tmp_path / "book.pdf").read_text() == taken


def test_find_browser_names_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(pdf, "BROWSERS", ("chromium",))
    with pytest.raises(CourseError, match="apt-get install chromium"):
        pdf.find_browser()
