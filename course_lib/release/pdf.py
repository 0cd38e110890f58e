"""The book as a PDF in each language: all chapters on one page of HTML, printed by the system's Chromium."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pypdf import PdfReader

from course_lib.course import Course, CourseError
from course_lib.release.archive import source_date
from course_lib.release.site import Edition, build_site, editions_of, failure_in, link_pdf, run_sphinx

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",  # comes with Windows
)
# The last three: let the page load its figures' scripts from beside it, wait for what these draw, and leave out the
# date and address on each sheet.
PRINT = ("--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--generate-pdf-document-outline", "--allow-file-access-from-files",
         "--virtual-time-budget=20000", "--no-pdf-header-footer")  # fmt: skip
PATIENCE = 300  # seconds, for a browser that hangs
MOST_PRINTS = 5
DATE = re.compile(rb"(?<=Date \(D:)\d{14}[+-]\d\d'\d\d'(?=\))")
# Links to where Sphinx had written the page: in print they would name folders of this machine, and lead nowhere.
HERE = re.compile(r'href="[^":]*index\.html#')
ELEMENT = re.compile(rb"(?<=\(node)\d{8}(?=\))")
# A heading that Chromium moved overleaf stands twice in its title of the outline, which is plain or hexadecimal.
TWICE = re.compile(rb"(/Title (?:\(|<FEFF))([^()<>\n]+)\2([)>])")
PLACE = re.compile(r'<span class="place" data-of="([^"]+)">')  # book/theme/paper.py
LOCAL_FONT = re.compile(r'local\("[^"]*"\),?\s*')
BOLD = """
@font-face { font-family: "Course Hangul"; font-weight: 700; src: url("fonts/hangul-bold.woff2") format("woff2"); }
"""  # book/theme/hangul.py


def build_pdf(course: Course) -> dict[str, Path]:
    """The PDF of each language, made anew from the book's pages, which are built first where they are stale.

    CourseError where there is no Chromium, or it prints nothing.
    """
    browser = find_browser()
    build_site(course)
    editions = editions_of(course)
    with ThreadPoolExecutor() as pool:
        printed = dict(pool.map(lambda edition: _print(course, edition, browser), editions))
    for edition in editions:
        link_pdf(edition)
    return printed


def find_browser() -> str:
    """The system's Chromium or Chrome; CHROMIUM names another one."""
    for name in (os.environ.get("CHROMIUM", ""), *BROWSERS):
        if name and (found := shutil.which(name)):
            return found
    raise CourseError(
        "A PDF is printed by Chromium or Chrome, and there is none here. Install it (Debian: apt-get install "
        "chromium; macOS: brew install --cask google-chrome), or name yours: CHROMIUM=/path/to/chrome"
    )


def _print(course: Course, edition: Edition, browser: str) -> tuple[str, Path]:
    folder = course.build / "pdf" / edition.language
    shutil.rmtree(folder, ignore_errors=True)
    if not run_sphinx(course, edition, "singlehtml", folder):
        reason = failure_in(course, edition.log)
        raise CourseError(
            f"The PDF ({edition.language}) could not be made: {reason} The whole log is {edition.log}."
        )
    page = _prepare(folder)
    _to_paper(browser, page, edition.pdf)
    _number_contents(page, edition.pdf)
    _to_paper_alike(browser, page, edition.pdf)
    return edition.language, edition.pdf


def _to_paper_alike(browser: str, page: Path, target: Path) -> None:
    """Prints once; where SOURCE_DATE_EPOCH asks for the same bytes each time, until two prints are the same.

    On a busy machine Chromium set a word 0.6 px lower, in one print of five.
    """
    seen: set[bytes] = set()
    while True:
        _to_paper(browser, page, target)
        _settle(target)
        content = target.read_bytes()
        if source_date() is None or content in seen or len(seen) == MOST_PRINTS:
            return
        seen.add(content)


def _to_paper(browser: str, page: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    command = [browser, *PRINT, f"--user-data-dir={page.parent / 'browser'}", f"--print-to-pdf={target}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--no-sandbox")  # Chromium refuses its sandbox to root; the page is our own
    done = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if not target.is_file():
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise CourseError(
            f"{browser} printed no PDF of {page}; it said: {said}. Open that page in it to see why."
        )


def _number_contents(page: Path, printed: Path) -> None:
    """Writes into the list of chapters on which sheet each begins, which is known once they are printed."""
    book = PdfReader(printed)
    sheets = {
        name: book.get_destination_page_number(place) for name, place in book.named_destinations.items()
    }

    def with_number(place: re.Match[str]) -> str:
        return f"{place[0]}{(sheets[f'/{place[1]}'] or 0) + 1}"

    text = PLACE.sub(with_number, page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8", newline="\n")


def _settle(pdf: Path) -> None:
    """Titles once each; and where SOURCE_DATE_EPOCH is set, its date for the time of printing, and elements counted
    from one.

    Chromium numbers them by what its process has seen before. As many letters as there were, so nothing moves.
    """
    text = TWICE.sub(lambda title: b"".join(title.groups()).ljust(len(title[0])), pdf.read_bytes())
    pdf.write_bytes(text)
    if date := source_date():
        stamp = time.strftime("%Y%m%d%H%M%S+00'00'", date).encode()
        text = DATE.sub(stamp, text)
        places = {number: place for place, number in enumerate(sorted(set(ELEMENT.findall(text))), start=1)}
        pdf.write_bytes(ELEMENT.sub(lambda match: b"%08d" % places[match[0]], text))


def _prepare(folder: Path) -> Path:
    """The page to print: beside its styles, everything unfolded, with a Hangul font that can be embedded."""
    page = folder / "index.html"
    for written in folder.glob("book/*/index.html"):
        # Sphinx writes it into the root document's folder, with addresses as if it lay here.
        shutil.move(written, page)
    text = re.sub(r"<details(?! open)", "<details open", page.read_text(encoding="utf-8"))
    text = text.replace("<figure ", '<figure role="group" ')  # its picture alone is a figure that has a text
    page.write_text(HERE.sub('href="#', text), encoding="utf-8", newline="\n")
    styles = folder / "_static" / "book.css"
    # A system's own font may be one that Chromium can only print as pictures of letters.
    text = LOCAL_FONT.sub("", styles.read_text(encoding="utf-8"))
    styles.write_text(text + BOLD, encoding="utf-8", newline="\n")
    return page
