"""The figures that answer, in a real browser: their numbers are course_lib's, and they keep their state."""

from __future__ import annotations

import gzip
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from pages import ROOT, Visit, serve
from playwright.sync_api import Browser, Page

FIGURES = ROOT / "book" / "figures"
NAMES = ["four-steps", "why-sqrt", "score-control", "attention-and-ffn", "blocks"]
LANGUAGES = ("ko", "en")
DRAWS = 200
# A file as it lies there, and what is served for one figure: its file and the module that all share.
MOST_BYTES = 15 * 1024

sys.path.insert(0, str(ROOT))
tables = import_module("book.theme.figures")


@pytest.mark.parametrize("name", NAMES)
def test_figure_is_light(name: str) -> None:
    files = [(FIGURES / f"{file}.js").read_bytes() for file in (name, "answer")]
    assert max(map(len, files)) <= MOST_BYTES
    assert sum(len(gzip.compress(file)) for file in files) <= MOST_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_no_particle_follows_a_number_that_changes(name: str) -> None:
    """It would have to change with the number: 3을, but 4를."""
    text = (FIGURES / f"{name}.js").read_text(encoding="utf-8")
    assert re.findall(r"\$\{[^}]*\}(?:</b>)?(?:이|가|을|를|은|는|과|와|으로|로)[ ,.]", text) == []


def test_normals_are_standard_normal() -> None:
    drawn = tables.normals(3, 40_000)
    assert abs(drawn.mean()) < 0.02
    assert abs(drawn.var() - 1) < 0.03
    assert len(set(drawn.tolist())) == len(drawn)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page for each language with every figure on it, the first one twice."""
    folder = tmp_path_factory.mktemp("figures")
    for path in FIGURES.glob("*.*s"):
        shutil.copy(path, folder)
    style = (ROOT / "book" / "theme" / "static" / "course.css").read_text(encoding="utf-8")
    [sizes] = re.findall(r"^html \{ --smaller:.*$", style, re.M)
    for language in LANGUAGES:
        elements = [tables.element(name, language, name) for name in NAMES]
        elements.append(tables.element(NAMES[0], language, f"{NAMES[0]}-2"))
        (folder / f"{language}.html").write_text(
            f'<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>figures</title>'
            f'<link rel="icon" href="data:,"><style>{sizes}</style>{tables.head(NAMES, str)}</head>'
            f"<body><main><h1>figures</h1>{''.join(elements)}</main></body></html>",
            encoding="utf-8",
        )
    with serve(folder) as address:
        yield address


@pytest.fixture
def visit(browser: Browser, site: str) -> Iterator[Any]:
    """Opens an address; at the end nothing may have been complained about or asked of other hosts."""
    visits: list[Visit] = []

    def open_page(address: str, **options: Any) -> Page:
        visits.append(Visit(browser, site, address, **options))
        return visits[-1].page

    yield open_page
    for one in visits:
        one.page.close()
    assert [text for one in visits for text in one.complaints] == []


def draw(name: str, rng: np.random.Generator) -> dict[str, Any]:
    """A state that a reader may set, drawn at random."""
    if name == "four-steps":
        n_q, n_k, d_k, d_v = (int(rng.integers(1, most + 1)) for most in (4, 6, 8, 4))
        q, k, v = (rng.normal(scale=3, size=size).tolist() for size in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))
        m = rng.integers(0, 2, size=(n_q, n_k)).tolist()
        flags = {flag: int(rng.integers(0, 2)) for flag in ("scale", "mask")}
        return {"q": q, "k": k, "v": v, "m": m, **flags, "times": int(rng.integers(1, 21))}
    if name == "why-sqrt":
        return {"d": int(2 ** rng.uniform(0, 10)), "seed": int(rng.integers(1, 6))}
    if name == "score-control":
        t, gain, cap = rng.uniform(1, 32), rng.uniform(0.25, 8), rng.uniform(5, 100)
        return {"t": float(t), "gain": float(gain), "cap": float(cap), "seed": int(rng.integers(1, 10_000))}
    if name == "attention-and-ffn":
        heads = int(rng.integers(1, 129))
        group = int(rng.choice([size for size in range(1, heads + 1) if heads % size == 0]))
        layers, n = int(rng.integers(1, 129)), int(rng.integers(1, 131_073))
        return {"n": n, "d": 128 * heads, "layers": layers, "group": group}
    keys = int(rng.integers(2, 17))
    block = int(rng.integers(1, keys + 1))
    step = int(rng.integers(0, -(-keys // block) + 1))
    seed, n = int(rng.integers(1, 10_000)), int(rng.integers(64, 131_073))
    return {"keys": keys, "block": block, "step": step, "seed": seed, "n": n}


NUMBERS = """([name, states]) => {
    const figure = document.querySelector(`#figure-${name}`);
    const word = (value) => (Number.isFinite(value) || value === null ? value : String(value));
    return states.map((state) => {
        figure.state = figure.fit(state);
        figure.update();
        return figure.result.rows.map(([head, ...values]) => [head, ...values.map(word)]);
    });
}"""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_figure_has_the_numbers_of_course_lib(visit: Any, name: str) -> None:
    rng = np.random.default_rng(NAMES.index(name))
    states = sorted((draw(name, rng) for _ in range(DRAWS)), key=lambda state: state.get("seed", 0))
    answers = visit("en.html").evaluate(NUMBERS, [name, states])
    for state, answer in zip(states, answers, strict=True):
        expected = tables.rows(name, state)
        assert [row[0] or "" for row in answer] == [label for label, _ in expected]
        for (_, *given), (label, wanted) in zip(answer, expected, strict=True):
            assert [value is None for value in given] == [value is None for value in wanted], (state, label)
            ours, theirs = ([float(v) for v in values if v is not None] for values in (given, wanted))
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12, err_msg=f"{state} {label}")


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_table_without_scripts_is_the_one_of_the_figure(visit: Any, language: str) -> None:
    bare = visit(f"{language}.html", java_script_enabled=False)
    alive = visit(f"{language}.html")
    for name in NAMES:
        table = bare.locator(f"#figure-{name} table")
        assert table.is_visible()
        alive.locator(f"#figure-{name} summary").click()
        assert alive.locator(f"#figure-{name} table").inner_text() == table.inner_text()


CHANGES = {
    "four-steps": ("logits", "10", "times:10"),
    "why-sqrt": ("d", "256", "d:256"),
    "score-control": ("t", "8", "t:8"),
    "attention-and-ffn": ("n", "2048", "n:2048"),
    "blocks": ("step", "4", "step:4"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_state_is_kept_in_the_address_and_said_once(visit: Any, name: str) -> None:
    key, _, value = CHANGES[name][2].partition(":")
    page = visit("en.html?other=1")
    figure = page.locator(f"#figure-{name}")
    before = figure.locator(".answer-sentence").inner_text()
    figure.locator(f"input[type=number][data-key={key}]").fill(value)
    page.wait_for_function("location.search.includes(':')")
    said = page.locator("[aria-live]")
    assert said.count() == 1
    assert said.inner_text() == figure.locator(".answer-sentence").inner_text() != before
    assert len(said.inner_text()) < 200
    link = figure.locator(".answer-foot a").get_attribute("href")
    assert link == f"/en.html?other=1&{name}={CHANGES[name][2]}#figure-{name}"
    again = visit(link.removeprefix("/")).locator(f"#figure-{name}")
    assert again.locator(".answer-sentence").inner_text() == said.inner_text()
    assert again.locator(f"input[type=number][data-key={key}]").input_value() == value


# As large as a reader may make each.
LARGEST = {
    "four-steps": {
        "q": [[-30.5] * 8, *[[0.1] * 8] * 3], "k": [[-30.5] * 8] * 6, "v": [[-30.5] * 4] * 6, "m": [[0, 1] * 3] * 4,
        "scale": 1, "mask": 1, "times": 20,
    },
    "why-sqrt": {"d": 1024, "seed": 1},
    "score-control": {"t": 32, "gain": 8, "cap": 100, "seed": 1},
    "attention-and-ffn": {"n": 131_072, "d": 16_384, "layers": 128, "group": 2},
    "blocks": {"keys": 16, "block": 1, "step": 16, "seed": 76, "n": 131_072},
}  # fmt: skip
CROWDED = """([name, state]) => {
    const figure = document.querySelector(`#figure-${name}`);
    figure.state = figure.fit(state);
    figure.update();
    const { right } = figure.getBoundingClientRect();
    const parts = [...figure.querySelectorAll("svg, text, .matrix, .cell")].filter(one => one.checkVisibility());
    const boxes = parts.map(one => [one, one.getBoundingClientRect()]);
    const texts = boxes.filter(([one, box]) => one.tagName === "text" && box.width);
    const range = document.createRange();
    const written = one => (range.selectNodeContents(one), range.getBoundingClientRect().width);
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
    return [
        ...boxes.filter(([, box]) => box.right > right).map(([one]) => one.textContent.trim() || one.className),
        ...boxes.filter(([one, box]) => one.matches(".cell") && written(one) > box.width)
            .map(([one]) => one.textContent),
        ...texts.flatMap(([one, box], place) => texts.slice(place + 1).filter(([, other]) => meet(box, other))
            .map(([other]) => `${one.textContent} on ${other.textContent}`)),
    ];
}"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_sticks_out_or_lies_on_each_other(visit: Any, language: str, width: int) -> None:
    page = visit(f"{language}.html", viewport={"width": width, "height": 900})
    for name in NAMES:
        for state in (tables.START[name], LARGEST[name]):
            assert page.evaluate(CROWDED, [name, state]) == [], (name, state)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


ON_PAPER = """figure => {
    const seen = selector => [...figure.querySelectorAll(selector)].filter(one => one.checkVisibility());
    const { right } = figure.getBoundingClientRect();
    return {
        wide: seen("svg, .matrix, td").filter(one => one.getBoundingClientRect().right > right).length,
        drawn: seen("svg, .matrix").length > 0,
        title: seen(".answer-title").map(one => one.innerText),
        table: seen("td").length > 0,
        controls: seen("input[type=range], button:not(.cell), select, summary, .answer-foot a").length,
    };
}"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
def test_figure_on_paper_is_a_picture_with_its_title(visit: Any, width: int) -> None:
    page = visit("en.html", viewport={"width": width, "height": 900})
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 567, "height": 900})  # what lies between the margins of a sheet
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for name in NAMES:
        title = tables.TITLES[name][1]
        printed = page.locator(f"#figure-{name}").evaluate(ON_PAPER)
        assert printed == {"wide": 0, "drawn": True, "title": [title], "table": False, "controls": 0}
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "address", ["d:NaN", "d:1e9;seed:-4", "d", "nothing:1;d:x", "q:1/1,2;k:;v:1,2,3", "%E0"]
)
def test_nonsense_in_the_address_is_put_right(visit: Any, address: str) -> None:
    page = visit("en.html?" + "&".join(f"{name}={address}" for name in NAMES))
    assert page.locator(".answer-sentence").count() == len(NAMES) + 1
    assert "NaN" not in page.locator("main").inner_text()


@pytest.mark.slow
def test_keyboard_reaches_what_an_output_is_made_of(visit: Any) -> None:
    page = visit("en.html")
    figure = page.locator("#figure-four-steps")
    figure.locator("button.cell").first.focus()
    assert figure.locator(".answer-sentence").inner_text() == "O₁₁ = 0.506·1 + 0.186·0 + 0.307·0.5 = 0.66"
    # The Query, all Keys, a row of M, S, L and A each, a column of V, and the entry itself.
    assert figure.locator(".made").count() == 4 + 12 + 3 + 3 + 3 + 3 + 3 + 1
    page.keyboard.press("Tab")
    assert figure.locator(".answer-sentence").inner_text().startswith("O₁₂ = ")
    page.wait_for_function("document.querySelector('[aria-live]')?.textContent.startsWith('O₁₂ = ')")
    page.keyboard.press("Tab")
    assert figure.locator(".made").count() == 0


@pytest.mark.slow
def test_number_beyond_the_ends_is_put_right_when_it_is_left(visit: Any) -> None:
    typed = visit("en.html").locator("#figure-why-sqrt input[type=number]")
    typed.fill("5000")
    assert typed.input_value() == "5000"
    typed.press("Tab")
    assert typed.input_value() == "1024"
    typed.fill("")
    assert typed.get_attribute("aria-invalid") == "true"


@pytest.mark.slow
def test_four_steps_takes_what_is_typed_and_any_size(visit: Any) -> None:
    page = visit("en.html")
    figure, other = page.locator("#figure-four-steps"), page.locator("#figure-four-steps-2")
    figure.locator("input[data-size=n_q]").fill("2")
    figure.locator("input[data-key=q][data-at='1 3']").fill("-3")
    figure.locator("input[data-key=m][data-at='0 0']").uncheck()
    assert page.evaluate("document.querySelector('#figure-four-steps').result.S") == [[2, 0, 1], [0, -3, 0]]
    assert page.evaluate("document.querySelector('#figure-four-steps').result.A[0][0]") == 0
    assert figure.locator("select").input_value() == ""
    figure.locator("select").select_option("0")
    assert figure.locator("button.cell").count() == 2
    assert other.locator("button.cell").count() == 2
