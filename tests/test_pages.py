"""Every page of the book in a real browser: at a desk and on a phone, in light and in dark."""

from __future__ import annotations

import gzip
import re
import statistics
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import pytest
from fontTools.ttLib import TTFont
from pages import ROOT, Visit, chapter, screen, serve
from playwright.sync_api import Browser, Page, Response

from course_lib.course import LANGUAGES, read_course
from course_lib.release.site import build_site

pytestmark = pytest.mark.slow

HTML = ROOT / "_build" / "html"
PAGES = [
    (language, name)
    for language in LANGUAGES
    for name in sorted(p.stem for p in (ROOT / "book" / language).glob("*.md"))
]
SEARCHES = {"ko": "search.html", "en": "en/search.html"}
SCREENS = [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")]
# Written into the theme's templates, out of reach of a catalogue.
KEPT_IN_ENGLISH = ("Main", "Page", "Toggle primary sidebar", "Toggle secondary sidebar")
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "rules": {"label-content-name-mismatch": {"enabled": True}},  # in none of these
    "resultTypes": ["violations"],
}
# What sticks out to the right of the screen, where no box around it can be scrolled.
CUT_OFF = """() => {
    const scrolls = element => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
    const boxed = element => element.matches("article") ? false : scrolls(element) || boxed(element.parentElement);
    return [...document.querySelectorAll("article :is(math, code, img, svg, table)")]
        .filter(element => element.getBoundingClientRect().right > innerWidth && !boxed(element))
        .map(element => element.textContent.slice(0, 80) || element.alt);
}"""


SCROLLS_BY_KEYBOARD = """[...document.querySelectorAll("article pre")]
    .every(listing => listing.scrollWidth <= listing.clientWidth || listing.tabIndex === 0)"""
# The listings of commands and code are written for a desk's width.
CUT_LISTINGS = """() => [...document.querySelectorAll("article pre")]
    .filter(listing => listing.scrollWidth > listing.clientWidth).map(listing => listing.textContent)"""
SCROLLED = """[...document.querySelectorAll("div.math")]
    .filter(equation => equation.scrollWidth > equation.clientWidth).length"""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    build_site(read_course(ROOT))
    with serve(HTML) as address:
        yield address


def has_formulas(language: str, name: str) -> bool:
    return "$" in (ROOT / "book" / language / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
@pytest.mark.parametrize(("language", "name"), PAGES)
def test_page_loads_cleanly_and_fits(
    browser: Browser, site: str, language: str, name: str, width: int, scheme: str
) -> None:
    visit = Visit(browser, site, chapter(name, language), **screen(width, scheme))
    page = visit.page
    assert visit.complaints == []
    for folded in page.locator("details").all():
        folded.evaluate("element => element.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT_OFF) == []
    assert width < 1280 or page.evaluate(CUT_LISTINGS) == []
    assert page.evaluate(SCROLLED) <= (width == 360)  # the Jacobian in full, and a bound
    assert page.evaluate("document.documentElement.lang") == language
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert bool(page.locator("article math").count()) is has_formulas(language, name)
    sizes = page.locator("article math").evaluate_all(
        "found => found.filter(math => !math.closest('.choice .feedback'))"
        ".map(math => math.getBoundingClientRect().width)"  # feedback waits for its choice
    )
    assert min(sizes, default=1) > 0
    if has_formulas(language, name):
        assert page.evaluate(
            "[...document.fonts].some(font => font.family.includes('Math') && font.status == 'loaded')"
        )
    assert page.locator("article img:not([alt]), article img[alt='']").count() == 0
    page.close()


@pytest.mark.parametrize(("language", "name"), [*PAGES, ("ko", "search"), ("en", "search")])
def test_first_view_is_light(browser: Browser, site: str, language: str, name: str) -> None:
    page = browser.new_page()
    received: list[Response] = []
    page.on("requestfinished", lambda request: received.append(request.response()))
    page.goto(site + (SEARCHES[language] if name == "search" else chapter(name, language)))
    page.wait_for_load_state("networkidle")
    assert len(received) <= 25
    assert sum(served_bytes(response) for response in received) <= 250_000
    page.close()


@pytest.mark.parametrize(("language", "name"), [*PAGES, ("ko", "search"), ("en", "search")])
def test_page_breaks_no_rule_of_accessibility(browser: Browser, site: str, language: str, name: str) -> None:
    page = browser.new_page()
    page.goto(site + (SEARCHES[language] if name == "search" else chapter(name, language)))
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    for width, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(400)  # the theme looks again at what scrolls 300 ms after a change of size
        page.wait_for_function(SCROLLS_BY_KEYBOARD)  # or later, on a busy machine
        found = page.evaluate("rules => axe.run(document, rules)", RULES)["violations"]
        broken = [
            (rule["id"], node["html"], node["failureSummary"]) for rule in found for node in rule["nodes"]
        ]
        assert (width, scheme, broken) == (width, scheme, [])
    page.close()


def served_bytes(response: Response) -> int:
    """As a server sends it: fonts are packed already, the rest gzipped."""
    body = response.body()
    return len(body) if response.url.endswith(".woff2") else len(gzip.compress(body))


@pytest.mark.parametrize(("language", "name"), PAGES)
def test_page_has_text_instead_of_marks_and_labels(
    browser: Browser, site: str, language: str, name: str
) -> None:
    page = Visit(browser, site, chapter(name, language)).page
    prose = page.evaluate(
        """() => {
            const article = document.querySelector("article").cloneNode(true);
            article.querySelectorAll("math, pre, code, dt.sig").forEach(element => element.remove());
            return article.textContent;
        }"""
    )
    assert re.findall(r"\$|\\[a-z]+|\{[\w:]+\}|:::|\*\*", prose) == []
    assert page.locator("article :is(h1, h2, h3)").count() > 0
    page.close()


def test_page_speaks_korean_around_the_text(browser: Browser, site: str) -> None:
    page = Visit(browser, site, chapter("computation")).page
    assert page.locator("#pst-skip-link").inner_text() == "본문으로 건너뛰기"
    labels = page.locator("body *:not(article *)").evaluate_all(
        "found => found.flatMap(element => [element.title, element.ariaLabel, element.dataset.bsOriginalTitle])"
    )
    english = {label for label in labels if label and re.fullmatch(r"[A-Za-z ,.]+", label)}
    assert english - set(KEPT_IN_ENGLISH) == set()
    page.close()


@pytest.mark.parametrize("name", [name for language, name in PAGES if language == "ko"])
def test_korean_page_says_in_korean_where_a_mark_leads(browser: Browser, site: str, name: str) -> None:
    page = Visit(browser, site, chapter(name)).page
    titles = page.locator("article a.headerlink").evaluate_all("found => found.map(link => link.title)")
    assert titles
    assert [title for title in titles if not re.search("[가-힣]", title)] == []
    page.close()


@pytest.mark.parametrize("name", [name for language, name in PAGES if language == "en"] + ["search"])
def test_english_page_has_no_korean_but_what_says_so(browser: Browser, site: str, name: str) -> None:
    page = Visit(browser, site, chapter(name, "en")).page
    korean = page.evaluate(
        """() => {
            document.querySelectorAll("[lang=ko], script").forEach(element => element.remove());
            return document.documentElement.outerHTML.match(/[가-힣]+/g) || [];
        }"""
    )
    assert korean == []
    page.close()


@pytest.mark.parametrize("name", [name for language, name in PAGES if language == "ko"] + ["search"])
def test_language_switch_keeps_the_page(browser: Browser, site: str, name: str) -> None:
    korean, english = (
        SEARCHES[language] if name == "search" else chapter(name, language) for language in LANGUAGES
    )
    visit = Visit(browser, site, korean, **screen(360))
    page = visit.page
    for here, there, language in ((korean, english, "en"), (english, korean, "ko")):
        links = page.locator("head link[rel=alternate][hreflang]").evaluate_all(
            "found => Object.fromEntries(found.map(link => [link.hreflang, link.href]))"
        )
        assert page.url == site + here
        assert links == {"ko": site + korean, "en": site + english}
        switch = page.locator(f"a[hreflang={language}]")
        assert switch.get_attribute("lang") == language
        switch.click()
        page.wait_for_url(site + there)
        assert page.evaluate("document.documentElement.lang") == language
    assert visit.complaints == []
    page.close()


# The letters of each full line of prose, and how many Hangul letters the widest paragraph has room for.
LINES = """() => {
    const prose = [...document.querySelectorAll("article section > p")].filter(p => !p.querySelector("math, img"));
    const range = document.createRange();
    const letters = p => {
        const lines = new Map(), walker = document.createTreeWalker(p, NodeFilter.SHOW_TEXT);
        for (let text = walker.nextNode(); text; text = walker.nextNode())
            for (let place = 0; place < text.length; place++) {
                range.setStart(text, place);
                range.setEnd(text, place + 1);
                const bottom = Math.round(range.getBoundingClientRect().bottom / 12);
                if (range.getBoundingClientRect().width) lines.set(bottom, (lines.get(bottom) ?? 0) + 1);
            }
        return [...lines.values()].slice(0, -1);
    };
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.font = getComputedStyle(prose[0]).font;
    return [prose.flatMap(letters), Math.max(...prose.map(p => p.clientWidth)) / canvas.measureText("가").width];
}"""


@pytest.mark.parametrize("name", ["heads", "scaling", "attention-and-ffn"])
def test_line_of_prose_holds_as_many_letters_as_one_reads_with_ease(
    browser: Browser, site: str, name: str
) -> None:
    for language in LANGUAGES:
        visit = Visit(browser, site, chapter(name, language), **screen(1280))
        lines, room = visit.page.evaluate(LINES)
        if language == "ko":
            assert 35 <= room <= 42
        else:
            assert len(lines) >= 5
            assert 60 <= statistics.median(lines) <= 75
        visit.page.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_first_screen_shows_the_sentence_and_the_figure(browser: Browser, site: str, language: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(site + chapter("index", language), wait_until="networkidle")
    for part in ("article p >> nth=0", "#figure-four-steps .answer-sentence"):
        box = page.locator(part).bounding_box()
        assert box
        assert box["y"] + box["height"] <= 800
    page.close()


def test_dark_page_is_printed_dark_on_white(browser: Browser, site: str) -> None:
    page = Visit(browser, site, chapter("computation", "en"), **screen(1280, "dark")).page
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    shades = """selector => {
        const { color, backgroundColor } = getComputedStyle(document.querySelector(selector));
        return [color, backgroundColor].map(text => Math.max(...text.match(/\\d+/g).slice(0, 3)));
    }"""
    for selector in ("article p", "article table th", "article pre"):
        assert page.evaluate(shades, selector)[0] < 100
    assert page.evaluate(shades, "body")[1] == 255
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.close()


def test_page_is_printed_as_it_stands_on_the_screen(browser: Browser, site: str) -> None:
    page = Visit(browser, site, chapter("computation", "en")).page
    page.emulate_media(media="print")
    assert page.locator(":is(.check .feedback, .check details):visible").count() == 0
    page.locator(".check details").first.evaluate("details => { details.open = true; }")
    assert page.locator(".check details:visible").count() == 1
    page.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_tabs_switch_by_keyboard(browser: Browser, site: str, language: str) -> None:
    page = Visit(browser, site, chapter("computation", language)).page
    tabs = page.locator(".sd-tab-set").first
    assert tabs.locator("label").all_inner_texts() == ["NumPy", "PyTorch", "course_lib"]
    panels = tabs.locator(".sd-tab-content")
    tabs.locator("input").first.focus()
    for position in (0, 1, 2):
        assert [panels.nth(number).is_visible() for number in range(3)] == [
            number == position for number in range(3)
        ]
        assert panels.nth(position).locator(".cell_output").count() == 1
        page.keyboard.press("ArrowRight")
    page.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_unfold_by_keyboard(browser: Browser, site: str, language: str) -> None:
    page = Visit(browser, site, chapter("check", language)).page
    answers = page.locator("course-check details")
    assert answers.count() == 6  # the other two are choices
    for answer in answers.all():
        assert answer.get_attribute("open") is None
        answer.locator("summary").focus()
        page.keyboard.press("Enter")
        assert answer.get_attribute("open") is not None
        assert len(answer.inner_text()) > 40
    page.close()


@pytest.mark.parametrize(
    ("language", "query"),
    [("ko", query) for query in ("가중", "지수", "행렬", "출력", "가중합", "Softmax", "mask")]
    + [
        ("en", query)
        for query in ("weighted sum", "weights", "exponentiate", "matrix", "output", "softmax", "mask")
    ],
)
def test_search_finds(browser: Browser, site: str, language: str, query: str) -> None:
    visit = Visit(browser, site, f"{SEARCHES[language]}?q={quote(query)}")
    visit.page.locator("#search-results li").first.wait_for()
    assert visit.complaints == []
    visit.page.close()


# The search has come to its end, and every page that it found to its excerpt, for which that page is fetched.
ALL_FOUND = """document.querySelector(".search-summary")?.textContent.endsWith(".")
    && [...document.querySelectorAll("#search-results li")].every(found => found.querySelector(".context, span"))"""


def searched(browser: Browser, site: str, language: str, query: str, **options: Any) -> Page:
    """The page of a search, when all that it finds is there."""
    page = Visit(browser, site, f"{SEARCHES[language]}?q={quote(query)}", **options).page
    page.wait_for_function(ALL_FOUND)
    return page


# What readers type, in either language, and the section that has to be among the first two places.
TYPED = {
    "√": "scaling-square-root", "√d_k": "scaling-square-root", "sqrt": "scaling-square-root",
    "sqrt(d_k)": "scaling-square-root", "루트": "scaling-square-root", "d_k": "scaling-square-root",
    "스케일링": "scaling", "QK^T": "score", "QKᵀ": "score", "softmax": "softmax-over-keys",
    "소프트맥스": "softmax-over-keys", "마스크": "masks", "-inf": "masks", "KV 캐시": "kv-cache",
    "KV cache": "kv-cache",
    "MQA": "gqa", "GQA": "gqa", "MLA": "mla", "FlashAttention": "blocks", "flash attention": "blocks",
    "플래시 어텐션": "blocks", "어텐션": "four-operations", "크로스 어텐션": "computation-self-cross",
    "멀티헤드": "mha", "소프트캡": "soft-cap", "QKNorm": "qk-norm", "역전파": "long-sequences-backward",
    "온도": "worked-example-sharpening", "피드포워드": "residual-stream", "패딩": "computation-which-masks",
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_search_leads_what_readers_type_to_its_section(browser: Browser, site: str, language: str) -> None:
    visit = Visit(browser, site, SEARCHES[language])
    page = visit.page
    places = {}
    for query in TYPED:
        page.goto(f"{site}{SEARCHES[language]}?q={quote(query)}")
        page.wait_for_function(ALL_FOUND)
        links = page.locator("#search-results li > a")
        places[query] = [str(link.get_attribute("href")) for link in links.all()[:2]]
    assert visit.complaints == []
    for query, label in TYPED.items():
        assert any(_shows(site, language, place, label) for place in places[query]), (query, places[query])
    page.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_section_that_a_check_names_is_in_the_built_book(site: str, language: str) -> None:
    banks = [path.read_text(encoding="utf-8") for path in (ROOT / "solutions").glob("*/tasks.py")]
    pointers = set(re.findall(r'\bsee="([^"#]+)#([^"]+)"', "".join(banks)))
    assert len(pointers) > 20
    for name, label in pointers:
        html = (HTML / chapter(name.removesuffix(".html"), language)).read_text(encoding="utf-8")
        assert html.count(f'id="{label}"') == 1, (name, label)


@cache
def _shows(site: str, language: str, place: str, label: str) -> bool:
    """Whether the place is the section of that label: its own id, or one of the same section."""
    name, _, anchor = place.partition("#")
    html = (HTML / ("en" if language == "en" else "") / name.partition("?")[0]).read_text(encoding="utf-8")
    anchors = f'id="{anchor}"[^>]*>(?:\\s*<span id="[^"]*"></span>)*?\\s*<span id="{label}">'
    return anchor == label or re.search(anchors, html) is not None or (not anchor and f'id="{label}"' in html)


@pytest.mark.parametrize(
    ("language", "query", "said"),
    [
        ("en", "softmax", r"Places found: \d+\."),
        ("en", "zzzz", "No page has all of these words.*"),
        ("ko", "softmax", r"\d+곳에서 찾았다\."),
        ("ko", "zzzz", "이 말이 모두 있는 페이지가 없다.*"),
    ],
)
def test_search_says_in_plain_words_what_it_found(
    browser: Browser, site: str, language: str, query: str, said: str
) -> None:
    page = searched(browser, site, language, query)
    assert re.fullmatch(said, page.locator(".search-summary").inner_text())
    page.close()


@pytest.mark.parametrize(("language", "query"), [("ko", "포화"), ("en", "saturation")])
def test_search_shows_what_a_chapter_says(browser: Browser, site: str, language: str, query: str) -> None:
    page = searched(browser, site, language, query)
    found = page.locator("#search-results li:has(a[href*='scaling.html']) .context").first
    shown = " ".join(found.inner_text().strip(".").split())
    page.goto(site + chapter("scaling", language))
    listed = " ".join((page.locator(".bd-sidebar-secondary").text_content() or "").split())
    assert query[:5] in shown.casefold()
    assert shown not in listed
    page.close()


def test_search_shows_formulas_as_they_are_typed_and_whole_words(browser: Browser, site: str) -> None:
    page = searched(browser, site, "en", "mask")
    excerpts = [" ".join(text.split()) for text in page.locator(".context").all_inner_texts()]
    assert any("Divide by √d_k=√4=2." in text for text in excerpts)
    assert any("L=S/√d_k+M" in text for text in excerpts)
    assert any(text.startswith("mask · A matrix that adds −∞") for text in excerpts)  # the glossary
    assert [text for text in excerpts if "..." in text[:3] or text.endswith("...")] == []
    page.close()


@pytest.mark.parametrize(("language", "title"), [("ko", "KV cache"), ("en", "KV cache"), ("en", "QK Norm")])
def test_search_finds_a_section_by_its_title(browser: Browser, site: str, language: str, title: str) -> None:
    """The space in it does not break."""
    page = searched(browser, site, language, title)
    assert page.locator(f"#search-results a[href$='{title.lower().replace(' ', '-')}']").count() > 0
    page.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_lists_of_chapters_and_sections_keep_names_on_one_line(
    browser: Browser, site: str, language: str
) -> None:
    page = Visit(browser, site, chapter("heads", language)).page
    listed = page.locator("nav a, .prev-next-area a, .bd-sidebar-secondary a").all_text_contents()
    assert any("QK\u00a0Norm" in text for text in listed)
    assert [text for text in listed if "QK Norm" in text or "KV cache" in text] == []
    page.close()


def test_language_switch_takes_the_state_of_a_figure_along(browser: Browser, site: str) -> None:
    page = Visit(browser, site, f"{chapter('computation')}?four-steps=times:10#figure-four-steps").page
    page.locator("a.language[hreflang=en]").click()
    page.wait_for_url("**/en/computation.html?four-steps=times:10")
    assert page.locator("#figure-four-steps input[data-key=times]").last.input_value() == "10"
    page.close()


def test_page_for_wrong_addresses_leads_back(browser: Browser, site: str) -> None:
    for scheme in ("light", "dark"):
        visit = Visit(browser, site, "404.html", **screen(360, scheme))
        visit.page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
        assert visit.page.evaluate("rules => axe.run(document, rules)", RULES)["violations"] == []
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 360
    for place, (language, end) in enumerate(
        zip(LANGUAGES, ("book/ko/index.html", "en/index.html"), strict=True)
    ):
        visit = Visit(browser, site, "404.html")
        visit.page.locator("a").nth(place).click()
        visit.page.wait_for_url(site + end)
        assert visit.page.evaluate("document.documentElement.lang") == language
        assert visit.complaints == []
        visit.page.close()


@pytest.mark.parametrize("width", [1280, 360])
def test_what_is_searched_for_stands_beside_the_glass(browser: Browser, site: str, width: int) -> None:
    page = searched(browser, site, "ko", "로짓", **screen(width))
    room = """form => parseFloat(getComputedStyle(form.querySelector("input")).paddingLeft)
        + form.querySelector("input").getBoundingClientRect().left
        - form.querySelector("i, svg").getBoundingClientRect().right"""
    assert page.locator(".bd-search-container form").evaluate(room) > 0
    found = page.locator("#search-results").inner_text()
    assert "logit 로짓" in found  # the words of two blocks, apart
    page.locator("#search-results a").first.click()
    page.locator(".highlight-link a").wait_for()
    assert page.locator(".highlight-link a").inner_text() == "찾은 말 표시 지우기"
    page.locator("button.search-button:visible, button.search-button-field:visible").first.click()
    assert page.locator("#pst-search-dialog form").evaluate(room) > 0
    page.close()


def test_first_page_leads_to_the_first_chapter(browser: Browser, site: str) -> None:
    visit = Visit(browser, site, "")
    visit.page.wait_for_url("**/book/ko/index.html")
    visit.page.close()


@pytest.mark.parametrize(("language", "pages"), [("ko", "book/ko/*.html"), ("en", "*.html")])
def test_fonts_have_every_syllable_of_the_pages(site: str, language: str, pages: str) -> None:
    root = HTML if language == "ko" else HTML / language
    texts = "".join(path.read_text(encoding="utf-8") for path in (*root.glob(pages), root / "search.html"))
    for script in root.glob("_static/translations.js"):
        texts += re.sub(r"\\u(\w{4})", lambda code: chr(int(code[1], 16)), script.read_text(encoding="utf-8"))
    syllables = {ord(letter) for letter in re.findall("[가-힣]", texts)}
    assert syllables
    with TTFont(root / "_static" / "fonts" / "hangul.woff2") as font:
        assert syllables - set(font.getBestCmap()) == set()


# The digits after which a particle stands, as they are read: with a vowel at the end (2, 4, 5, 9), with another letter.
PARTICLES = {"이": "013678", "가": "2459", "을": "013678", "를": "2459", "은": "013678", "는": "2459", "과": "013678",
             "와": "2459", "으로": "036", "로": "1245789"}  # fmt: skip
AFTER_NUMBER = re.compile(r"(?<!Gemma[ \u00a0])(\d)\u2060?(이|가|을|를|은|는|과|와|으로|로)(?=[\s,.)])")
WITHOUT_CODE_AND_EXPONENTS = """() => {
    const article = document.querySelector("article").cloneNode(true);
    const others = "pre, code, msup, msubsup, script, [id^='figure-']";
    article.querySelectorAll(others).forEach(element => element.replaceWith("x"));
    return article.textContent;
}"""


@pytest.mark.parametrize("name", [name for language, name in PAGES if language == "ko"])
def test_particle_fits_how_the_number_before_it_is_read(browser: Browser, site: str, name: str) -> None:
    visit = Visit(browser, site, chapter(name))
    found = AFTER_NUMBER.finditer(visit.page.evaluate(WITHOUT_CODE_AND_EXPONENTS))
    assert [match[0] for match in found if match[1] not in PARTICLES[match[2]]] == []
    visit.page.close()


TOO_WIDE = """() => [...document.querySelectorAll(
        "article :is(.pst-scrollable-table-container, .answer-table, div.math)")]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => box.textContent.trim().slice(0, 60))"""

# Columns of nothing but numbers that are not below each other by their ends (0.0003 and 0.24 are by their beginnings).
RAGGED_NUMBERS = """() => [...document.querySelectorAll("article tbody")].flatMap(body => {
    const columns = [...Array(Math.max(...[...body.rows].map(row => row.cells.length))).keys()];
    return columns.map(at => [...body.rows].map(row => row.cells[at]).filter(cell => cell?.textContent.trim()))
        .filter(cells => cells.length > 1 && cells.every(cell => /^[−-]?[\\d,.]+$/.test(cell.textContent.trim())))
        .filter(cells => !cells.every(cell => cell.textContent.trim().startsWith("0.")))
        .filter(cells => cells.some(cell => !["end", "right"].includes(getComputedStyle(cell).textAlign)))
        .map(cells => cells.map(cell => cell.textContent).join(" "));
})"""
# Units on another line than the number before them.
UNIT_ALONE = """() => [...document.querySelectorAll("article span.math")].filter(math => {
    const text = math.nextSibling, unit = /^[ \\u00a0](?:[kMG]i?B|bytes?|bits?|ms|FLOPs)/.exec(text?.textContent ?? "");
    if (!unit || text.nodeType !== 3 || !math.getClientRects().length) return false;
    const range = document.createRange();
    range.setStart(text, 1);
    range.setEnd(text, 2);
    return range.getBoundingClientRect().left < math.getBoundingClientRect().right;
}).map(math => math.parentElement.textContent.slice(0, 60))"""


@pytest.mark.parametrize(("language", "name"), PAGES)
def test_tables_and_equations_fit_a_phone(browser: Browser, site: str, language: str, name: str) -> None:
    visit = Visit(browser, site, chapter(name, language), **screen(360))
    visit.page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    assert visit.page.evaluate(TOO_WIDE) == []
    assert visit.page.evaluate(RAGGED_NUMBERS) == []
    assert visit.page.evaluate(UNIT_ALONE) == []
    visit.page.close()


# The first letters of each line that begins in the middle of a word, on a page whose folds are open.
TORN = """() => {
    document.querySelectorAll("details").forEach(details => details.open = true);
    const range = document.createRange(), torn = [];
    const others = "pre, svg, math, script, .headerlink, .answer, .library";
    const blocks = "article :is(p, li, h1, h2, h3, td, th, label, legend, dd), .prev-next-title";
    for (const block of document.querySelectorAll(blocks)) {
        if (block.querySelector("p, li, table, dl") || block.closest(others)) continue;
        const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
        let before = "", edge = null;
        for (let text = walker.nextNode(); text; text = walker.nextNode()) {
            if (text.parentElement.closest(others)) { before = " "; continue; }
            for (let place = 0; place < text.length; place++) {
                range.setStart(text, place);
                range.setEnd(text, place + 1);
                const box = range.getBoundingClientRect();
                if (!box.width) { before = text.data[place] === "\u2060" ? before : " "; continue; }
                if (edge && box.left < edge.left && box.top > edge.top + 4 && before.trim())
                    torn.push(before + "|" + text.data.slice(place, place + 12));
                [before, edge] = [text.data[place], box];
            }
        }
    }
    return torn;
}"""


@pytest.mark.parametrize("name", [name for language, name in PAGES if language == "ko"])
def test_no_line_begins_inside_a_word(browser: Browser, site: str, name: str) -> None:
    visit = Visit(browser, site, chapter(name), **screen(360))
    assert visit.page.evaluate(TORN) == []
    visit.page.close()
