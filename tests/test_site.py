"""The book's builder on a book of two short chapters, with a library of one number behind it."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import struct
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import nbclient
import pytest
from jupyter_client.client import KernelClient
from mini_book import INDEX, ROOT, SECOND, make_book, write
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from nbformat.v4 import new_code_cell

from course_lib.course import Course, CourseError
from course_lib.release import site, sphinx_run
from course_lib.release.link_check import look_at_links
from course_lib.release.site import build_site, failure_in


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return make_book(tmp_path)


def page(course: Course, name: str) -> Path:
    return course.build / "html" / "book" / "ko" / f"{name}.html"


def read(course: Course, name: str) -> str:
    return page(course, name).read_text(encoding="utf-8")


def test_build_site_takes_a_change_in_the_library_into_the_pages(course: Course) -> None:
    report = build_site(course)
    html = read(course, "index")
    assert report.rebuilt
    entry = report.pages["ko"].read_text(encoding="utf-8")
    assert entry.count("book/ko/index.html") == 2
    [icon] = re.findall(r'<link rel="icon" href="([^"]*)">', entry)
    assert (report.pages["ko"].parent / icon).is_file()
    assert "answer 41" in html
    assert '<html lang="ko"' in html
    assert "<msqrt>" in html
    assert html.count('class="sd-tab-label"') == 2

    again = build_site(course)
    assert not again.rebuilt
    assert again.seconds < 1

    write(course, "course_lib/__init__.py", "ANSWER = 42\n")
    assert build_site(course).rebuilt
    assert "answer 42" in read(course, "index")


@pytest.mark.slow
def test_build_site_executes_again_only_what_changed(course: Course) -> None:
    write(
        course,
        "book/ko/second.md",
        SECOND + "```{code-cell}\nimport time\n\nprint('at', time.time_ns())\n```\n",
    )
    build_site(course)
    before, executed = page(course, "second").stat().st_mtime_ns, read(course, "second")
    write(course, "book/ko/index.md", INDEX + "\n한 줄 더.\n")
    build_site(course)
    assert "한 줄 더" in read(course, "index")
    assert read(course, "second") == executed
    write(course, "book/theme/static/course.css", "body { color: black; }\n")
    build_site(course)
    assert page(course, "second").stat().st_mtime_ns > before
    assert read(course, "second").partition("at ")[2][:19] == executed.partition("at ")[2][:19]


def test_build_site_takes_a_chapter_that_was_saved_while_it_was_being_built(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save_and_run(*arguments: Any) -> int:
        if not page(course, "index").exists():
            write(course, "book/ko/index.md", INDEX + "\n한 줄 더.\n")
        return run(*arguments)

    run = site._run
    monkeypatch.setattr(site, "_run", save_and_run)
    build_site(course)
    assert "한 줄 더" in read(course, "index")
    style = (course.build / "html" / "_static" / "book.css").read_bytes()
    assert build_site(course).rebuilt
    assert "한 줄 더" in read(course, "index")
    assert (course.build / "html" / "_static" / "book.css").read_bytes() == style


@pytest.mark.slow
@pytest.mark.parametrize(
    ("addition", "complaint"),
    [
        ("```{code-cell}\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```{code-cell}\nimport sys\n\nprint('oh', file=sys.stderr)\n```\n", "stderr"),
        ("$\\nosuchcommand$\n", "can't be drawn"),
        ("$\\sqrt{\\frac{a}{b}}$\n", "root sign"),
        ("{ref}`nowhere`\n", "nowhere"),
        ("{glue:text}`nowhere`\n", "nowhere"),
    ],
    ids=["cell", "stderr", "equation", "root", "reference", "glue"],
)
def test_build_site_refuses_until_the_fault_is_mended(course: Course, addition: str, complaint: str) -> None:
    write(course, "book/ko/second.md", f"{SECOND}\n{addition}")
    for _ in range(2):
        with pytest.raises(CourseError, match=complaint) as refusal:
            build_site(course)
        assert "second" in str(refusal.value)
        assert str(course.build / "book-ko.log") in str(refusal.value)
    write(course, "book/ko/second.md", SECOND)
    assert build_site(course).rebuilt


FAILING = {
    "assert": ("assert sum([1, 2]) == 4", "raised AssertionError, without a text."),
    "numpy": (
        "import numpy as np\n\nnp.testing.assert_allclose([1.0], [2.0])",
        "raised AssertionError: Not equal to tolerance",
    ),
    "kernel": ("import os\n\nos._exit(1)", "raised DeadKernelError: Kernel died"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAILING)
def test_build_site_names_the_cell_that_failed(course: Course, kind: str) -> None:
    code, said = FAILING[kind]
    write(course, "book/ko/second.md", f"{SECOND}\n```{{code-cell}}\n{code}\n```\n")
    with pytest.raises(CourseError) as refusal:
        build_site(course)
    line = SECOND.count("\n") + 3
    begins = f", line {line}, which begins {code.splitlines()[0]!r}," if kind != "kernel" else ""
    message = str(refusal.value)
    assert f"The book (ko) could not be built: the cell at book/ko/second.md{begins} {said}" in message
    assert "\n" not in message
    assert message.endswith(f"the whole log is {course.build / 'book-ko.log'}.")


def raised(kind: str, text: str, source: str = "x = 1") -> Exception:
    message = {"ename": kind, "evalue": text, "traceback": ["..."]}
    return CellExecutionError.from_cell_and_msg(new_code_cell(source, outputs=[]), message)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            raised("SyntaxError", "'(' was never closed (1, 4)"),
            "raised SyntaxError: '(' was never closed (1, 4).",
        ),
        (raised("Odd", ""), "raised Odd, without a text."),
        (raised("KeyError", "\x1b[31m'q'\x1b[0m"), "raised KeyError: 'q'."),
        (raised("ValueError", "two\n  lines."), "raised ValueError: two lines."),
        (raised("ValueError", "word " * 200), "word word …."),
        (
            CellTimeoutError.error_from_timeout_and_cell("Timeout", 120, new_code_cell("x = 1")),
            "raised CellTimeoutError: A cell timed out while it was being executed, after 120 seconds.",
        ),
    ],
    ids=["syntax", "own", "coloured", "lines", "long", "timeout"],
)
def test_failure_in_says_page_line_code_and_error(course: Course, error: Exception, expected: str) -> None:
    write(course, "book/ko/second.md", f"{SECOND}\n```{{code-cell}}\nx = 1\n```\n")
    log = course.root / "log"
    failed = sphinx_run._failed_cell(course.root / "book" / "ko" / "second.md", error)
    log.write_text(
        f"reading\n{sphinx_run.FAILED_CELL}{json.dumps(failed)}\nAssertionError: \n", encoding="utf-8"
    )
    said = failure_in(course, log)
    line = SECOND.count("\n") + 3
    assert said.startswith(f"the cell at book/ko/second.md, line {line}, which begins 'x = 1', raised")
    assert said.endswith(expected)
    assert len(said) < 450


@pytest.mark.parametrize(
    ("said", "died", "tries"),
    [("Kernel died before replying to kernel_info", 1, 2), ("Kernel died before replying to kernel_info", 2, 2),
     ("no such kernel", 1, 1)],
)  # fmt: skip
def test_a_kernel_that_did_not_start_is_started_once_more(
    monkeypatch: pytest.MonkeyPatch, said: str, died: int, tries: int
) -> None:
    starts = []

    def lose_some(notebook: Any, **options: Any) -> Any:
        starts.append(options)
        if len(starts) <= died:
            raise RuntimeError(said)
        return notebook

    assert sphinx_run.NOT_STARTED in inspect.getsource(KernelClient._async_wait_for_ready)
    monkeypatch.setattr(nbclient, "execute", lose_some)
    with pytest.raises(RuntimeError, match=said) if died >= tries else nullcontext():
        assert sphinx_run._execute("notebook", cwd="here") == "notebook"
    assert starts == [{"cwd": "here", "coalesce_streams": True}] * tries


def test_build_site_names_a_missing_file(course: Course) -> None:
    (course.root / "_toc.yml").unlink()
    with pytest.raises(CourseError, match=r"_toc\.yml, which is missing"):
        build_site(course)
    assert not course.build.exists()


@pytest.fixture
def english(course: Course) -> Course:
    """The same course with a book in English, too."""
    (course.root / "book" / "en").mkdir()
    shutil.copy(ROOT / "book" / "en" / "_config.yml", course.root / "book" / "en")
    write(course, "book/en/_toc.yml", "format: jb-book\nroot: index\nchapters:\n  - file: second\n")
    write(
        course,
        "book/en/index.md",
        INDEX.replace("첫 장", "First chapter").replace("가중합은", "By").replace("로 나눈다", ""),
    )
    write(course, "book/en/second.md", SECOND.replace("둘째 장", "Second chapter").replace("글이다", "Text"))
    return course


@pytest.mark.slow
def test_build_site_builds_only_the_language_that_changed(english: Course) -> None:
    report = build_site(english)
    html = english.build / "html"
    pages = {"ko": html / "book" / "ko" / "index.html", "en": html / "en" / "index.html"}
    texts = {language: path.read_text(encoding="utf-8") for language, path in pages.items()}
    assert report.pages == {"ko": html / "index.html", "en": pages["en"]}
    assert 'href="../../en/index.html" hreflang="en"' in texts["ko"]
    assert 'href="../book/ko/index.html" hreflang="ko"' in texts["en"]
    assert '<html lang="en"' in texts["en"]
    assert not list(html.rglob("jupyter_execute"))
    assert not list(html.rglob(".jupyter_cache"))

    def built() -> dict[str, int]:
        return {language: path.stat().st_mtime_ns for language, path in pages.items()}

    before = built()
    (html / "attention-en.pdf").write_bytes(b"%PDF-1.7")  # as `course build --pdf` leaves it
    write(english, "book/en/index.md", INDEX + "\nOne more line.\n")
    build_site(english)
    assert built()["ko"] == before["ko"]
    text = pages["en"].read_text(encoding="utf-8")
    assert "One more line" in text
    assert text.count('href="../attention-en.pdf" type="application/pdf"') == 1

    before = built()
    write(english, "book/en/second.md", f"{SECOND}\n{{ref}}`nowhere`\n")
    for _ in range(2):
        with pytest.raises(CourseError, match=r"The book \(en\) could not be built: .*nowhere"):
            build_site(english)
    write(english, "book/en/second.md", SECOND)
    assert build_site(english).rebuilt
    assert built()["ko"] == before["ko"]


def card_of(html: str) -> dict[str, str]:
    found = re.findall(
        r'<meta (?:name|property)="((?:og:|twitter:|description)[\w:]*)" content="([^"]*)">', html
    )
    assert len(found) == len(dict(found))
    return dict(found)


@pytest.mark.slow
def test_pages_describe_themselves_with_addresses_where_the_site_is_known(english: Course) -> None:
    opening = (
        ":::{admonition} In this chapter\n:class: tip\n- **You learn**: to say $\\sqrt{d_k}$ & more.\n:::\n"
    )
    write(english, "book/en/second.md", f"{SECOND.replace('둘째 장', 'Second')}\n{opening}")
    build_site(english)
    html = english.build / "html"
    card = card_of((html / "en" / "second.html").read_text(encoding="utf-8"))
    assert card == {
        "description": "to say √d_k &amp; more.",
        "twitter:card": "summary",
        "og:title": "Second",
        "og:description": "to say √d_k &amp; more.",
        "og:type": "article",
        "og:site_name": "Scaled Dot-Product Attention",
        "og:locale": "en_US",
        "og:locale:alternate": "ko_KR",
    }
    assert not (html / "_static" / "card.png").exists()

    # The picture is drawn by the library of the course.
    shutil.copytree(ROOT / "course_lib", english.root / "course_lib", dirs_exist_ok=True)
    with (english.root / "course_lib" / "__init__.py").open("a", encoding="utf-8") as library:
        library.write("\nANSWER = 41\n")
    published = replace(english, site="https://example.org/course")
    assert build_site(published).rebuilt
    for page, place in (("index.html", ""), ("book/ko/index.html", ""), ("en/index.html", "en/")):
        text = (html / page).read_text(encoding="utf-8")
        card = card_of(text)
        address = "https://example.org/course/" + (page if place else "book/ko/index.html")
        assert card["og:url"] == address
        assert card["og:image"] == f"https://example.org/course/{place}_static/card.png"
        assert card["og:type"] == "website"
        width, height = struct.unpack(">II", (html / place / "_static" / "card.png").read_bytes()[16:24])
        assert (str(width), str(height)) == (card["og:image:width"], card["og:image:height"])
    assert look_at_links(html, "https://example.org/course/").broken == []


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("book.theme.korean_search").SearchKorean({})


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("가중합으로 섞는다", "가중"),
        ("가중합으로 섞는다", "가중합"),
        ("지수를 취하기", "지수"),
        ("행렬에서", "행렬"),
        ("출력은", "출력"),
        ("Softmax를 적용", "Softmax"),
        ("mask된 위치", "mask"),
    ],
)
def test_search_finds_words_that_particles_stick_to(search: Any, text: str, query: str) -> None:
    # The search page splits a query into words and looks each up as it stands.
    assert query in search.split(text)
