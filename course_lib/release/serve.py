"""The book on this machine alone, built again whenever one of its sources changes."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import watchfiles

from course_lib.course import Course, CourseError
from course_lib.release.site import build_site, editions_of

HOST = "127.0.0.1"


def serve_book(course: Course, port: int, say: Callable[[str], None]) -> None:
    """Serves the built book until it is interrupted; what keeps a build from succeeding is said, and serving goes on.

    Port 0 is any free one. CourseError where the port can't be had.
    """
    with suppress(KeyboardInterrupt), _server(course.build / "html", port) as address:
        for number, changes in enumerate(_changes(course)):
            if changes or number == 0:
                _build(course, say)
            if number == 0:
                say(f"The book: {address} (in English: {address}en/).")
                say("It is built again at every change; Ctrl+C ends this.")
    say("Ended.")


def _changes(course: Course) -> Iterator[object]:
    """What changed in the book's sources, an empty set where nothing did for a second: it watches before it builds."""
    return watchfiles.watch(*_sources(course), raise_interrupt=True, yield_on_timeout=True, rust_timeout=1000)


def _build(course: Course, say: Callable[[str], None]) -> None:
    say("Building the book.")
    try:
        report = build_site(course)
    except CourseError as error:
        say(str(error))
    else:
        say(f"Built in {report.seconds:.0f} s." if report.rebuilt else "Up to date.")


def _sources(course: Course) -> list[Path]:
    settings = [path for edition in editions_of(course) for path in edition.settings]
    return [course.root / "book", course.root / "course_lib", *settings]


@contextmanager
def _server(folder: Path, port: int) -> Iterator[str]:
    """The address of a server of that folder, which other machines can't reach."""
    try:
        server = http.server.ThreadingHTTPServer(
            (HOST, port), functools.partial(_Quiet, directory=str(folder))
        )
    except OSError as error:
        raise CourseError(
            f"Port {port} can't be had ({error.strerror}). Give another one, or 0 for any: course serve --port 0"
        ) from error
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{HOST}:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Says nothing of requests, and lets no browser keep a page that may be built again."""

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()
