"""`course serve` as somebody runs it who writes: a chapter changes, fails, is mended, and a browser shows it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mini_book import INDEX, make_book, write
from playwright.sync_api import Browser, expect

from course_lib.course import Course, CourseError
from course_lib.release.serve import serve_book
from course_lib.release.site import build_site

PATIENCE = 600  # seconds, for a server that says nothing


class Served:
    """The command in a process group of its own, as in a terminal, and what it says line by line."""

    def __init__(self, course: Course) -> None:
        command = [str(Path(sys.executable).with_name("course")), "serve", "--port", "0"]
        environment = {name: value for name, value in os.environ.items() if name != "COURSE_ROOT"}
        self.process = subprocess.Popen(
            command,
            cwd=course.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
            # As in a terminal, also where the tests run in the background, in which shells ignore interrupts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        self.watchdog = threading.Timer(PATIENCE, self.process.kill)
        self.watchdog.start()

    def until(self, text: str) -> str:
        """The first line from now on in which it stands."""
        for line in self.process.stdout or ():
            if text in line:
                return line
        raise AssertionError(f"it ended without saying {text!r}")

    def interrupt(self) -> tuple[int, str, str]:
        os.killpg(self.process.pid, signal.SIGINT)
        said, complained = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said, complained


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return make_book(tmp_path)


@pytest.fixture
def served(course: Course) -> Iterator[Served]:
    served = Served(course)
    yield served
    served.watchdog.cancel()
    if served.process.poll() is None:
        served.process.kill()
        served.process.communicate()


@pytest.mark.slow
def test_serve_book_shows_each_change_and_outlives_an_error(
    course: Course, served: Served, browser: Browser
) -> None:
    served.until("Built in")
    address = re.search(r"http://127\.0\.0\.1:\d+/", served.until("The book: "))
    assert address
    page = browser.new_page()
    page.goto(address[0])
    page.wait_for_url("**/book/ko/index.html")
    article = page.locator("article")
    expect(article).to_contain_text("answer 41")

    write(course, "book/ko/index.md", f"{INDEX}\n한 줄 더.\n")
    served.until("Built in")
    page.reload()
    expect(article).to_contain_text("한 줄 더.")

    write(course, "book/ko/index.md", f"{INDEX}\n```{{code-cell}}\n1 / 0\n```\n")
    said = served.until("could not be built")
    assert "which begins '1 / 0', raised ZeroDivisionError: division by zero." in said
    page.reload()
    expect(article).to_contain_text("한 줄 더.")

    write(course, "book/ko/index.md", f"{INDEX}\n고쳤다.\n")
    served.until("Built in")
    page.reload()
    expect(article).to_contain_text("고쳤다.")

    write(course, "course_lib/__init__.py", "ANSWER = 42\n")
    served.until("Built in")
    page.reload()
    expect(article).to_contain_text("answer 42")
    page.close()
    assert served.interrupt() == (0, "Ended.\n", "")


@pytest.mark.slow
def test_serve_book_ends_cleanly_within_a_build(course: Course, served: Served) -> None:
    served.until("The book: ")
    begun = course.root / "begun"
    cell = f"import pathlib, time\n\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(60)"
    write(course, "book/ko/index.md", f"{INDEX}\n```{{code-cell}}\n{cell}\n```\n")
    served.until("Building")
    while not begun.exists() and served.process.poll() is None:  # the watchdog ends it
        time.sleep(0.1)
    assert served.interrupt() == (0, "Ended.\n", "")
    write(course, "book/ko/index.md", INDEX)
    assert build_site(course).rebuilt


def test_serve_book_refuses_a_port_that_is_taken(course: Course) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CourseError, match=rf"^Port {port} can't be had \(.*--port 0$"):
            serve_book(course, port, print)
    assert not course.build.exists()
