"""The link check: a made-up site with every kind of broken link, and a server of this machine for other hosts."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from mini_book import SECOND, make_book, write

from course_lib.release.link_check import ask_hosts, look_at_links

ADDRESS = "https://example.org/course/"
GOOD = """<!DOCTYPE html><html lang="ko"><head><title>t</title>
<meta http-equiv="refresh" content="0; url=en/page.html">
<meta property="og:image" content="https://example.org/course/picture.png">
<link rel="canonical" href="https://example.org/course/index.html">
<link rel="alternate" hreflang="en" href="en/page.html"><link rel="stylesheet" href="style.css?v=1">
<script src="script.js"></script></head><body><h1 id="one">One</h1><h2 id="둘">둘</h2><a name="old"></a>
<a href="#one">a</a><a href="#%EB%91%98">b</a><a href="#old">c</a><a href="#">d</a><a href="#top">e</a>
<a href="en/page.html?state=1#there">f</a><a href="en/">g</a><a href="en/two%20words.html">h</a>
<a href="https://example.org/other/">i</a><a href="mailto:someone@example.org">j</a><a href="#one:~:text=One">k</a>
<img src="picture.png" srcset="picture.png 1x, picture.png 2x" alt=""><img src="data:," alt="">
<a href="https://example.org/course/en/page.html#there">l</a><a href="//example.org/x">m</a></body></html>"""
PAGE = '<!DOCTYPE html><html lang="en"><body id="there"><a href="../index.html#one">{}</a></body></html>'
NO_FILE, NO_PLACE = "no such file in the site", "no such place on that page"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "en").mkdir()
    (tmp_path / "_static").mkdir()
    files = {
        "index.html": GOOD,
        "en/index.html": PAGE,
        "en/page.html": PAGE,
        "en/two words.html": PAGE,
        "style.css": "@font-face { src: url('picture.png') } a { background: url(data:,) }",
        "script.js": "",
        "picture.png": "",
        "_static/webpack-macros.html": '<link href="{{ nothing }}">',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_look_at_links_finds_every_kind_of_good_link(site: Path) -> None:
    looked = look_at_links(site, ADDRESS)
    assert looked.broken == []
    assert looked.pages == 4
    assert looked.links == 20 + 3


@pytest.mark.parametrize(
    ("element", "link", "problem"),
    [
        ('<a href="gone.html">', "gone.html", NO_FILE),
        ('<a href="Index.html">', "Index.html", NO_FILE),
        ('<a href="en/gone.html#there">', "en/gone.html#there", NO_FILE),
        ('<a href="_static/">', "_static/", NO_FILE),
        ('<a href="../index.html">', "../index.html", NO_FILE),
        ('<a href="#gone">', "#gone", NO_PLACE),
        ('<a href="#%EC%85%8B">', "#%EC%85%8B", NO_PLACE),
        ('<a href="en/page.html#one">', "en/page.html#one", NO_PLACE),
        ('<input name="named"><a href="#named">', "#named", NO_PLACE),
        ('<a href="https://example.org/course/gone.html">', "https://example.org/course/gone.html", NO_FILE),
        ('<a href="https://example.org/course/#gone">', "https://example.org/course/#gone", NO_PLACE),
        ('<a href="/index.html">', "/index.html", "it begins at the host's root, and the site may lie in a folder"),
        ('<a href="http://localhost:8000/">', "http://localhost:8000/", "that is on this machine"),
        ('<a href="http://127.0.0.1/x">', "http://127.0.0.1/x", "that is on this machine"),
        ('<a href="file:///tmp/x">', "file:///tmp/x", "that is on this machine"),
        ('<img src="gone.png" alt="">', "gone.png", NO_FILE),
        ('<img srcset="picture.png 1x, gone.png 2x" alt="">', "gone.png", NO_FILE),
        ('<svg><use xlink:href="gone.svg#x"/></svg>', "gone.svg#x", NO_FILE),
        ('<script src="gone.js"></script>', "gone.js", NO_FILE),
        ('<link rel="stylesheet" href="gone.css">', "gone.css", NO_FILE),
        ('<link rel="alternate" hreflang="en" href="en/gone.html">', "en/gone.html", NO_FILE),
        ('<meta http-equiv="refresh" content="0; url=gone.html">', "gone.html", NO_FILE),
        ('<meta property="og:image" content="https://example.org/course/gone.png">',
         "https://example.org/course/gone.png", NO_FILE),
    ],
)  # fmt: skip
def test_look_at_links_names_the_page_the_link_and_what_is_wrong(
    site: Path, element: str, link: str, problem: str
) -> None:
    with (site / "index.html").open("a", encoding="utf-8") as page:
        page.write(element)
    assert look_at_links(site, ADDRESS).broken == [f"index.html → {link} ({problem})"]


def test_look_at_links_names_what_a_style_lacks(site: Path) -> None:
    (site / "style.css").write_text("a { background: url(fonts/gone.woff2) }", encoding="utf-8")
    assert look_at_links(site, ADDRESS).broken == [f"style.css → fonts/gone.woff2 ({NO_FILE})"]


class Host(http.server.BaseHTTPRequestHandler):
    """A host with a page, an old address, one that is gone, one that fails, and one that takes too long."""

    asked: list[str]
    over: threading.Event

    def do_HEAD(self) -> None:
        self.asked.append(self.path)
        status = {"/old": 301, "/gone": 404, "/closed": 403, "/failing": 503}.get(self.path, 200)
        if self.path == "/slow":
            self.over.wait(60)
        self.send_response(status)
        if status == 301:
            self.send_header("Location", "/there")
        self.end_headers()

    do_GET = do_HEAD  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def host() -> Iterator[str]:
    Host.asked, Host.over = [], threading.Event()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Host)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    Host.over.set()
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_ask_hosts_tells_what_is_gone_from_what_nobody_answered_for(tmp_path: Path, host: str) -> None:
    course = make_book(tmp_path)
    places = ("there", "old", "gone", "closed", "failing", "slow", "there")
    lines = "\n".join(f"[{place}]({host}/{place})" for place in places)
    nobody = "http://127.0.0.1:9/"  # the discard port: nobody listens
    write(course, "book/ko/second.md", f"{SECOND}\n{lines}\n[nobody]({nobody})\n")
    asked = ask_hosts(course, patience=5)
    assert asked.there == 2
    assert [line.split(" (")[0].split(" → ")[1] for line in asked.gone] == [f"{host}/gone"]
    assert asked.gone[0].startswith("book/ko/second.md:")
    assert [f"{host}/old (moved to {host}/there)" in line for line in asked.moved] == [True]
    unanswered = "\n".join(asked.unanswered)
    assert len(asked.unanswered) == 4
    for address in (f"{host}/closed", f"{host}/failing", f"{host}/slow", nobody):
        assert f" → {address} (" in unanswered
    assert Host.asked.count("/there") <= 2  # asked for once, and once by the old address
