"""Search in Korean: particles stick to words, so a word is also found by the beginnings of its Hangul runs.

Without it, "가중합으로" in a page is not found by the two syllables "가중": the search page looks for
parts of words only from three letters on.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.search import SearchLanguage

WORD = re.compile(r"\w+")
RUN = re.compile(r"[가-힣]+|[^\W가-힣]+")


def setup(app: Sphinx) -> None:
    app.add_search_language(SearchKorean)


class SearchKorean(SearchLanguage):
    lang = "ko"
    language_name = "Korean"

    def split(self, input: str) -> list[str]:  # Sphinx's name for the parameter
        """Every word, its runs of one script, and the beginnings of its Hangul runs from two syllables on."""
        return [term for word in WORD.findall(input) for term in _terms(word)]


def _terms(word: str) -> list[str]:
    runs = RUN.findall(word)
    beginnings = [run[:length] for run in runs if "가" <= run[0] <= "힣" for length in range(2, len(run))]
    return list(dict.fromkeys([word, *runs, *beginnings]))
