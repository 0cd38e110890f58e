"""The directive `{library}`: public names of course_lib, one a line, each with its signature and docstring.

The library's docstrings are English prose with a few fixed openings ("Returns", "Errors:", "Source:", and a line
for each parameter, "mask: ..."). Here they become Markdown: labels in bold, parameters as a list, names and
chapters as links, indented formulas as they stand.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

import course_lib

LABEL = re.compile(r"(Errors and source|Options and errors|Errors|Source): ")
OPENING = re.compile(r"Returns\b|Options and errors\b|Errors\b|Source\b")
PARAMETER = re.compile(r"(?P<names>[a-z_]\w*(?:, [a-z_]\w*)*)(?P<colon>:?) ")
WITHIN = re.compile(r"(?<=\. )(?=Errors: |Source: |[a-z]\w*: )")
CODE = re.compile(r"(`[^`]+`)")
MARKUP = re.compile(r"([*_<>\[\]|$#\\])")
CHAPTER = re.compile(r"chapter `([\w-]+)`")
INFINITE = re.compile(r"(?<![\w`.])[-+]inf\b(?!`)")
SHAPE = re.compile(r"\((?:\.\.\.|[\w./*]+)(?:, (?:\.\.\.|[\w./*]+))+,?\)")


def setup(app: Sphinx) -> None:
    app.add_directive("library", Library)


class Library(SphinxDirective):
    """Signature and docstring of each name in its content."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        lines = [
            line for name in self.content for line in _entry(name.strip(), getattr(course_lib, name.strip()))
        ]
        entries = nodes.Element()
        self.state.nested_parse(StringList(lines, source=__file__), self.content_offset, entries)
        # The docstrings are in English, whatever the language of the page.
        opening, closing = (
            nodes.raw("", tag, format="html") for tag in ('<div class="library" lang="en">', "</div>")
        )
        return [opening, *entries.children, closing]


def _entry(name: str, thing: Any) -> Iterator[str]:
    kind = "class" if inspect.isclass(thing) else "function"
    yield f":::::{{py:{kind}}} {name}{_signature(thing)}"
    yield ":module: course_lib"
    yield ""
    yield from to_markdown(inspect.getdoc(thing) or "", _parameters(thing))
    if kind == "class":
        yield from _members(thing)
    yield ":::::"
    yield ""


def _members(cls: type) -> Iterator[str]:
    """Documented attributes, and public methods and properties."""
    comments = ModuleAnalyzer.for_module(cls.__module__).find_attr_docs()
    for (owner, attribute), comment in comments.items():
        if owner == cls.__name__:
            yield from _member(f"py:attribute}} {attribute}", " ".join(comment))
    for name, member in vars(cls).items():
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        if isinstance(member, property):
            yield from _member(f"py:property}} {name}", inspect.getdoc(member) or "")
        elif inspect.isfunction(member):
            yield from _member(f"py:method}} {name}{_signature(member)}", inspect.getdoc(member) or "")


def _member(head: str, doc: str) -> Iterator[str]:
    yield f"::::{{{head}"
    yield ""
    yield from to_markdown(doc, ())
    yield "::::"


def _signature(thing: Any) -> str:
    """As it stands in the source: the annotations are texts there, which `inspect` would put in quotes."""
    signature = inspect.signature(thing)
    kept = [
        parameter.replace(annotation=_Bare(parameter.annotation), default=_default(parameter.default))
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    returned = signature.return_annotation
    without = inspect.isclass(thing) or returned is inspect.Signature.empty
    return str(
        signature.replace(
            parameters=kept, return_annotation=inspect.Signature.empty if without else _Bare(returned)
        )
    )


def _default(value: Any) -> Any:
    # A function would show where it lies in memory.
    return _Bare(value.__name__) if inspect.isfunction(value) else value


class _Bare:
    """An annotation that stands in a signature without quotes."""

    def __init__(self, annotation: Any) -> None:
        # A named tuple wraps the texts of its annotations.
        self.text = getattr(annotation, "__forward_arg__", annotation)

    def __repr__(self) -> str:
        return str(self.text)


def _parameters(thing: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(thing).parameters)


# From a docstring to Markdown


def to_markdown(doc: str, parameters: tuple[str, ...]) -> Iterator[str]:
    """The docstring's paragraphs in Markdown; what explains the parameters becomes a list."""
    for paragraph in doc.split("\n\n"):
        if paragraph.startswith("    "):
            yield from ("```text", *inspect.cleandoc(paragraph).split("\n"), "```", "")
            continue
        for number, item in enumerate(_items(paragraph, parameters)):
            named = _named(item, parameters)
            if named and (named["colon"] or number):
                names = ", ".join(f"`{name}`" for name in named["names"].split(", "))
                yield f"- {names}{named['colon']} {_marked(item[named.end() :])}"
            else:
                yield from ("", _labelled(item), "")
        yield ""


def _items(paragraph: str, parameters: tuple[str, ...]) -> list[str]:
    """The paragraph in pieces that each start with an opening or a parameter, as lines or within one."""
    pieces: list[str] = []
    for line in paragraph.split("\n"):
        for part in map(str.strip, WITHIN.split(line)):
            if pieces and not _starts(part, pieces[-1], parameters):
                pieces[-1] += f" {part}"
            else:
                pieces.append(part)
    return pieces


def _starts(text: str, before: str, parameters: tuple[str, ...]) -> bool:
    """Whether a new piece starts here: after a sentence about a parameter, also with another sentence."""
    after_sentence = before.endswith(".")
    named = PARAMETER.match(text) if _named(text, parameters) else None
    another = after_sentence and _named(before, parameters) is not None and text[:1].isupper()
    return bool(OPENING.match(text) or another or (named and (named["colon"] or after_sentence)))


def _named(text: str, parameters: tuple[str, ...]) -> re.Match[str] | None:
    named = PARAMETER.match(text)
    return named if named and set(named["names"].split(", ")) <= set(parameters) else None


def _labelled(text: str) -> str:
    label = LABEL.match(text)
    return f"**{label[1]}:** {_marked(text[label.end() :])}" if label else _marked(text)


def _marked(text: str) -> str:
    """Chapters and public names as links, other code as code, shapes on one line, and no other letter as markup."""
    text = INFINITE.sub(r"`\g<0>`", CHAPTER.sub(r"chapter `{doc}\1`", text))
    parts = CODE.split(SHAPE.sub(lambda shape: shape[0].replace(" ", "\u00a0"), text))
    return "".join(_code(part[1:-1]) if CODE.fullmatch(part) else MARKUP.sub(r"\\\1", part) for part in parts)


def _code(name: str) -> str:
    if name.startswith("{doc}"):
        return f"{{doc}}`{name.removeprefix('{doc}')}`"
    public = name in course_lib.__all__ and not isinstance(getattr(course_lib, name), ModuleType)
    return f"{{py:obj}}`~course_lib.{name}`" if public else f"`{name}`"
