"""Checks that answer back, in a real browser: every answer of every check is given, and its feedback is seen."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from pages import ROOT, Visit, chapter, screen, serve
from playwright.sync_api import Browser, Locator, Page

from course_lib.course import LANGUAGES, read_course
from course_lib.release.site import build_site

pytestmark = pytest.mark.slow

LECTURE = ["check-shapes-of", "check-scaling-root", "check-output-first", "check-masked-key", "check-operations",
           "check-sublayers", "check-three-places"]  # fmt: skip
CHAPTERS = sorted(
    path.stem for path in (ROOT / "book" / "ko").glob("*.md") if "\n:::{right}" in path.read_text("utf-8")
)
VERDICTS = {"ko": ("맞다.", "아니다."), "en": ("Right.", "Not this one.")}
PAGES = [(language, name) for language in LANGUAGES for name in CHAPTERS]


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    build_site(read_course(ROOT))
    with serve(ROOT / "_build" / "html") as address:
        yield address


def test_chapters_have_three_checks_and_the_lectures_seven() -> None:
    for name in CHAPTERS:
        text = (ROOT / "book" / "ko" / f"{name}.md").read_text("utf-8")
        names = re.findall(r"^::::\{(?:choice|number|open)\}\n:name: ([\w-]+)$", text, re.M)
        assert len(names) >= 3
        assert all(one.startswith(name) for one in names)
        if name == "check":
            assert set(LECTURE) <= set(names)
    assert len(CHAPTERS) == 8


def test_right_choices_stand_in_every_place(browser: Browser, site: str) -> None:
    places = []
    for name in CHAPTERS:
        visit = Visit(browser, site, chapter(name, "en"))
        places += visit.page.evaluate("""[...document.querySelectorAll(".choice fieldset")].map(
            check => [...check.querySelectorAll(".feedback")].findIndex(each => each.classList.contains("right")))""")
        visit.page.close()
    assert all(places.count(place) >= len(places) / 6 for place in range(3)), places


@pytest.mark.parametrize(("language", "name"), PAGES)
def test_every_answer_has_its_feedback(browser: Browser, site: str, language: str, name: str) -> None:
    visit = Visit(browser, site, chapter(name, language))
    for check in visit.page.locator("course-check").all():
        kind = (check.get_attribute("class") or "").split()[-1]
        {"choice": choose, "number": enter, "open": mark}[kind](visit.page, check, VERDICTS[language])
    assert visit.complaints == []
    visit.page.close()


def choose(page: Page, check: Locator, verdicts: tuple[str, str]) -> None:
    options = check.locator(".option")
    seen = []
    for option in options.all():
        option.locator("input").focus()
        page.keyboard.press("Space")
        assert not check.locator(".verdict").inner_text()
        check.get_by_role("button").press("Enter")
        seen.append(verdict_of(check, option.locator(".feedback"), verdicts))
    assert len(seen) >= 3
    assert seen.count("right") == 1
    assert options.count() == check.get_by_role("radio").count()


def enter(page: Page, check: Locator, verdicts: tuple[str, str]) -> None:
    field = check.get_by_role("textbox")
    seen = []
    for option in check.locator(".option").all():
        value = option.locator(".value")
        # What nobody would get is answered by the hint without a value.
        field.fill((value.text_content() or "") if value.count() else "-123456")
        field.press("Enter")
        seen.append(verdict_of(check, option.locator(".feedback"), verdicts))
    assert seen.count("right") == 1
    assert seen.count("wrong") >= 2
    field.fill("?")
    field.press("Enter")
    assert check.locator(".verdict").inner_text() == check.locator(".unread").text_content()


def verdict_of(check: Locator, feedback: Locator, verdicts: tuple[str, str]) -> str:
    """What a check says now, which has to be this feedback, in a region that is read aloud."""
    verdict = check.locator(".verdict")
    said = verdict.text_content() or ""
    kind = verdict.get_attribute("data-is") or ""
    assert said.strip() == (feedback.text_content() or "").strip()
    assert said.strip().startswith(verdicts[kind != "right"])
    assert len(said) > 20
    assert verdict.get_attribute("role") == "status"
    assert verdict.is_visible()
    return kind


# How far the line beside a verdict stands out from the page.
CONTRAST = """verdict => {
    const light = text => text.match(/[\\d.]+/g).slice(0, 3).map(value => value / 255)
        .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0.05);
    const line = light(getComputedStyle(verdict).borderLeftColor);
    const page = light(getComputedStyle(document.body).backgroundColor);
    return Math.max(line, page) / Math.min(line, page);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_line_beside_a_verdict_is_seen(browser: Browser, site: str, scheme: str) -> None:
    visit = Visit(browser, site, chapter("computation", "en"), **screen(360, scheme))
    check = visit.page.locator("#computation-axis")
    for option in check.locator(".option").all():
        option.locator("input").check()
        check.locator("button").click()
        assert check.locator(".verdict").evaluate(CONTRAST) >= 3
    visit.page.close()


def mark(page: Page, check: Locator, verdicts: tuple[str, str]) -> None:
    assert not check.get_by_role("checkbox").first.is_visible()
    check.locator("summary").press("Enter")
    boxes = check.get_by_role("checkbox")
    for number, box in enumerate(boxes.all(), 1):
        box.press("Space")
        assert check.locator(".count").inner_text() == f"{number} / {boxes.count()}"
    assert boxes.count() >= 2
    assert check.get_by_role("textbox").count() == 1


def test_choices_answer_without_scripts(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + chapter("computation", "en"))
    option = page.locator("#computation-axis .option").filter(has=page.locator(".feedback.right"))
    assert not option.locator(".feedback").is_visible()
    option.locator("input").check()
    assert option.locator(".feedback").is_visible()
    assert not page.locator("#computation-axis button").is_visible()
    number = page.locator("#computation-unmasked")
    number.locator("summary").click()
    assert number.locator(".value").first.is_visible()
    context.close()


def test_script_is_small() -> None:
    assert (ROOT / "book" / "theme" / "static" / "checks.js").stat().st_size <= 8 * 1024
