"""Where a notebook of the public repository opens: in Colab, in Binder, or in a hub that has nbgitpuller.

The forms are those that the three services document. They need the public tree on the branch `main` of a GitHub
repository, which course.toml names.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from course_lib.course import LANGUAGES, Course

BRANCH = "main"


@dataclass(frozen=True)
class NotebookLinks:
    """The addresses of one notebook; `puller` is what follows the address of a hub."""

    problem_set: str
    language: str
    colab: str
    binder: str | None  # None where a notebook needs Torch: too much for Binder's machines
    puller: str


def links_of(course: Course, language: str, problem_set: str) -> NotebookLinks | None:
    """The links of a notebook; None where course.toml names no repository on GitHub, or there is no such notebook."""
    folder = f"exercises/{language}/{problem_set}"
    requirements = course.root / folder / "requirements.txt"
    if not course.on_github or not requirements.is_file():
        return None
    address, path = f"https://github.com/{course.on_github}", f"{folder}/{problem_set}.ipynb"
    name = course.on_github.split("/")[1]  # of the folder into which the repository is cloned
    lines = requirements.read_text(encoding="utf-8").splitlines()
    torch = any(line.startswith("torch") for line in lines)
    pull = {"repo": address, "branch": BRANCH, "urlpath": f"lab/tree/{name}/{path}"}
    return NotebookLinks(
        problem_set,
        language,
        f"https://colab.research.google.com/github/{course.on_github}/blob/{BRANCH}/{path}",
        None
        if torch
        else f"https://mybinder.org/v2/gh/{course.on_github}/{BRANCH}?labpath={quote(path, safe='')}",
        f"hub/user-redirect/git-pull?{urlencode(pull)}",
    )


def all_links(course: Course) -> list[NotebookLinks]:
    """Of every exercise in every language; empty without a repository on GitHub."""
    found = sorted(
        (folder.name, LANGUAGES.index(folder.parent.name), folder.parent.name)
        for folder in course.exercises.glob("*/*/")
        if folder.parent.name in LANGUAGES
    )
    links = [links_of(course, language, name) for name, _, language in found]
    return [link for link in links if link is not None]
