"""What the book has on paper alone: a title page, heads that name the chapter, and answers at the end of a chapter.

All of it is added while Sphinx writes all chapters on one page, which `course build --pdf` prints. The guides for
instructors are left out there: they are commands to copy, and their readers have the site.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from string import ascii_lowercase
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import _

from .checks import markup, tag, words

EDITIONS = {"ko": "한국어판", "en": "English edition"}
UNSAID = {"unread", "count"}  # what a check only says on a screen


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", _lay_out)
    app.connect("html-page-context", _add_title_page)


def _lay_out(app: Sphinx, tree: nodes.document, page: str) -> None:
    if app.builder.name == "singlehtml":
        chapters = set(_chapters(app))
        for file in list(tree.findall(addnodes.start_of_file)):
            if file["docname"] in chapters:
                _gather_answers(file)
            else:
                file.parent.remove(file)
        for parts in [node for node in tree.findall(nodes.compound) if not node.children]:
            parts.parent.remove(parts)  # it would be a sheet of its own


def _chapters(app: Sphinx) -> Iterator[str]:
    """The pages that are for readers, in their order: a part with a caption is for others."""
    for toctree in app.env.get_doctree(app.config.root_doc).findall(addnodes.toctree):
        if not toctree.get("caption"):
            yield from toctree["includefiles"]


# Checks: asked where they stand, answered at the end of the chapter


def _gather_answers(chapter: addnodes.start_of_file) -> None:
    checks = [node for node in chapter.findall(markup) if "check" in node["classes"]]
    if checks:
        title = nodes.title("", _("Answers"))
        answers = [_answer_apart(check, place) for place, check in enumerate(checks, start=1)]
        section = next(iter(chapter.findall(nodes.section)))
        section += nodes.section(
            "", title, *answers, ids=[f"{chapter['docname']}-answers"], classes=["answers"]
        )


def _answer_apart(check: markup, place: int) -> markup:
    """What a check answers, taken out of it; both get the check's number."""
    check["classes"].append("asked")
    asked = next(
        node for node in check.findall(markup) if node["element"] == "legend" or _is(node, "question")
    )
    (asked if asked["element"] == "legend" else asked[0]).insert(0, _number(place))
    folded = next((node for node in check.findall(markup) if node["element"] == "details"), None)
    computed = check.next_node(descend=False, siblings=True)
    options = [node for node in check.findall(markup) if _is(node, "option")]
    if folded is None:
        answers = [
            _choice_apart(option, letter) for option, letter in zip(options, ascii_lowercase, strict=False)
        ]
    else:
        folded.parent.remove(folded)
        answers = [node for node in folded.children[1:] if UNSAID.isdisjoint(node["classes"])]
    if isinstance(computed, nodes.container) and "hide_mode" in computed:
        computed.parent.remove(computed)
        answers.append(computed)
    return tag("div", _number(place), *answers, classes="answer-to")


def _choice_apart(option: markup, letter: str) -> markup:
    """The feedback on a choice, under the letter that stands in place of its button."""
    _button, label, feedback = option.children
    option[:] = [words("b", letter, classes="letter"), label]
    return tag("div", words("p", letter, classes="letter"), feedback, classes="option")


def _is(node: markup, kind: str) -> bool:
    return kind in node["classes"]


def _number(place: int) -> markup:
    return words("b", str(place), classes="place-of-check")


# The first sheet, and the heads of all others


def _add_title_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    if app.builder.name == "singlehtml" and page == app.config.root_doc:
        titles = {name: _text(app.env.titles[name]) for name in _chapters(app)}
        context["body"] = _title_page(app, titles) + context["body"]
        heads = _heads(app.config.html_title, titles)
        context["metatags"] = context.get("metatags", "") + f"<style>{heads}</style>"


def _title_page(app: Sphinx, titles: dict[str, str]) -> str:
    # course_lib/release/pdf.py writes into each place on which sheet the chapter begins.
    chapters = "".join(
        f'<li><a href="#document-{name}">{escape(title)}<span class="place" data-of="document-{name}"></span></a></li>'
        for name, title in titles.items()
    )
    return (
        f'<div class="title-page"><p class="title">{escape(app.config.html_title)}</p>'
        f"<p>{EDITIONS[app.config.language]}</p><ol>{chapters}</ol>"
        f"<p>{escape(app.config.html_theme_options.get('extra_footer', ''))}</p></div>"
    )


def _heads(book: str, titles: dict[str, str]) -> str:
    """Each chapter's sheets are of a kind of their own, with its title above them; the others have the book's."""
    return _head("", book) + "".join(
        f"{_head(f'chapter-{place}', title)}\n"
        f'[id="document-{name}"], [id="document-{name}"] + section {{ page: chapter-{place}; }}\n'
        for place, (name, title) in enumerate(titles.items(), start=1)
    )


def _head(kind: str, title: str) -> str:
    return f"@page {kind} {{ @top-center {{ content: {json.dumps(title, ensure_ascii=False)}; }} }}"


def _text(title: nodes.Node) -> str:
    return "".join(text.astext() for text in title.findall(nodes.Text))
