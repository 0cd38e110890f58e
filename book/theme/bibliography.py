"""The bibliography's style: entries sorted and labelled by author and year, as the chapters cite them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.sorting import BaseSortingStyle
from pybtex.style.template import Node, field, href, optional, sentence
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    register_plugin("pybtex.style.formatting", "course", CourseStyle)


class AuthorAndYear(BaseLabelStyle):
    """`Vaswani et al., 2017`, as the chapters cite it."""

    def format_labels(self, sorted_entries: Iterable[Entry]) -> Iterator[str]:
        return map(_label, sorted_entries)


class ByLabel(BaseSortingStyle):
    """As readers look them up: by that label."""

    def sorting_key(self, entry: Entry) -> str:
        return _label(entry).lower()


class CourseStyle(Style):
    """Entries as in BibTeX's plain style, with labels that say who and when, and titles that lead to the paper."""

    default_label_style = AuthorAndYear
    default_sorting_style = ByLabel

    def format_title(self, e: Entry, which_field: str, as_sentence: bool = True) -> Node:
        title = href[field("url", raw=True), field(which_field)]
        return sentence[title] if as_sentence else title

    def format_web_refs(self, e: Entry) -> Node:
        return sentence[optional[self.format_eprint(e)]]


def _label(entry: Entry) -> str:
    # A team's name stands in braces, so that it isn't taken apart.
    names = [
        " ".join([*person.prelast_names, *person.last_names]).strip("{}")
        for person in entry.persons["author"]
    ]
    alone = len(names) == 1 or (len(names) == 2 and names[1] != "others")
    who = " and ".join(names) if alone else f"{names[0]} et al."
    return f"{who}, {entry.fields['year']}"
