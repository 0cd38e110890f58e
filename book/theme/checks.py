"""Checks that answer back: the directives `{choice}`, `{number}` and `{open}`.

    ::::{choice}                          ::::{number}                        ::::{open}
    :name: chapter-subject                :name: chapter-subject              :name: chapter-subject
    The question?                         :digits: 2                          The question?
                                          The question?
    :::{right} The right one                                                  :::{answer}
    Why it is right.                      :::{right} {glue:text}`it:.2f`      What one may answer.
    :::                                   How one gets it.                    :::
    :::{wrong} Another one                :::
    Its misconception.                    :::{wrong} {glue:text}`other:.2f`   :::{marks}
    :::                                   Which mistake leads here.           - What has to be in an answer.
    ::::                                  :::                                 :::
                                          ::::                                ::::

A number's answer is glued from a cell, never typed; `digits` says to how many decimals it is asked for. A `{wrong}`
without a value is the hint for every other number. Without scripts a choice shows its feedback as soon as it is made,
and a number's answers are folded; `static/checks.js` does the rest.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator


class markup(nodes.General, nodes.TextElement):  # noqa: N801 (docutils writes its nodes so)
    """An element of HTML by its name, with attributes; links in it need it to be one that holds text."""


class part(nodes.General, nodes.Element):  # noqa: N801
    """What a check is made of, until the check takes it apart: its kind, a title and a text."""


def setup(app: Sphinx) -> None:
    app.add_node(markup, html=(_open, _close))
    for kind, check in (("choice", Choice), ("number", Number), ("open", Open)):
        app.add_directive(kind, check)
    for kind in ("right", "wrong", "answer", "marks"):
        app.add_directive(kind, Part)
    app.add_js_file("checks.js", loading_method="defer")


def _open(translator: HTML5Translator, node: markup) -> None:
    written = translator.starttag(node, node["element"], "", **node.get("with", {}))
    translator.body.append(written)


def _close(translator: HTML5Translator, node: markup) -> None:
    if node["element"] not in ("input",):
        translator.body.append(f"</{node['element']}>")


def tag(element: str, *children: nodes.Node, classes: str = "", **attributes: str) -> markup:
    ids = [attributes.pop("id")] if "id" in attributes else []
    names = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    return markup("", "", *children, element=element, classes=classes.split(), ids=ids, **{"with": names})


def words(element: str, text: str, **attributes: str) -> markup:
    return tag(element, nodes.Text(text), **attributes)


class Part(SphinxDirective):
    """A possible answer with its feedback, a model answer, or a list to mark oneself by."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        title, messages = self.state.inline_text("".join(self.arguments), self.lineno)
        text = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, text)
        return [part("", *title, kind=self.name, text=text.children), *messages]


class _Check(SphinxDirective):
    """A question and its parts; what they become is up to the kind."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"name": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        inside = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, inside)
        parts = [child for child in inside.children if isinstance(child, part)]
        question = [child for child in inside.children if not isinstance(child, part)]
        kinds = [child["kind"] for child in parts]
        if "name" not in self.options or not question or not self.complete(kinds):
            raise self.error(f"This check lacks its name, its question or an answer: {self.options}, {kinds}")
        check = tag("course-check", *self.drawn(question, parts), classes=f"check {self.name}")
        self.add_name(check)
        return [check]

    def complete(self, kinds: list[str]) -> bool:
        return kinds.count("right") == 1 and "wrong" in kinds

    def drawn(self, question: list[nodes.Node], parts: list[part]) -> list[nodes.Node]:
        raise NotImplementedError


class Choice(_Check):
    """Radio buttons, each with its feedback. In the source the right one may stand first; the page moves it."""

    def drawn(self, question: list[nodes.Node], parts: list[part]) -> list[nodes.Node]:
        name = self.options["name"]
        options = [
            self._option(f"{name}-{place}", choice) for place, choice in enumerate(_moved(parts, name), 1)
        ]
        return [tag("fieldset", *_legend(question), *options), *_controls()]

    def _option(self, identity: str, choice: part) -> markup:
        button = tag("input", type="radio", name=self.options["name"], id=identity)
        return tag(
            "div", button, tag("label", *choice.children, for_=identity), _feedback(choice), classes="option"
        )


class Number(_Check):
    """A field for a number; the answers that have a feedback are folded below it."""

    option_spec: ClassVar[dict[str, Any]] = {
        **_Check.option_spec,
        "digits": directives.nonnegative_int,
    }

    def drawn(self, question: list[nodes.Node], parts: list[part]) -> list[nodes.Node]:
        identity, digits = f"{self.options['name']}-number", self.options.get("digits", 0)
        many = _("Your number, to %s decimals") % digits if digits > 1 else _("Your number, to one decimal")
        label = many if digits else _("Your number, a whole one")
        field = tag("input", type="text", inputmode="decimal", autocomplete="off", size="8", id=identity,
                     data_digits=str(digits))  # fmt: skip
        asked = tag("div", words("label", label, for_=identity), field, classes="field")
        answers = [tag("div", *self._value(answer), _feedback(answer), classes="option") for answer in parts]
        unread = tag("div", words("p", _("This is not a number yet.")), classes="unread")
        folded = tag("details", words("summary", _("The answer")), *answers, unread)
        return [tag("fieldset", *_legend(question), asked), *_controls(), folded]

    def _value(self, answer: part) -> list[nodes.Node]:
        if answer.children:
            return [tag("p", *answer.children, classes="value")]
        return [words("p", _("Any other number"), classes="other")]


class Open(_Check):
    """Room to write, a folded model answer, and boxes to tick for what one's own answer has."""

    def complete(self, kinds: list[str]) -> bool:
        return kinds == ["answer", "marks"]

    def drawn(self, question: list[nodes.Node], parts: list[part]) -> list[nodes.Node]:
        name = self.options["name"]
        field = tag("textarea", rows="3", id=f"{name}-text")
        asked = tag("div", words("label", _("Your answer"), for_=f"{name}-text"), field, classes="field")
        answer, marks = (piece["text"] for piece in parts)
        points = [point for item in marks for point in item.findall(nodes.list_item)]
        boxes = [self._box(f"{name}-{place}", point) for place, point in enumerate(points, 1)]
        marked = tag("fieldset", words("legend", _("What your answer has")), *boxes, classes="marks")
        count = tag("p", classes="count", role="status")
        folded = tag("details", words("summary", _("A model answer")), *answer, marked, count)
        return [tag("div", *question, classes="question"), asked, folded]

    def _box(self, identity: str, point: nodes.list_item) -> markup:
        text = [child for paragraph in point.children for child in paragraph.children]
        box = tag("input", type="checkbox", id=identity)
        return tag("div", box, tag("label", *text, for_=identity), classes="option")


def _moved(parts: list[part], name: str) -> list[part]:
    """The same order in every language and every build, in which no place is the right one's more than others."""
    first = sum(name.encode()) % len(parts)
    return parts[first:] + parts[:first]


def _legend(question: list[nodes.Node]) -> list[nodes.Node]:
    """The first paragraph names the group; a table or an equation can't stand in its name and follows it."""
    first, *rest = question
    return [tag("legend", *first.children), *rest]


def _controls() -> list[nodes.Node]:
    """The button that a script shows, and where it says what came out."""
    button = words("button", _("Check"), type="button", hidden="hidden")
    return [button, tag("div", role="status", classes="verdict")]


def _feedback(answer: part) -> markup:
    verdict = {"right": _("Right."), "wrong": _("Not this one.")}[answer["kind"]]
    said = nodes.paragraph("", "", nodes.strong(verdict, verdict))
    return tag("div", said, *answer["text"], classes=f"feedback {answer['kind']}")
