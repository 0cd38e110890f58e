"""The page that a student gets: what it says, and what it never shows."""

from __future__ import annotations

import base64
import json
import re
import shutil
import struct
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat.v4 as v4
import pytest
from mini import DOUBLE, hand_in

from course_lib import cli
from course_lib.course import Course, CourseError
from course_lib.grading import feedback_page
from course_lib.grading.feedback import Feedback, write_feedback
from course_lib.grading.feedback_page import ItemMark, SubmissionMarks, page
from course_lib.grading.foreign_notebook import parse_notebook
from course_lib.grading.run import grade
from course_lib.grading.workspace import nbgrader_at_work

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MARKS = SubmissionMarks(
    {"double": ItemMark(2.0, 3.0), "why": ItemMark(None, 2.0)},
    {"why": "Look at **rows**.", "double-solution": ""},
)


class Seen(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(*cells: Any, marks: SubmissionMarks = MARKS, language: str = "en") -> str:
    return page(
        v4.new_notebook(cells=list(cells)),
        marks,
        problem_set="mini",
        student="student-001",
        language=language,
    )


def code(source: str = "1", *outputs: Any) -> Any:
    return v4.new_code_cell(source, outputs=list(outputs))


def stream(text: str) -> Any:
    return v4.new_output("stream", name="stdout", text=text)


def picture(data: str, kind: str = "image/png") -> Any:
    return v4.new_output("display_data", data={kind: data})


HARMLESS = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "small", "table", "caption", "thead",
    "tbody", "tfoot", "tr", "th", "td", "a", "section", "div", "p", "span", "code", "pre", "b", "img", "strong",
}  # fmt: skip


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)><script>alert(1)</script></svg>",
        "[x](javascript:alert(1))",
        "<a href='javascript:alert(1)'>x</a>",
        "<iframe src='https://example.org'></iframe>",
        "<style>body { display: none }</style>",
        "<div style='position:fixed;inset:0'>covers the page</div>",
        "<form action='https://example.org'><input name=q></form>",
        "![x](https://example.org/pixel.png)",
        "<meta http-equiv=refresh content='0;url=https://example.org'>",
        "<base href='https://example.org/'>",
        "$\\text{<script>alert(1)</script>}$",
        "$$<script>alert(1)</script>$$",
        "`</pre><script>alert(1)</script>`",
        "</main></body><script>alert(1)</script>",
        "\ue0000\ue001<b onclick=alert(1)>x</b>",
        "$x\\;y$ <a title='&#xe000;0&#xe001;'>x</a>",
        f"$x\\;y$ ![$x\\;y$](data:image/png;base64,{PNG})",
    ],
)
def test_page_holds_no_script_and_asks_for_nothing(evil: str) -> None:
    error = v4.new_output("error", ename=evil, evalue=evil, traceback=[evil])
    html_output = v4.new_output("display_data", data={"text/html": evil, "image/svg+xml": evil})
    result = v4.new_output("execute_result", data={"text/plain": evil, "application/javascript": evil})
    verdict = v4.new_code_cell("", metadata={"nbgrader": {"grade": True, "grade_id": "double"}})
    verdict.outputs = [stream(f"double: 2 / 3\n  ✗ {evil}\n")]
    seen = Seen(
        page(
            v4.new_notebook(
                cells=[
                    v4.new_markdown_cell(evil),
                    v4.new_raw_cell(evil),
                    code(evil, stream(evil), error, html_output, result),
                    verdict,
                ]
            ),
            SubmissionMarks({evil: ItemMark(1.0, 1.0)}, {"double": evil}),
            problem_set="mini",
            student=evil,
            language="en",
            note=evil,
        )
    )
    assert set(seen.tags) - HARMLESS <= {"math", "mtext", "mo", "mi", "mn", "mrow", "mspace"}
    for tag, name, value in seen.attributes:
        assert re.fullmatch(r"(?!on)[a-z-]+", name), name
        assert name not in ("style", "srcset", "action", "formaction")
        if name in ("href", "src"):
            assert value.startswith(("#", "data:image/png;base64,")), (tag, value)
    assert seen.tags.count("meta") == 4
    policy = [value for tag, _, value in seen.attributes if tag == "meta" and "default-src" in value]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_page_shows_markdown_tables_links_and_formulas() -> None:
    cell = v4.new_markdown_cell(
        "**bold** [link](https://example.org) $\\frac{1}{2}$\n\n$$x^2$$\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    seen = Seen(shown(cell))
    assert seen.tags.count("math") == 2
    assert {"strong", "mfrac", "msup", "table"} <= set(seen.tags)
    assert ("a", "href", "https://example.org") in seen.attributes
    assert ("a", "rel", "noopener noreferrer") in seen.attributes


def test_page_shows_a_formula_that_is_not_understood_as_it_was_written() -> None:
    assert "\\nonsense{x}" in Seen(shown(v4.new_markdown_cell("$\\nonsense{x}$"))).text


def test_a_picture_in_words_is_one_of_a_size_that_can_be_drawn() -> None:
    """Of a million by a million pixels, the browser of whoever marks would run out of memory."""
    size = struct.pack("!II", 10**6, 10**6)
    bomb = base64.b64encode(base64.b64decode(PNG)[:16] + size + base64.b64decode(PNG)[24:]).decode()
    attachments = {"a.png": {"image/png": PNG}, "b.png": {"image/png": bomb}, "c.png": {"image/png": "AAAA"}}
    cell = {"cell_type": "markdown", "metadata": {}, "source": "", "attachments": attachments}
    text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})
    assert parse_notebook(text).cells[0].attachments == {"a.png": {"image/png": PNG}}


def test_page_shows_the_pictures_that_are_ones() -> None:
    cell = v4.new_markdown_cell("![mine](attachment:a.png) ![other](attachment:b.png)")
    cell.attachments = {"a.png": {"image/png": PNG}, "b.png": {"image/png": "PHNjcmlwdD4="}}
    outputs = [picture(PNG), picture("PHNjcmlwdD4="), picture("not base64"), picture(PNG, "image/svg+xml")]
    seen = Seen(shown(cell, code("1", *outputs)))
    sources = [value for tag, name, value in seen.attributes if (tag, name) == ("img", "src")]
    assert sources == [f"data:image/png;base64,{PNG}"] * 2


def test_page_shows_text_without_colours_and_control_characters() -> None:
    text = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x9b2J \x07\x00\u202etxet\ud800 bar\r50%\n"
    seen = Seen(shown(code("'\x1b[1m'", stream(text))))
    assert "red link txet bar\n50%" in seen.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", seen.text)


def test_page_stays_small_whatever_was_put_out() -> None:
    many = [code("1", *[stream("x" * 30_000) for _ in range(20)], *[picture(PNG)] * 20) for _ in range(100)]
    large = code("2", picture(PNG + "A" * feedback_page.MAX_PICTURE), stream("y" * 10**7))
    html = shown(*many, large, v4.new_markdown_cell("z" * 10**6), code("#" * 10**6))
    assert len(html) < 2 * 10**6
    assert html.count("[cut off here]") > 100


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10**5,
        "*a " * 10**5,
        "> " * 10**5,
        "<" * 10**5,
        "[a](" * 10**5,
        "$" * 10**5,
        "{" * 10**5,
        "\\{" * 10**5,
        "\\langle " * 10**5,
        "⟨" * 10**5,
        " \n" * 10**5,
        "\N{NO-BREAK SPACE}\t\n" * 10**5,
    ],
)
def test_page_is_made_in_bounded_time(text: str) -> None:
    start = time.process_time()
    shown(v4.new_markdown_cell(text), v4.new_markdown_cell(f"${text[:1900]}$"), code(text))
    assert time.process_time() - start < 10


def test_page_shows_a_formula_once_however_often_it_is_asked_for() -> None:
    formula = "$\\frac{1}{2}" + "x" * 1900 + "$"
    once, often = (
        len(shown(v4.new_markdown_cell(formula + more))) for more in ("", "&#xe000;0&#xe001;" * 2500)
    )
    assert often < once + 1000


def test_page_shows_so_much_source_and_no_more() -> None:
    cells = [v4.new_markdown_cell("**a** " * 8000) for _ in range(100)] + [
        code("x = 1\n" * 8000) for _ in range(100)
    ]
    assert len(shown(*cells)) < 40 * feedback_page.MAX_PAGE


def test_page_says_marks_comments_and_what_waits() -> None:
    answer = v4.new_markdown_cell(
        "Because.", metadata={"nbgrader": {"grade": True, "solution": True, "grade_id": "why"}}
    )
    text = Seen(shown(answer)).text
    assert re.search(r"double\s*2 / 3", text)
    assert re.search(r"why\s*Waits for a person's mark\.", text)
    assert re.search(r"Total\s*2 / 5", text)
    assert re.search(r"Comment:\s*Look at rows\.", text)
    late = Seen(shown(marks=SubmissionMarks(MARKS.items, {}, late_penalty=0.5), language="ko")).text
    assert re.search(r"늦게 낸 데 대한 감점\s*−0.5", late)
    assert re.search(r"합계\s*1.5 / 5", late)
    assert SubmissionMarks(MARKS.items, {}, late_penalty=99.0).score == 0.0


# A class


@pytest.fixture(scope="module")
def workspace(course: Course) -> Path:
    submitted = course.root / "handed-in"
    hand_in(course, submitted, "student-001", double_solution=DOUBLE.replace("2", "3"), why="It **is**.")
    failing = "def double(x):\n    print('private')\n    return missing_name * x"
    hand_in(course, submitted, "student-002", double_solution=failing, mean_solution="1 / 0")
    hand_in(course, submitted, "student-003").write_bytes(b"{")
    (course.root / "workspace" / "submitted" / "student-004" / "mini").mkdir(parents=True)
    grade(course, "mini", submitted, course.root / "workspace")
    return course.root / "workspace"


@pytest.fixture(scope="module")
def written(course: Course, workspace: Path) -> Feedback:
    return write_feedback(course, "mini", workspace)


def text_of(workspace: Path, student: str) -> str:
    path = workspace / "feedback" / student / "mini" / "mini.html"
    return Seen(path.read_text(encoding="utf-8")).text


def test_write_feedback_gives_each_student_one_page(workspace: Path, written: Feedback) -> None:
    assert (written.pages, written.without) == (3, ("student-004",))
    files = sorted(str(path.relative_to(written.folder)) for path in written.folder.rglob("*.*"))
    assert files == [f"student-00{number}/mini/mini.html" for number in (1, 2, 3)]
    assert written.folder.stat().st_mode & 0o777 == 0o700
    for number, path in enumerate(sorted(written.folder.rglob("*.html")), start=1):
        others = {1, 2, 3, 4} - {number}
        assert not any(f"student-00{other}" in path.read_text(encoding="utf-8") for other in others)


def test_write_feedback_names_the_mistake_and_the_hint(workspace: Path, written: Feedback) -> None:
    text = text_of(workspace, "student-001")
    assert re.search(r"double\s*1 / 3", text)
    assert "✗ numbers (2 points)" in text
    assert "→ A common mistake gives the same: that is three times" in text


def test_write_feedback_shows_their_own_error_with_its_line(workspace: Path, written: Feedback) -> None:
    text = text_of(workspace, "student-002")
    assert "The function ended in an error: NameError" in text
    assert text.count("return missing_name * x") == 2  # source, verdict
    assert "ZeroDivisionError: division by zero" in text
    assert "private" in text  # in their source


def test_write_feedback_shows_nothing_hidden(workspace: Path, written: Feedback) -> None:
    for student in ("student-001", "student-002"):
        text = text_of(workspace, student)
        assert "mark(" not in text
        assert "HIDDEN" not in text
        assert "the rubric" not in text
        assert "the model answer" not in text
        assert "factor" not in text


def test_write_feedback_says_what_could_not_be_read(workspace: Path, written: Feedback) -> None:
    text = text_of(workspace, "student-003")
    assert "What was handed in can't be read, so nothing was graded" in text
    assert "mini.ipynb is damaged: its JSON breaks off or is wrong at line 1" in text
    assert re.search(r"Total\s*0 / 7.5", text)


def test_write_feedback_shows_marks_given_since(course: Course, workspace: Path, written: Feedback) -> None:
    from nbgrader.api import Gradebook

    with nbgrader_at_work(), Gradebook(f"sqlite:///{workspace / 'gradebook.db'}") as gradebook:
        mark = gradebook.find_grade("why", "mini", "mini", "student-001")
        mark.manual_score, mark.needs_manual_grade = 1.5, False
        gradebook.find_comment("why", "mini", "mini", "student-001").manual_comment = "Nearly $x^2$."
        gradebook.db.commit()
    write_feedback(course, "mini", workspace)
    text = text_of(workspace, "student-001")
    assert re.search(r"why\s*1.5 / 2", text)
    assert "Nearly" in text


def test_write_feedback_says_that_only_what_came_before_could_be_read(
    course: Course, workspace: Path, written: Feedback
) -> None:
    path = workspace / "submitted" / "student-002" / "mini" / "mini.ipynb"
    readable = path.read_bytes()
    path.write_bytes(b"{")
    assert write_feedback(course, "mini", workspace) == written
    text = text_of(workspace, "student-002")
    assert "What was handed in last can't be read: mini.ipynb is damaged" in text
    assert "This is the result of what was handed in before." in text
    assert "ZeroDivisionError: division by zero" in text
    path.write_bytes(readable)
    write_feedback(course, "mini", workspace)
    assert "can't be read" not in text_of(workspace, "student-002")


@pytest.mark.parametrize("removed", ["student-999", "student-001,student-002"])
def test_write_feedback_passes_over_who_was_removed_from_the_gradebook(
    course: Course, workspace: Path, written: Feedback, removed: str
) -> None:
    folder = workspace / "autograded" / removed
    shutil.copytree(workspace / "autograded" / "student-001", folder)
    done = write_feedback(course, "mini", workspace)
    assert (done.pages, done.without) == (written.pages, (removed, *written.without))
    assert (workspace / "feedback" / "student-001").exists()
    assert not (workspace / "feedback" / removed).exists()
    shutil.rmtree(folder)


def test_write_feedback_lays_the_key_of_the_exchange_beside_the_page(course: Course, tmp_path: Path) -> None:
    """nbgrader's release_feedback names the file in the exchange after it."""
    path = hand_in(course, tmp_path / "handed-in", "student-001", double_solution=DOUBLE)
    (path.parent / "submission_secret.txt").write_text("a1b2c3\n", encoding="utf-8")
    (path.parent / "timestamp.txt").write_text("2027-03-01 12:00:00 UTC\n", encoding="utf-8")
    grade(course, "mini", tmp_path / "handed-in", tmp_path)
    folder = write_feedback(course, "mini", tmp_path).folder / "student-001" / "mini"
    assert {path.name for path in folder.iterdir()} == {"mini.html", "submission_secret.txt", "timestamp.txt"}
    assert (folder / "submission_secret.txt").read_text(encoding="utf-8") == "a1b2c3"


def test_write_feedback_needs_grades(course: Course, tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"mini has not been graded in .*\. Run: course grade mini"):
        write_feedback(course, "mini", tmp_path)


def test_feedback_command_says_where_the_pages_are(
    course: Course, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course.root)
    monkeypatch.setenv("COURSE_ROOT", str(course.root))
    for name in ("autograded", "submitted"):
        (course.root / name).symlink_to(workspace / name)
    shutil.copy(workspace / "gradebook.db", course.root)
    with pytest.raises(SystemExit) as end:
        cli.main(["feedback", "mini"])
    assert not end.value.code
    assert capsys.readouterr().out.splitlines() == [
        "Feedback: 3 pages in feedback/STUDENT/mini.",
        "Without a page, since nothing of theirs was graded: student-004.",
        "Next: course feedback mini --to canvas, moodle or folder packs them; "
        "on a hub: nbgrader release_feedback mini",
    ]
