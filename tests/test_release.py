from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from double_task import TASK
from mini import cell_of, edit, released_course, snapshot

from course_lib.checks import Case, Checker, Outcome, TaskCases, read_cases, save_cases
from course_lib.course import Course, CourseError, find_course
from course_lib.grading.bank import load_bank, visible_cases
from course_lib.grading.fetching import fetching_source, is_fetching
from course_lib.grading.notebook import read_notebook, write_notebook
from course_lib.release.notebooks import is_current, release, stale
from course_lib.release.public_tree import copy_exercises
from course_lib.release.stale import same_cases
from course_lib.release.wheel import WHEEL

ROOT = Path(__file__).parents[1]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """One of its own for each test, to change."""
    return released_course(tmp_path)


# A release


def test_release_writes_notebook_data_and_requirements(course: Course) -> None:
    shutil.rmtree(course.exercises)
    shutil.rmtree(course.build)
    released = release(course, "mini")
    assert (released.tasks, released.points) == (3, 7.5)
    assert sorted(snapshot(course.exercises)) == [
        f"{language}/mini/{name}"
        for language in ("en", "ko")
        for name in ("cases.npz", WHEEL, "mini.ipynb", "requirements.txt")
    ]
    # nbgrader copies whatever else lies in the source folder to students
    assert sorted(snapshot(course.nbgrader)) == [
        f"{step}/mini/{name}" for step in ("release", "source") for name in ("cases.npz", "mini.ipynb")
    ]


def test_release_gives_the_same_bytes_every_time(course: Course) -> None:
    exercises, nbgrader = snapshot(course.exercises), snapshot(course.nbgrader)
    shutil.rmtree(course.exercises)
    release(course, "mini")
    assert (snapshot(course.exercises), snapshot(course.nbgrader)) == (exercises, nbgrader)


@pytest.mark.parametrize(
    ("language", "begins"), [("ko", "numpy이(가) 없습니다."), ("en", "numpy is missing.")]
)
def test_first_cell_says_in_one_line_what_to_install(
    course: Course,
    language: str,
    begins: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notebook = read_notebook(course.exercises / language / "mini" / "mini.ipynb")
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")

    def without(name: str, *rest: Any) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setitem(__builtins__, "__import__", without)  # type: ignore[arg-type]
    exec(compile(first.source, "first", "exec"), {})
    monkeypatch.undo()
    said = capsys.readouterr().out
    assert said.startswith(begins)
    assert "%pip install -r requirements.txt" in said  # plain pip may be that of another Python
    assert f"%pip install {WHEEL}" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("language", ["ko", "en"])
def test_release_gives_each_language_its_own_cells(course: Course, language: str) -> None:
    notebook = read_notebook(course.exercises / language / "mini" / "mini.ipynb")
    other = {"ko": "-en-", "en": "-ko-"}[language]
    assert not [cell.id for cell in notebook.cells if other in cell.id]
    assert not [cell.id for cell in notebook.cells if "tags" in cell.metadata]
    assert f'load("cases.npz", language="{language}", problem_set="mini")' in "\n".join(
        cell.source for cell in notebook.cells
    )
    assert cell_of(notebook, "why").source == "✎"
    assert cell_of(notebook, "double-solution").source.endswith("raise NotImplementedError")
    assert cell_of(notebook, "double").source == 'check("double", double)'


def test_release_leaves_out_a_language_without_cells(course: Course, notebook_text: Path) -> None:
    text = notebook_text.read_text(encoding="utf-8").replace('"en"', '"ko"').replace("[en]", "[ko]")
    notebook_text.write_text(text, encoding="utf-8")
    assert [folder.parent.name for folder in release(course, "mini").folders] == ["ko"]
    assert not (course.exercises / "en" / "mini").exists()


def test_release_leaves_everything_where_it_fails(course: Course, notebook_text: Path) -> None:
    before = snapshot(course.root)
    edit(notebook_text, ":task: mean", ":task: median")
    with pytest.raises(CourseError):
        release(course, "mini")
    edit(notebook_text, ":task: median", ":task: mean")
    assert snapshot(course.root) == before


def test_release_puts_the_library_where_the_requirements_name_it(course: Course) -> None:
    folder = course.exercises / "en" / "mini"
    (folder / WHEEL).unlink()
    assert stale(course, ["mini"]) == []
    release(course, "mini")
    assert (folder / "requirements.txt").read_text().splitlines()[1] == f"./{WHEEL}"
    assert (folder / WHEEL).is_file()


@pytest.mark.parametrize("language", ["ko", "en"])
def test_release_never_overwrites_work(course: Course, notebook_text: Path, language: str) -> None:
    path = course.exercises / language / "mini" / "mini.ipynb"
    notebook = read_notebook(path)
    cell_of(notebook, "double-solution").execution_count = 1
    write_notebook(notebook, path)
    edit(notebook_text, "Double it.", "Double it, please.")
    before = snapshot(course.root)
    with pytest.raises(CourseError, match="has been worked in"):
        release(course, "mini")
    assert snapshot(course.root) == before


def test_release_clears_up_after_one_that_was_killed(course: Course) -> None:
    exercises, nbgrader = snapshot(course.exercises), snapshot(course.nbgrader)
    shutil.move(course.exercises / "en" / "mini", course.exercises / "en" / ".mini.old")
    shutil.copytree(course.exercises / "ko" / "mini", course.exercises / "ko" / ".mini.new")
    shutil.copytree(course.exercises / "ko" / "mini", course.nbgrader / "source" / ".mini.new")
    release(course, "mini")
    assert (snapshot(course.exercises), snapshot(course.nbgrader)) == (exercises, nbgrader)
    assert stale(course, ["mini"]) == []


def test_release_puts_back_what_it_can_not_replace(
    course: Course, notebook_text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(notebook_text, "Double it.", "Double it, please.")
    before, rename = snapshot(course.exercises), os.rename

    def refuse(source: Path, target: Path) -> None:
        if Path(source).name == ".mini.new" and "exercises" in str(source):
            raise OSError("no more room")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OSError, match="no more room"):
        release(course, "mini")
    assert snapshot(course.exercises) == before


@pytest.mark.parametrize("closed", ["", "gradebook.db"])
def test_release_says_what_it_may_not_write(
    course: Course, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    before = snapshot(course.root)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != course.root / closed)
    with pytest.raises(CourseError, match=f"{course.root / closed} cannot be written"):
        release(course, "mini")
    assert snapshot(course.root) == before


def test_release_names_the_repository_that_is_set(course: Course) -> None:
    release(replace(course, repository="https://example.org/course"), "mini")
    lines = (course.exercises / "ko" / "mini" / "requirements.txt").read_text().splitlines()
    assert lines[1] == "course_lib @ git+https://example.org/course"
    assert not (course.exercises / "ko" / "mini" / WHEEL).exists()
    assert is_current(course, "mini")


PUBLISHED = [
    ({"site": "https://example.org/course"}, "https://example.org/course/exercises/{}/mini/"),
    (
        {"repository": "https://github.com/owner/course.git", "site": "https://example.org/course"},
        "https://raw.githubusercontent.com/owner/course/HEAD/exercises/{}/mini/",
    ),
]


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize(("settings", "address"), PUBLISHED)
def test_notebook_opens_with_a_cell_that_gets_the_rest_in_colab(
    course: Course, settings: dict[str, str], address: str, language: str
) -> None:
    release(replace(course, **settings), "mini")  # type: ignore[arg-type]
    notebook = read_notebook(course.exercises / language / "mini" / "mini.ipynb")
    first, second = [cell.source for cell in notebook.cells if cell.cell_type == "code"][:2]
    assert f'urlretrieve("{address.format(language)}cases.npz", "cases.npz")' in first
    assert f"%pip install -q {address.format(language)}{WHEEL}" in first
    assert is_fetching(first)
    assert "load(" in second


@pytest.mark.parametrize("settings", [{}, {"repository": "https://example.org/course"}])
def test_notebook_fetches_nothing_where_no_address_is_known(course: Course, settings: dict[str, str]) -> None:
    release(replace(course, **settings), "mini")  # type: ignore[arg-type]
    cells = read_notebook(course.exercises / "ko" / "mini" / "mini.ipynb").cells
    assert not [cell for cell in cells if "colab" in cell.source and cell.id == "fetching"]


def test_is_fetching_knows_our_cell_and_no_other() -> None:
    ours = fetching_source("en", "https://example.org/cases.npz", "https://example.org/x.whl")
    assert is_fetching(ours)
    for more in ("\nx = 1", '; open("x")'):
        assert not is_fetching(ours + more)
    assert not is_fetching(fetching_source("en", '", "a"); open("b', "x"))
    assert not is_fetching(ours.replace("import sys", "import os"))


@pytest.mark.slow
@pytest.mark.parametrize(("in_colab", "published_there"), [(True, True), (False, True), (True, False)])
def test_fetching_cell_gets_all_in_colab_and_nothing_elsewhere(
    course: Course, tmp_path: Path, in_colab: bool, published_there: bool
) -> None:
    """Where nothing is at the address it says so, and the next cell, which says what to do, runs."""
    published = replace(course, site="http://127.0.0.1:1/course")
    release(published, "mini")
    copy_exercises(published, tmp_path / "site" / ("course" if published_there else "other") / "exercises")
    alone = tmp_path / "alone"
    alone.mkdir()
    with served(tmp_path / "site") as address:
        cell = read_notebook(course.exercises / "en" / "mini" / "mini.ipynb").cells[1]
        (alone / "cell.py").write_text(cell.source.replace("http://127.0.0.1:1", address))
        done = subprocess.run(
            [sys.executable, "-c", AS_IN_COLAB, str(int(in_colab))],
            cwd=alone,
            env=os.environ | {"PIP_TARGET": str(alone / "site"), "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
    fetched = in_colab and published_there
    assert (alone / "cases.npz").is_file() is (alone / "site" / "course_lib").is_dir() is fetched
    assert ("cases.npz: HTTP Error 404" in done.stdout) is not published_there


# The kernel of Colab has loaded google.colab before the first cell.
AS_IN_COLAB = """
import pathlib, sys, types
from IPython.core.interactiveshell import InteractiveShell
if sys.argv[1] == "1":
    sys.modules["google.colab"] = types.ModuleType("google.colab")
result = InteractiveShell.instance().run_cell(pathlib.Path("cell.py").read_text())
sys.exit(0 if result.success else 1)
"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder at an address of this machine."""

    class Silent(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = partial(Silent, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_is_current_notices_changes_and_their_absence(course: Course, notebook_text: Path) -> None:
    assert is_current(course, "mini")
    edit(notebook_text.with_name("tasks.py"), "factor = 2", "factor = 2.0")
    assert not is_current(course, "mini")
    release(course, "mini")
    assert is_current(course, "mini")
    shutil.rmtree(course.build)
    assert not is_current(course, "mini")


@pytest.mark.parametrize("language", ["ko", "en"])
def test_check_links_the_page_where_the_site_has_it(
    language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    course = find_course(ROOT)
    task = visible_cases(load_bank(ROOT / "solutions" / "ps1"))[0]
    published = replace(task, site=replace(course, site="https://example.org/course").address("ko"))
    Checker({task.name: published}, language)(task.name, lambda q, k: q)
    said = capsys.readouterr().out.splitlines()
    (link,) = [line.split()[-1] for line in said if "https" in line]
    assert link.startswith("https://example.org/course/")
    page = link.removeprefix("https://example.org/course/").split(".html#")[0]
    contents, page = (ROOT, page) if language == "ko" else (ROOT / "book" / "en", page.removeprefix("en/"))
    assert f"- file: {page}\n" in (contents / "_toc.yml").read_text(encoding="utf-8")


# Staleness


def shift_cases(path: Path, *, inputs: float = 0.0, outputs: float = 0.0) -> None:
    """Rewrites the first task's cases with other numbers."""
    first, *others = read_cases(path).tasks
    cases = tuple(
        replace(
            case,
            inputs={name: np.asarray(value) * (1 + inputs) for name, value in case.inputs.items()},
            right=replace(case.right, value=case.right.value * (1 + outputs)),
        )
        for case in first.cases
        if case.right.value is not None
    )
    save_cases(path, [replace(first, cases=cases), *others], problem_set="mini")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda folder: None, []),
        (lambda folder: shift_cases(folder / "cases.npz", outputs=1e-13), []),
        (lambda folder: shift_cases(folder / "cases.npz", outputs=1e-6), ["/cases.npz is stale"]),
        (lambda folder: shift_cases(folder / "cases.npz", inputs=1e-13), ["/cases.npz is stale"]),
        (lambda folder: (folder / "cases.npz").write_bytes(b"PK"), ["/cases.npz is stale"]),
        (lambda folder: edit(folder / "mini.ipynb", "Double it.", "Double it!"), ["/mini.ipynb is stale"]),
        (lambda folder: (folder / "mini.ipynb").unlink(), ["/mini.ipynb is missing"]),
        (lambda folder: (folder / "solution.py").touch(), ["/solution.py does not belong there"]),
    ],
)
def test_stale_says_what_differs(course: Course, change: Callable[[Path], None], expected: list[str]) -> None:
    change(course.exercises / "en" / "mini")
    before = snapshot(course.root)
    assert stale(course, ["mini"]) == [f"exercises/en/mini{line}" for line in expected]
    assert snapshot(course.root) == before


@pytest.mark.parametrize(
    ("ours", "same"),
    [
        (Outcome(np.array([3e4, 1.0], np.float32)), True),
        (Outcome(np.array([3e4, 1.02], np.float32)), True),  # 30000 + 1 - 30000, say, in another order
        (Outcome(np.array([3e4, 2.0], np.float32)), False),
        (Outcome(np.array([3e4, np.nan], np.float32)), False),
        (Outcome(np.array([3e4, 1.0])), False),  # another dtype
        (Outcome(np.array([3e4, 1.0], np.float32), more=(np.ones(2, np.float32),)), False),
        (Outcome(np.array([3e4, 1.0], np.float32), changed=True), False),
    ],
)
def test_cases_of_two_machines_differ_in_last_digits_of_the_largest_entry(ours: Outcome, same: bool) -> None:
    theirs = Outcome(np.array([3e4, 1.0], np.float32))
    assert same_cases([case_of(ours)], [case_of(theirs)]) is same


def test_a_release_with_another_prompt_leaves_cases_that_differ_in_last_digits(course: Course) -> None:
    folder = course.exercises / "en" / "mini"
    shift_cases(folder / "cases.npz", outputs=1e-13)
    edit(folder / "mini.ipynb", "Double it.", "Double it!")
    before = snapshot(folder)
    release(course, "mini")
    after = snapshot(folder)
    assert [name for name in before if before[name] != after[name]] == ["mini.ipynb"]


def test_cases_whose_gradients_differ_are_not_the_same() -> None:
    one, other = (Outcome(np.ones(2), more=(np.full(2, value),)) for value in (1.0, 1.5))
    assert same_cases([case_of(one)], [case_of(one)])
    assert not same_cases([case_of(one)], [case_of(other)])


def case_of(right: Outcome) -> TaskCases:
    return replace(TASK, cases=(Case("plain", {"x": np.ones(2)}, right, {}),))


def test_stale_names_exercises_without_solutions(course: Course) -> None:
    (course.exercises / "ko" / "old").mkdir()
    assert stale(course, ["mini"]) == ["exercises/ko/old has no solutions/old"]


def test_release_keeps_files_that_differ_in_last_digits_only(course: Course) -> None:
    shift_cases(course.exercises / "en" / "mini" / "cases.npz", outputs=1e-13)
    before = snapshot(course.exercises)
    release(course, "mini")
    assert snapshot(course.exercises) == before


# What students get of the real course


def real_problem_sets() -> list[str]:
    return find_course(ROOT).problem_sets


@pytest.mark.parametrize("problem_set", real_problem_sets())
def test_check_says_of_every_mistake_what_is_wrong_and_nothing_on_stderr(
    problem_set: str, capfd: pytest.CaptureFixture[str]
) -> None:
    bank = load_bank(ROOT / "solutions" / problem_set)
    checks = {
        language: Checker({task.name: task for task in read_cases(exercise / "cases.npz").tasks}, language)
        for language in ("ko", "en")
        for exercise in [ROOT / "exercises" / language / problem_set]
    }
    for task in bank.tasks:
        for mistake in task.mistakes:
            for check in checks.values():
                assert check(task.name, mistake.function) < task.points
                said = capfd.readouterr()
                assert said.err == ""
                assert "✗" in said.out
                # Lines begin with 2 or 6 spaces; with 4 or 8 they continue the line before, with 10 they are code.
                assert not re.search(r"(?m)^(|  | {6})\S.*:$(?!\n\1 )", said.out)
                assert not re.search(r"(?m)^( {4}| {8})\S.*:$(?!\n\1)", said.out)


STATED = {
    "ko": r"\*(?P<points>[\d.]+)점 · (?P<how>쉬움|보통|어려움) · (?P<minutes>\d+)분\*",
    "en": r"\*(?P<points>[\d.]+) points? · (?P<how>easy|medium|hard) · (?P<minutes>\d+) minutes\*",
}
DIFFICULTY = {"쉬움": "easy", "보통": "medium", "어려움": "hard"}
HEAD = {
    "ko": r"\| 걸리는 시간 \| (?P<least>\d+)–(?P<most>\d+)분 \|\n\| 배점 \| (?P<points>[\d.]+)점 ",
    "en": r"\| Time \| (?P<least>\d+)–(?P<most>\d+) minutes \|\n\| Points \| (?P<points>[\d.]+) ",
}


def prose_of(problem_set: str, language: str) -> list[str]:
    """The prose before each item of an exercise, in the order of the items, after the page's own beginning."""
    cells = read_notebook(ROOT / "exercises" / language / problem_set / f"{problem_set}.ipynb").cells
    return [cell.source for cell in cells if cell.cell_type == "markdown" and "nbgrader" not in cell.metadata]


@pytest.mark.parametrize("problem_set", real_problem_sets())
def test_exercises_state_points_difficulty_time_and_three_hints(problem_set: str) -> None:
    bank = load_bank(ROOT / "solutions" / problem_set)
    items = [*bank.tasks, *bank.written]
    stated = {}
    for language in ("ko", "en"):
        first, *tasks = prose_of(problem_set, language)
        found = [re.search(STATED[language], text) for text in tasks]
        tasks = [text for text, match in zip(tasks, found, strict=True) if match]
        matches = [match for match in found if match]
        assert [float(match["points"]) for match in matches] == [item.points for item in items]
        assert all(text.count("<details><summary>") == 3 for text in tasks)
        head = re.search(HEAD[language], first)
        assert head is not None
        assert float(head["points"]) == bank.points
        assert 30 <= int(head["least"]) <= int(head["most"]) <= 90
        assert sum(int(match["minutes"]) for match in matches) <= int(head["most"])
        how = [DIFFICULTY.get(match["how"], match["how"]) for match in matches]
        stated[language] = [
            (match["points"], match["minutes"], each) for match, each in zip(matches, how, strict=True)
        ]
        assert {"ko": "**라이브러리.**", "en": "**The library.**"}[language] in first
    assert stated["ko"] == stated["en"]


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("problem_set", real_problem_sets())
def test_prompts_define_a_letter_once(problem_set: str, language: str) -> None:
    for prompt in prose_of(problem_set, language):
        defined = re.findall(r"(?m)^(?:- )?(\$[^$\n]+\$|`[^`\n]+`)(?:은|는| is) ", prompt)
        assert len(defined) == len(set(defined)), defined
    assert (
        re.findall(r"(?m)^(?:- )?(\$[^$\n]+\$|`[^`\n]+`)(?:은|는| is) ", "$M$은 0\n$M$ is 1") == ["$M$"] * 2
    )


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("problem_set", real_problem_sets())
def test_prompts_say_the_shape_of_the_result(problem_set: str, language: str) -> None:
    """The one that the stub's docstring promises first."""
    _, *prompts = prose_of(problem_set, language)
    for task, prompt in zip(load_bank(ROOT / "solutions" / problem_set).tasks, prompts, strict=False):
        promised = re.search(r"->[^()]*(\([^()]*\))", task.reference.__doc__ or "")
        if promised:
            assert f"`{promised[1]}`" in prompt, task.name


@pytest.mark.parametrize("problem_set", real_problem_sets())
def test_prompts_of_answers_in_words_say_how_a_cell_is_opened(problem_set: str) -> None:
    """Rendered, it is a pencil, and no box to write into."""
    written = load_bank(ROOT / "solutions" / problem_set).written
    for language, how in (("ko", "아래의 ✎ 셀을 두 번 눌러"), ("en", "Double-click the cell ✎ below")):
        prompts = prose_of(problem_set, language)
        assert sum(how in prompt for prompt in prompts) == len(written)


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("problem_set", real_problem_sets())
def test_code_in_prompts_holds_no_sign_that_python_refuses(problem_set: str, language: str) -> None:
    codes = re.findall(r"<code>(.*?)</code>|`([^`\n]+)`", "\n".join(prose_of(problem_set, language)))
    assert codes
    assert not [code for pair in codes for code in pair if re.search("[−·×ᵀ⁺‘’“”]", code)]
