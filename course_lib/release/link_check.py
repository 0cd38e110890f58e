"""The links of the built book: those within the site are looked up, those to other hosts are asked for."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from course_lib.course import Course, CourseError
from course_lib.release.site import Edition, build_site, editions_of, failure_in, run_sphinx

NO_PAGES = ("*webpack-macros.html",)  # pieces of templates, which the theme leaves among its files
ADDRESSES = {"href", "src", "poster", "xlink:href"}
SHARED = {"og:url", "og:image"}
THIS_MACHINE = re.compile(r"(localhost|127\.|0\.0\.0\.0|\[::1\])")
GONE = re.compile(r"^(404|410) ")
URL = re.compile(r"url\(\s*([\"']?)([^\"')]+)\1\s*\)")


@dataclass(frozen=True)
class Looked:
    """How many links on how many pages were looked at, and what is wrong with the broken ones, a line each."""

    links: int
    pages: int
    broken: list[str]


@dataclass
class Asked:
    """What other hosts said: addresses that are there, that moved, that are gone, and that nobody answered for."""

    there: int = 0
    moved: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)


def look_at_links(site: Path, address: str = "") -> Looked:
    """Whether what the pages of a site point to within it is there: pages, places on them, pictures, scripts, styles.

    `address` is where the site will be published; links that begin with it are looked up, too.
    """
    files = {path.relative_to(site).as_posix(): path for path in sorted(site.rglob("*")) if path.is_file()}
    pages = {name: _Page(path) for name, path in files.items() if _is_page(name)}
    found: list[str] = []
    for name, page in pages.items():
        for link in sorted(page.links):
            problem = _problem(name, link, files, pages, address)
            found += [f"{name} → {link} ({problem})"] if problem else []
    found += _broken_in_styles(files, pages)
    return Looked(sum(len(page.links) for page in pages.values()), len(pages), found)


def ask_hosts(course: Course, patience: float = 15) -> Asked:
    """Asks for every address of another host in the book once, by Sphinx's own link check.

    It takes turns on a host that asks for it, and gives up on one after `patience` seconds. CourseError where the
    book can't be read.
    """
    build_site(course)
    asked, said = Asked(), set[str]()
    for edition in editions_of(course):
        for answer in _answers(course, edition, said, patience):
            said.add(str(answer["uri"]))
            _sort_in(asked, answer)
    return asked


# Within the site


def _is_page(name: str) -> bool:
    return name.endswith(".html") and not any(fnmatch(name, pattern) for pattern in NO_PAGES)


def _problem(name: str, link: str, files: dict[str, Path], pages: dict[str, _Page], address: str) -> str:
    """What is wrong with a link of the page `name`; "" where nothing is."""
    if address and link.startswith(address):
        link, name = link.removeprefix(address), "index.html"
    where = urlsplit(link)
    if where.scheme == "file" or THIS_MACHINE.match(where.netloc):
        return "that is on this machine"
    if where.scheme or where.netloc:
        return ""
    if where.path.startswith("/"):
        return "it begins at the host's root, and the site may lie in a folder"
    target = _target(name, unquote(where.path), files)
    if target is None:
        return "no such file in the site"
    place = unquote(where.fragment).partition(":~:")[0]
    return "no such place on that page" if target in pages and place not in pages[target].names else ""


def _target(name: str, path: str, files: dict[str, Path]) -> str | None:
    """The file of the site that a path on a page means; letters have to be as they are, as on a server."""
    if not path:
        return name
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
    return next((found for found in (joined, posixpath.join(joined, "index.html")) if found in files), None)


def _broken_in_styles(files: dict[str, Path], pages: dict[str, _Page]) -> Iterator[str]:
    """Fonts and pictures that the style sheets of the pages name and that are not there."""
    linked = {
        _target(name, urlsplit(link).path, files) for name, page in pages.items() for link in page.links
    }
    for name in sorted(style for style in linked if style and style.endswith(".css")):
        for _, link in URL.findall(files[name].read_text(encoding="utf-8")):
            where = urlsplit(link)
            if not where.scheme and where.path and _target(name, unquote(where.path), files) is None:
                yield f"{name} → {link} (no such file in the site)"


class _Page(HTMLParser):
    """What a page points to, and the names in it that one can point to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.names: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value is not None}
        self.names.update(
            found[name] for name in ("id", "name") if name in found and (tag == "a" or name == "id")
        )
        self.links.update(_addresses(tag, found))


def _addresses(tag: str, found: dict[str, str]) -> Iterable[str]:
    """The addresses in an element's attributes."""
    if tag == "base":
        return []
    named = [found[name] for name in ADDRESSES & found.keys()]
    named += [part.split()[0] for part in found.get("srcset", "").split(",") if part.strip()]
    if found.get("property") in SHARED:
        named.append(found["content"])
    if found.get("http-equiv") == "refresh":
        named.append(found["content"].partition("url=")[2])
    return named


# Other hosts


def _answers(
    course: Course, edition: Edition, known: set[str], patience: float
) -> Iterator[dict[str, str | int]]:
    """What Sphinx's link check found, a link each; what is known already isn't asked for again."""
    folder = course.build / "links" / edition.language
    found = folder / "output.json"
    found.unlink(missing_ok=True)
    settings = {
        "linkcheck_anchors": False,  # pages that scripts write have none
        "linkcheck_ignore": [f"{re.escape(uri)}$" for uri in sorted(known)],
        "linkcheck_rate_limit_timeout": 4 * patience,
        "linkcheck_report_timeouts_as_broken": False,
        "linkcheck_timeout": patience,
        "linkcheck_workers": 4,
    }
    run_sphinx(course, edition, "linkcheck", folder, settings)  # a broken link is a failure to Sphinx
    if not found.is_file():
        raise CourseError(
            f"The links ({edition.language}) could not be read: {failure_in(course, edition.log)}"
        )
    answers = (json.loads(line) for line in found.read_text(encoding="utf-8").splitlines())
    # Ignored with a reason: a host that was overloaded, which is no answer; without one: known already.
    return (
        a
        for a in answers
        if a["status"] not in ("unchecked", "local") and (a["status"] != "ignored" or a["info"])
    )


def _sort_in(asked: Asked, answer: dict[str, str | int]) -> None:
    line = f"{answer['filename']}:{answer['lineno']} → {answer['uri']}"
    if answer["status"] == "working":
        asked.there += 1
    elif answer["status"] == "redirected":
        asked.there += 1
        if answer["code"] in (301, 308):
            asked.moved.append(f"{line} (moved to {answer['info']})")
    elif GONE.match(str(answer["info"])):
        asked.gone.append(f"{line} ({answer['info']})")
    else:
        asked.unanswered.append(f"{line} ({answer['info']})")
