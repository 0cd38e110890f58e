"""Where a line of prose may not break, beside what the style sheet says (`word-break: keep-all`).

A Korean particle stays with the bracket, quotation mark or slash before it, an English word in brackets with the
Korean one that it explains, a number with its unit, a name with its number (Gemma 2), both parts of a word with a
hyphen, and code of a few letters on one line.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

JOINER, NO_BREAK_SPACE = "\u2060", "\u00a0"
JOINTS = re.compile(r"(?<=[)\]”’%/])(?=[가-힣])|(?<=[가-힣])(?=\()|(?<=[A-Za-z][-–])(?=[A-Za-z])")
UNITS = "(?:[kMG]i?B|bytes?|bits?|ms|FLOPs)(?![A-Za-z])"
UNIT = re.compile(rf"(?<=\d) (?=(?:{UNITS}|\d+B\b))|(?<=\bQK) (?=Norm)|(?<=\bKV) (?=cache)")
NUMBERED = re.compile(r"\b([A-Z][a-z]+) (?=\d)")
SHORT = 20
WRITTEN = re.compile(r"(?<![^>])[^<]+")  # text between tags
AS_IT_STANDS = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)


def setup(app: Sphinx) -> None:
    app.add_transform(KeepTitles)
    app.add_post_transform(KeepOnOneLine)
    app.connect("html-page-context", _hold_neighbours)


def held(text: str, before: str = "", joiner: str = JOINER) -> str:
    """The text with its joints closed; `before` is the letter in front of it."""
    closed = UNIT.sub(NO_BREAK_SPACE, JOINTS.sub(joiner, before + text))
    closed = NUMBERED.sub(rf"\1{NO_BREAK_SPACE}", closed)
    return closed[len(before) :]


class KeepTitles(SphinxTransform):
    """In a title before the lists of chapters and sections copy it: they pass no other transform of ours."""

    default_priority = 870  # the lists copy titles at 880

    def apply(self, **kwargs: Any) -> None:
        for title in list(self.document.findall(nodes.title)):
            for text in list(title.findall(nodes.Text)):
                if not isinstance(text.parent, AS_IT_STANDS):
                    text.parent.replace(text, nodes.Text(held(text, joiner="")))


def _hold_neighbours(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """The titles of the chapters before and after: only where they are shown, so that a search finds them as typed."""
    for neighbour in filter(None, (context.get("prev"), context.get("next"))):
        neighbour["title"] = WRITTEN.sub(lambda text: held(text[0]), neighbour["title"])


class KeepOnOneLine(SphinxPostTransform):
    default_priority = 902  # after the equations took the particles that touch them
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        paper = self.app.builder.name != "html"
        joiner = "" if paper else JOINER  # a PDF would hold it as a space
        for block in list(self.document.findall(_is_block)):
            before = ""
            for text in list(block.findall(nodes.Text)):
                if (
                    not isinstance(text.parent, AS_IT_STANDS)
                    and (after := held(text, before, joiner)) != text
                ):
                    text.parent.replace(text, nodes.Text(after))
                before = text[-1:] or before
            _hold_numbers(block)
            if paper:
                _wrap_joints(block)
        for code in self.document.findall(nodes.literal):
            if len(code.astext()) <= SHORT and not _in_table(code):
                code["classes"].append("together")


def _wrap_joints(block: nodes.Node) -> None:
    """A word with a joint becomes an element that doesn't break."""
    for text in list(block.findall(nodes.Text)):
        words = re.split(r"(\s+)", text)
        if not isinstance(text.parent, AS_IT_STANDS) and any(map(JOINTS.search, words)):
            parts = [
                nodes.inline("", word, classes=["together"]) if JOINTS.search(word) else nodes.Text(word)
                for word in words
                if word
            ]
            place = text.parent.index(text)
            text.parent[place : place + 1] = parts


def _hold_numbers(block: nodes.Node) -> None:
    """Computed numbers in a row, [0.66, 0.34], which are texts of their own with a comma between them."""
    texts = list(block.findall(nodes.Text))
    for before, comma, after in zip(texts, texts[1:], texts[2:], strict=False):
        if comma == ", " and before[-1:].isdigit() and after[:1].isdigit():
            comma.parent.replace(comma, nodes.Text(f",{NO_BREAK_SPACE}"))


def _is_block(node: nodes.Node) -> bool:
    return isinstance(node, nodes.TextElement) and not isinstance(node, nodes.Inline | nodes.FixedTextElement)


def _in_table(node: nodes.Node) -> bool:
    return node.parent is not None and (isinstance(node, nodes.entry) or _in_table(node.parent))
