"""The book on paper: tagged, outlined, its letters embedded as letters."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pypdf import PageObject, PdfReader

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


@pytest.fixture(scope="module")
def editions() -> dict[str, PdfReader]:
    return {language: PdfReader(path) for language, path in pdf.build_pdf(read_course(ROOT)).items()}


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_build_pdf_prints_a_tagged_and_outlined_book(editions: dict[str, PdfReader], language: str) -> None:
    edition = editions[language]
    catalog = edition.trailer["/Root"]
    assert catalog["/MarkInfo"]["/Marked"]
    assert catalog["/Lang"] == language
    chapters = len(list((ROOT / "book" / language).glob("*.md")))
    assert len(edition.outline) >= chapters
    first, *others = (page.extract_text() for page in edition.pages)
    for word in ("Scaled Dot-Product\nAttention", EDITIONS[language], "Computation"):
        assert word in first
    text = "".join(others)
    for word in WORDS[language]:
        assert word in text
    assert "𝑄" in text  # a formula, in the letters of mathematics


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_figures_that_answer_are_drawn_on_paper_above_their_titles(
    editions: dict[str, PdfReader], language: str
) -> None:
    texts = ["".join(page.extract_text().split()) for page in editions[language].pages]
    assert list(DRAWN) == list(figures.TITLES)
    for name, word in DRAWN.items():
        title = "".join(figures.TITLES[name][LANGUAGES.index(language)].split())
        assert any(word in text and title in text for text in texts), name


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sheet_is_empty(editions: dict[str, PdfReader], language: str) -> None:
    lengths = [len(page.extract_text()) for page in editions[language].pages]
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
    assert addresses
    assert [address for address in addresses if not address.startswith("https://")] == []


@pytest.mark.slow
def test_build_pdf_prints_the_same_bytes_where_the_date_is_given(
    editions: dict[str, PdfReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    course = read_course(ROOT)
    english = next(each for each in pdf.editions_of(course) if each.language == "en")
    printed = [pdf._print(course, english, pdf.find_browser())[1].read_bytes() for _ in range(2)]
    assert printed[0] == printed[1]
    assert b"(D:20270115080000+00'00')" in printed[0]


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_build_pdf_embeds_letters_as_truetype(editions: dict[str, PdfReader], language: str) -> None:
    fonts = [font for page in editions[language].pages for font in fonts_of(page)]
    assert {font["/Subtype"] for font in fonts} == {"/CIDFontType2"}
    assert all("/FontFile2" in font["/FontDescriptor"] for font in fonts)
    assert any("STIXTwoMath" in font["/BaseFont"] for font in fonts)


def fonts_of(page: PageObject) -> list[dict]:
    fonts = [font.get_object() for font in page["/Resources"].get("/Font", {}).values()]
    return [
        font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font for font in fonts
    ]


def test_find_browser_names_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(pdf, "BROWSERS", ("chromium",))
    with pytest.raises(CourseError, match="apt-get install chromium"):
        pdf.find_browser()
