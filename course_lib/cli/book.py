"""The commands for the book: build, serve."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli.terminal import bar, say_where, shown
from course_lib.course import Course, CourseError, find_course, some_of


def build(
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Print it too, by the Chromium or Chrome of this machine.")
    ] = False,
    links: Annotated[
        bool, typer.Option("--links", help="Look up every link, place and picture within the book.")
    ] = False,
    online: Annotated[
        bool, typer.Option("--online", help="Ask other hosts for what the book links to.")
    ] = False,
) -> None:
    """Build the book into _build/html, in both languages.

    Every cell is executed, unless nothing has changed since.
    """
    course = find_course()
    build_book(course)
    if links:
        _look_at_links(course)
    if online:
        _ask_hosts(course)
    places = [(f"book, {name}", shown(path)) for name, path in _editions(course).items()]
    if pdf:
        places += [(f"PDF, {name}", shown(path)) for name, path in _print_book(course).items()]
    say_where(places)
    print("Next: course serve shows it while you write; or put the folder _build/html on any web server.")


def serve(
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port of this machine; 0 is any free one.")
    ] = 8000,
) -> None:
    """Show the book on this machine, built anew at every change.

    Only this machine can reach it. Ctrl+C ends it.
    """
    from course_lib.release.serve import serve_book

    course = find_course()
    serve_book(course, port, partial(print, flush=True))


def build_book(course: Course) -> None:
    """Builds it as far as something changed, and says so."""
    from course_lib.release.site import build_site

    with bar("Building the book, every cell executed"):
        site = build_site(course)
    print(f"Book: built in {site.seconds:.0f} s." if site.rebuilt else "Book: up to date.")


def _editions(course: Course) -> dict[str, Path]:
    from course_lib.release.site import editions_of

    return {edition.language: edition.html / "index.html" for edition in editions_of(course)}


def _print_book(course: Course) -> dict[str, Path]:
    from course_lib.release.pdf import build_pdf

    with bar("Printing the book"):
        return build_pdf(course)


def _look_at_links(course: Course) -> None:
    from course_lib.release.link_check import look_at_links

    looked = look_at_links(course.build / "html", course.address("ko"))
    _require_none(looked.broken, "links within the book are broken")
    print(f"Links: {looked.links} on {looked.pages} pages lead where they say.")


def _ask_hosts(course: Course) -> None:
    from course_lib.release.link_check import ask_hosts

    with bar("Asking other hosts"):
        asked = ask_hosts(course)
    for line in (*asked.moved, *asked.unanswered):
        print(f"Link: {line}")
    _require_none(asked.gone, "links lead to what is gone")
    print(f"Links to other hosts: {asked.there} are there, {len(asked.unanswered)} gave no answer.")


def _require_none(found: list[str], what: str) -> None:
    if found:
        raise CourseError(f"{len(found)} {what}: {some_of(found, 9)}. Correct them in book/ and build again.")
