"""Every page leads to the same page in the other language, if there is one, by a link that needs no script.

English lies in a folder of the Korean site: `book/ko/NAME.html` and `en/NAME.html` are siblings.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform

HERE = Path(__file__).parent
BOOK = HERE.parent
NAMES = {"ko": "한국어", "en": "English"}
PAGES = {"ko": "book/ko/", "en": "en/"}  # of the chapters, from the root of the site
OTHERS = {"ko": "", "en": "en/"}  # of the search, which is a page without a source
HANGUL = re.compile("([가-힣]+(?:[ ,·]+[가-힣]+)*)")
LISTING = re.compile("<pre>.*?</pre>", re.DOTALL)


def setup(app: Sphinx) -> None:
    app.connect("config-inited", _show_switch)
    app.connect("html-page-context", _add_links)
    app.connect("html-page-context", _mark_korean_in_listings)
    app.add_post_transform(MarkKorean)


def _show_switch(app: Sphinx, config: Config) -> None:
    config.templates_path.append(str(HERE / "templates"))
    config.html_theme_options["article_header_end"] = ["language.html", "article-header-buttons.html"]


def _add_links(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    here = app.config.language
    name = page.removeprefix(app.config.root_doc.removesuffix("index"))
    addresses = {language: _address(language, name) for language in NAMES}
    other = next(language for language in NAMES if language != here)
    if not (addresses[here] and addresses[other]):
        return
    to_root = "../" * (addresses[here] or "").count("/")
    context["sibling"] = {"language": other, "name": NAMES[other], "address": f"{to_root}{addresses[other]}"}
    context["metatags"] = context.get("metatags", "") + "".join(
        f'<link rel="alternate" hreflang="{language}" href="{escape(f"{to_root}{address}")}">\n'
        for language, address in addresses.items()
    )


def _address(language: str, name: str) -> str | None:
    """Of a page in a language, from the root of the site; None where it has no such page."""
    if (BOOK / language / f"{name}.md").is_file():
        return f"{PAGES[language]}{name}.html"
    written = (BOOK / "en" / "_config.yml").is_file()
    return f"{OTHERS[language]}{name}.html" if written and name == "search" else None


def _mark_korean_in_listings(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """As MarkKorean does; a listing becomes markup only when it is written."""
    if app.config.language != "ko":
        context["body"] = LISTING.sub(
            lambda listing: HANGUL.sub(r'<span lang="ko">\1</span>', listing[0]), context.get("body", "")
        )


class MarkKorean(SphinxPostTransform):
    """Korean words on a page in another language say that they are Korean, for whoever reads them aloud."""

    default_priority = 901
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        if self.config.language == "ko":
            return
        for text in list(self.document.findall(nodes.Text)):
            pieces = HANGUL.split(text.astext())
            if len(pieces) > 1 and not isinstance(text.parent, nodes.literal_block | nodes.raw):
                korean = ((nodes.inline(piece, piece, classes=["language-ko"]) if place % 2 else nodes.Text(piece))
                          for place, piece in enumerate(pieces) if piece)  # fmt: skip
                text.parent.replace(text, list(korean))
