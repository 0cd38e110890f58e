"""What the tests in a browser share: a server of a folder, and a page that notes what went wrong on it."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"ko": "book/ko/", "en": "en/"}
PATIENCE = 60  # seconds, for what a page shows soon unless something is wrong
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@contextmanager
def open_browser() -> Iterator[Browser]:
    """The system's Chromium."""
    script = ["sh", str(ROOT / "scripts" / "find-chromium.sh")]
    found = subprocess.run(script, capture_output=True, text=True, check=False, env=os.environ).stdout.strip()
    assert found, "tests in a browser need Chromium: see scripts/find-chromium.sh"
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which(found) or found, args=QUIET)
        yield browser
        browser.close()


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address of a server of that folder."""
    handler = functools.partial(Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class Visit:
    """A page, and what the browser complained about or asked of other hosts."""

    def __init__(self, browser: Browser, site: str, path: str, **options: Any) -> None:
        self.page: Page = browser.new_page(**options)
        self.complaints: list[str] = []
        self.page.on("console", lambda said: self._note(said.type in ("error", "warning"), said.text))
        self.page.on("pageerror", lambda error: self._note(True, str(error)))
        self.page.on(
            "request", lambda asked: self._note(not asked.url.startswith((site, "data:")), asked.url)
        )
        self.page.goto(site + path, wait_until="networkidle")

    def _note(self, bad: bool, text: str) -> None:
        if bad:
            self.complaints.append(text)


def screen(width: int, scheme: str = "light") -> dict[str, Any]:
    """The options of a page on a screen of that width."""
    return {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}


def chapter(name: str, language: str = "ko") -> str:
    return f"{FOLDERS[language]}{name}.html"
