"""Links to Colab, Binder and nbgitpuller: the forms that these document, and none where no repository is set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from course_lib.course import Course, find_course
from course_lib.release.links import all_links, links_of

COURSE = find_course(Path(__file__).parents[1])
HOSTED = replace(COURSE, repository="https://github.com/owner/a-course")


def test_links_of_have_the_documented_forms() -> None:
    link = links_of(HOSTED, "ko", "ps1")
    assert link is not None
    path = "exercises/ko/ps1/ps1.ipynb"
    assert link.colab == f"https://colab.research.google.com/github/owner/a-course/blob/main/{path}"
    assert link.binder == (
        "https://mybinder.org/v2/gh/owner/a-course/main?labpath=exercises%2Fko%2Fps1%2Fps1.ipynb"
    )
    hub = urlsplit(f"https://hub.example.org/{link.puller}")
    assert hub.path == "/hub/user-redirect/git-pull"
    assert parse_qs(hub.query, strict_parsing=True) == {
        "repo": ["https://github.com/owner/a-course"],
        "branch": ["main"],
        "urlpath": [f"lab/tree/a-course/{path}"],  # the folder into which it is cloned comes first
    }


def test_all_links_point_at_every_exercise_and_at_binder_without_torch() -> None:
    links = all_links(HOSTED)
    assert len(links) == 2 * len(COURSE.problem_sets)
    assert {link.problem_set for link in links if link.binder is None} == {"ps4", "ps5"}
    for link in links:
        assert (COURSE.root / link.colab.split("/blob/main/")[1]).is_file()


@pytest.mark.parametrize("course", [COURSE, replace(COURSE, repository="https://example.org/git")])
def test_all_links_are_none_without_a_repository_on_github(course: Course) -> None:
    assert all_links(course) == []
    assert links_of(HOSTED, "ko", "ps0") is None
