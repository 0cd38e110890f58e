"""Formgrader in a real browser: a class graded by `course grade` is where a person who knows nbgrader looks for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mini import DOUBLE, MEAN, hand_in
from nbgrader.api import Gradebook
from playwright.sync_api import Browser, Page, expect

from course_lib.course import Course
from course_lib.grading.feedback import write_feedback
from course_lib.grading.run import grade

pytestmark = pytest.mark.slow

EVIL = (
    "<script>taken = 1</script> <svg onload='taken = 2'></svg> <img src='x' onerror='taken = 3'> $a<b$ "
    "<input class='score' id='double' value='3'> <div style='position:fixed;inset:0'>over all</div>"
)
SHOTS = os.environ.get("SHOTS")  # a folder for pictures, to look at


@pytest.fixture(scope="module")
def submitted(course: Course) -> Path:
    submitted = course.root / "handed-in"
    hand_in(
        course,
        submitted,
        "student-001",
        double_solution=DOUBLE,
        mean_solution=MEAN,
        why=f"It **averages**. {EVIL}",
    )
    hand_in(course, submitted, "student-002", double_solution="def double(x):\n    return 3 * x")
    hand_in(course, submitted, "student-003").write_bytes(b"{")
    (course.root / "workspace" / "submitted" / "student-004" / "mini").mkdir(parents=True)
    (submitted / "student-004" / "mini").mkdir(parents=True)
    (submitted / "student-005").mkdir()
    for name in ("student-001", "student-002"):
        stamp = "2027-03-01 12:00:00 UTC\n"
        (submitted / name / "mini" / "timestamp.txt").write_text(stamp, encoding="utf-8")
    return submitted


@pytest.fixture(scope="module")
def workspace(course: Course, submitted: Path) -> Path:
    workspace = course.root / "workspace"
    grade(course, "mini", submitted, workspace)
    return workspace


@pytest.fixture(scope="module")
def formgrader(workspace: Path) -> Iterator[str]:
    """The address of a server in the workspace, on loopback."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment |= {name: str(workspace / ".jupyter") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    options = ["--no-browser", "--ip=127.0.0.1", "--port=0", "--IdentityProvider.token=", "--allow-root"]
    with (workspace / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            cwd=workspace,
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        yield f"{_address(workspace / 'server.log')}formgrader"
    finally:
        server.terminate()
        server.wait()


def _address(log: Path) -> str:
    for _ in range(240):
        found = re.search(r"http://127\.0\.0\.1:\d+/", log.read_text(encoding="utf-8", errors="replace"))
        if found:
            try:
                urllib.request.urlopen(f"{found[0]}formgrader", timeout=60).close()
            except urllib.error.URLError:
                pass
            else:
                return found[0]
        time.sleep(0.5)
    raise AssertionError(log.read_text(encoding="utf-8", errors="replace")[-3000:])


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(60_000)
    yield page
    page.close()


@contextmanager
def saved(page: Page, what: str) -> Iterator[None]:
    """Waits until the server has what was written."""
    with page.expect_response(
        lambda answer: f"/api/{what}/" in answer.url and answer.request.method == "PUT"
    ):
        yield


def shoot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


def test_formgrader_lists_the_submissions_with_their_scores(formgrader: str, page: Page) -> None:
    page.goto(f"{formgrader}/manage_submissions/mini")
    row = page.locator("tr", has_text="student-001")
    expect(row).to_contain_text("5.5 / 7.5")
    expect(row).to_contain_text("needs manual grading")
    expect(row).to_contain_text("2027-03-01 12:00:00")
    other = page.locator("tr", has_text="student-002")
    expect(other).to_contain_text("1 / 7.5")
    expect(other).to_contain_text("graded")
    shoot(page, "submissions")


def test_formgrader_counts_what_is_graded(formgrader: str, page: Page) -> None:
    page.goto(f"{formgrader}/manage_assignments")
    row = page.locator("tr", has_text="mini")
    expect(row).to_contain_text("mini")
    shoot(page, "assignments")
    page.goto(f"{formgrader}/gradebook/mini/mini")
    expect(page.locator("tbody tr")).to_have_count(2)
    shoot(page, "gradebook")


def test_formgrader_lists_who_handed_in_nothing_as_stock_nbgrader_does(formgrader: str, page: Page) -> None:
    """Nothing of 7.5 points in the class; no score where there is no submission; nobody whom nobody knows."""
    page.goto(f"{formgrader}/manage_students")
    for student in ("student-003", "student-004"):
        expect(page.locator("tr", has_text=student)).to_contain_text("0 / 7.5")
    expect(page.locator("tr", has_text="student-005")).to_have_count(0)
    shoot(page, "students")
    page.goto(f"{formgrader}/manage_submissions/mini")
    for student in ("student-003", "student-004"):
        row = page.locator("tr", has_text=student)
        expect(row).to_contain_text("needs autograding")
        assert "/" not in row.locator(".score").inner_text()
    shoot(page, "submissions-missing")


def submission_of(student: str, workspace: Path) -> str:
    """The id under which formgrader shows a student's notebook; it lists them in the order of these."""
    with Gradebook(f"sqlite:///{workspace / 'gradebook.db'}") as gradebook:
        return str(gradebook.find_submission_notebook("mini", "mini", student).id)


def test_a_mark_by_hand_in_formgrader_is_in_the_report(
    formgrader: str, page: Page, course: Course, submitted: Path, workspace: Path
) -> None:
    page.goto(f"{formgrader}/submissions/{submission_of('student-001', workspace)}/")
    expect(page.locator("body")).to_contain_text("It averages.")
    expect(page.locator("body")).to_contain_text("double: 3 / 3 points")
    assert "mark(" not in page.content()
    boxes = page.locator("input.score")
    expect(boxes).to_have_count(3)
    assert [box.get_attribute("placeholder") for box in boxes.all()] == ["3", "2.5", None]
    shoot(page, "one")
    boxes.nth(2).fill("1.5")
    with saved(page, "grade"):
        page.locator("textarea.comment").last.fill("Say **of what**.")
    with saved(page, "comment"):
        boxes.nth(2).focus()
    shoot(page, "marked")
    report = grade(course, "mini", submitted, workspace)
    assert [item.score for item in report.students[0].items] == [3.0, 2.5, 1.5]
    assert report.students[0].status == "graded"
    page.goto(f"{formgrader}/manage_submissions/mini")
    expect(page.locator("tr", has_text="student-001")).to_contain_text("7 / 7.5")
    shoot(page, "submissions-after")


def test_formgrader_runs_nothing_of_a_submission(formgrader: str, page: Page, workspace: Path) -> None:
    """Its page has all the rights of whoever marks."""
    said: list[str] = []
    page.on("request", lambda request: said.append(request.url))
    page.goto(f"{formgrader}/submissions/{submission_of('student-001', workspace)}/")
    expect(page.locator("body")).to_contain_text("It averages.")
    expect(page.locator("body")).to_contain_text("$a<b$")
    page.wait_for_timeout(1_000)
    assert page.evaluate("typeof taken") == "undefined"
    assert page.locator(".rendered_html").locator("input, svg, script, img[src], div[style]").count() == 0
    expect(page.locator("input.score")).to_have_count(3)
    assert not [url for url in said if url.endswith("/x")]


def test_formgrader_grades_and_gives_feedback_through_the_rooms(
    formgrader: str, page: Page, workspace: Path
) -> None:
    """Its own buttons run nbgrader's autograde and generate_feedback."""
    page.goto(f"{formgrader}/manage_submissions/mini")
    row = page.locator("tr", has_text="student-002")
    row.locator("td.autograde a, .autograde a").click()
    expect(page.locator(".modal-dialog")).to_contain_text("Success", timeout=120_000)
    shoot(page, "autograded")
    page.locator(".modal-dialog button", has_text="OK").click()
    expect(page.locator("tr", has_text="student-002")).to_contain_text("1 / 7.5")
    page.locator("tr", has_text="student-002").locator(".generate-feedback a").click()
    expect(page.locator(".modal-dialog")).to_contain_text("Success", timeout=120_000)
    feedback = workspace / "feedback" / "student-002" / "mini" / "mini.html"
    assert "that is three times" in feedback.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("student", ["student-001", "student-002", "student-003"])
def test_feedback_fits_a_desk_and_a_phone(
    course: Course, workspace: Path, browser: Browser, student: str, width: int
) -> None:
    write_feedback(course, "mini", workspace)
    page = browser.new_page(viewport={"width": width, "height": 900})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: said.append(request.url))
    address = (workspace / "feedback" / student / "mini" / "mini.html").as_uri()
    page.goto(address)
    assert said == [address]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shoot(page, f"{student}-{width}")
    page.close()
