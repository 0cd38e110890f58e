"""The workflow of the public tree: what its steps run, run here, on notebooks that are untouched, solved and broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from mini import DOUBLE, MEAN, hand_in

from course_lib.course import Course
from course_lib.release.links import links_of
from course_lib.release.notebooks import release
from course_lib.release.public_tree import write_public_tree
from course_lib.release.wheel import WHEEL

SOLVED = {"double_solution": DOUBLE, "mean_solution": MEAN, "why": "Because."}


@pytest.fixture(scope="module")
def course(course: Course) -> Course:
    course = replace(course, repository="https://github.com/owner/a-course")
    release(course, "mini")
    return course


@pytest.fixture
def tree(course: Course, tmp_path: Path) -> Path:
    write_public_tree(course, tmp_path / "public")
    return tmp_path / "public"


def steps(tree: Path) -> dict[str, str]:
    """What the workflow runs, by the names of its steps."""
    workflow = yaml.safe_load((tree / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8"))
    return {step["name"]: step["run"] for step in workflow["jobs"]["checks"]["steps"] if "run" in step}


def run(tree: Path, script: str) -> subprocess.CompletedProcess[str]:
    """As GitHub runs a step."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-e", "-c", script], cwd=tree, env=environment, capture_output=True, text=True, timeout=300
    )


def put(course: Course, tree: Path, language: str, sources: dict[str, str], scratch: Path) -> None:
    solved = hand_in(course, scratch / "solved", f"student-{language}", language=language, **sources)
    shutil.copy(solved, tree / "exercises" / language / "mini" / "mini.ipynb")


def test_nothing_is_checked_that_nobody_began(tree: Path) -> None:
    script = steps(tree)
    begun = run(
        tree, f"{script['Install what the notebooks that were begun need'].splitlines()[0]}; cat begun.txt"
    )
    assert (begun.stdout, begun.returncode) == ("", 0)
    done = run(tree, script["Run their checks"])
    assert (done.stdout, done.returncode) == ("Begun: 0; of these, all checks pass in 0.\n", 0)


@pytest.mark.slow
def test_a_push_is_green_where_all_that_was_begun_passes(course: Course, tree: Path, tmp_path: Path) -> None:
    put(course, tree, "ko", SOLVED, tmp_path)
    script = steps(tree)
    done = run(tree, script["Run their checks"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ exercises/ko/mini/mini.ipynb" in done.stdout
    # What nbgrader says when all pass, said by a cell, passes nothing; and one set does not hide another.
    put(
        course,
        tree,
        "en",
        {**SOLVED, "mean_solution": "def mean(x, axis=-1):\n    return 'Success'"},
        tmp_path,
    )
    done = run(tree, script["Run their checks"])
    assert done.returncode == 1
    assert '✗ exercises/en/mini/mini.ipynb: failed: check("mean", mean)' in done.stdout
    assert "Begun: 2; of these, all checks pass in 1." in done.stdout
    (tree / "exercises" / "en" / "mini" / "mini.ipynb").write_text("{")
    done = run(tree, script["Run their checks"])
    assert done.returncode == 1
    assert "✗ exercises/en/mini/mini.ipynb: " in done.stdout
    assert "✓ exercises/ko/mini/mini.ipynb" in done.stdout


def test_public_tree_installs_from_the_wheel_beside_a_notebook(course: Course, tree: Path) -> None:
    ours = (course.root / "exercises" / "ko" / "mini" / "requirements.txt").read_text(encoding="utf-8")
    theirs = (tree / "exercises" / "ko" / "mini" / "requirements.txt").read_text(encoding="utf-8")
    assert "git+https://github.com/owner/a-course" in ours
    assert theirs.splitlines()[1] == f"./{WHEEL}"
    assert (tree / "exercises" / "ko" / "mini" / WHEEL).is_file()


@pytest.mark.parametrize("language", ["ko", "en"])
def test_notebook_lies_where_nbgitpuller_opens_it(
    course: Course, tree: Path, tmp_path: Path, language: str
) -> None:
    """It clones as here, into a folder with the repository's name, and opens what `urlpath` names."""
    link = links_of(course, language, "mini")
    assert link is not None
    asked = parse_qs(urlsplit(link.puller).query)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (f"init -q -b {asked['branch'][0]}", "add -A", "commit -qm x"):
        subprocess.run([*git, *command.split()], cwd=tree, check=True)
    name = asked["repo"][0].rpartition("/")[2]
    clone = [*git, "clone", "-q", "--depth", "1", "--branch", asked["branch"][0], "--", tree.as_uri(), name]
    subprocess.run(clone, cwd=tmp_path, check=True)
    notebook = tmp_path / asked["urlpath"][0].removeprefix("lab/tree/")
    beside = {path.name for path in notebook.parent.iterdir()}
    assert beside == {notebook.name, "cases.npz", "requirements.txt", WHEEL}


def test_workflows_may_only_read_and_name_the_same_actions(tree: Path) -> None:
    """Ours and the one that is handed out: whoever opens a pull request writes nothing, and no job runs for hours."""
    found: dict[str, set[str]] = {}
    for path in [*(Path(__file__).parents[1] / ".github" / "workflows").glob("*.yml"), *tree.rglob("*.yml")]:
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        if "jobs" not in workflow:
            continue
        assert workflow["permissions"] == {"contents": "read"}, path
        assert "pull_request_target" not in workflow[True]  # YAML reads the word `on` so
        for job in workflow["jobs"].values():
            writes = {name for name, may in job.get("permissions", {}).items() if may == "write"}
            assert not writes or "github.event_name == 'push'" in job["if"], path
            assert writes <= {"pages", "id-token"}
            assert job.get("timeout-minutes", 360) <= 90 or not any("run" in step for step in job["steps"])
            for action in (step["uses"] for step in job["steps"] if "uses" in step):
                name, _, version = action.partition("@")
                assert (name.split("/")[0], version[:1]) == ("actions", "v"), action
                found.setdefault(name, set()).add(version)
    assert {"actions/checkout", "actions/setup-python", "actions/deploy-pages"} <= set(found)
    assert {name: versions for name, versions in found.items() if len(versions) > 1} == {}


def test_public_tree_tells_binder_what_to_install(tree: Path) -> None:
    lines = (tree / ".binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert (tree / lines[1]).is_file()  # pip reads it from the root
    assert (tree / ".binder" / "runtime.txt").read_text(encoding="utf-8") == "python-3.12\n"
