"""The book's builder on a book of two short chapters, with a library of one number behind it."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from course_lib.course import Course, CourseError
from course_lib.release.site import build_site

ROOT = Path(__file__).resolve().parents[1]
HEAD = "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n"
INDEX = f"""{HEAD}
(index)=
# 첫 장

```{{code-cell}}
:tags: [tab-numpy]
print("numpy", 3.0)
```

```{{code-cell}}
:tags: [tab-torch]
print("torch", 3.0)
```

```{{code-cell}}
from course_lib import ANSWER

print("answer", ANSWER)
```

가중합은 $\\sqrt{{d_k}}$로 나눈다.
"""
SECOND = f"{HEAD}\n(second)=\n# 둘째 장\n\n글이다.\n"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    shutil.copytree(
        ROOT / "book" / "theme", tmp_path / "book" / "theme", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "_config.yml", tmp_path)
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/ko/index\nchapters:\n  - file: book/ko/second\n", encoding="utf-8"
    )
    shutil.copy(ROOT / "book" / "references.bib", tmp_path / "book")
    (tmp_path / "book" / "ko").mkdir()
    (tmp_path / "course_lib").mkdir()
    course = Course(root=tmp_path)
    write(course, "book/ko/index.md", INDEX)
    write(course, "book/ko/second.md", SECOND)
    write(course, "course_lib/__init__.py", "ANSWER = 41\n")
    return course


def write(course: Course, name: str, text: str) -> None:
    (course.root / name).write_text(text, encoding="utf-8")


def page(course: Course, name: str) -> Path:
    return course.build / "html" / "book" / "ko" / f"{name}.html"


def read(course: Course, name: str) -> str:
    return page(course, name).read_text(encoding="utf-8")


def test_build_site_takes_a_change_in_the_library_into_the_pages(course: Course) -> None:
    report = build_site(course)
    html = read(course, "index")
    assert report.rebuilt
    assert report.pages["ko"].read_text(encoding="utf-8").count("book/ko/index.html") == 2
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
    write(english, "book/en/index.md", INDEX + "\nOne more line.\n")
    build_site(english)
    assert built()["ko"] == before["ko"]
    assert "One more line" in pages["en"].read_text(encoding="utf-8")

    before = built()
    write(english, "book/en/second.md", f"{SECOND}\n{{ref}}`nowhere`\n")
    for _ in range(2):
        with pytest.raises(CourseError, match=r"The book \(en\) could not be built: .*nowhere"):
            build_site(english)
    write(english, "book/en/second.md", SECOND)
    assert build_site(english).rebuilt
    assert built()["ko"] == before["ko"]


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
