"""The public tree: what may stand in a public repository. It builds the book and lets students work; no solutions."""

from __future__ import annotations

import json
import shutil
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

from course_lib.course import LANGUAGES, SETTINGS_FILE, Course
from course_lib.release.wheel import put_wheels

FILES = ("LICENSE", "LICENSE-TEXT", "pyproject.toml", "requirements.lock", "_config.yml", "_toc.yml")
FOLDERS = ("book", "course_lib", "exercises")
LEFT_OUT = ("__pycache__", "*.pyc", ".ipynb_checkpoints", "*.mo", ".*.new", ".*.old")
PRIVATE_SETTINGS = ("extensions",)  # they name students


def write_public_tree(course: Course, folder: Path) -> None:
    """Writes the tree into a new folder; what the course does not have is left out."""
    folder.mkdir(parents=True)
    for name in FILES:
        if (course.root / name).is_file():
            shutil.copyfile(course.root / name, folder / name)
    for name in FOLDERS:
        if (course.root / name).is_dir():
            shutil.copytree(course.root / name, folder / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    put_wheels(folder / "exercises")
    settings = tomllib.loads((course.root / SETTINGS_FILE).read_text(encoding="utf-8-sig"))
    (folder / SETTINGS_FILE).write_text(_toml(settings), encoding="utf-8")
    (folder / "README.md").write_text(_readme(course), encoding="utf-8")
    workflow = folder / ".github" / "workflows" / "checks.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(WORKFLOW, encoding="utf-8")


def copy_exercises(course: Course, folder: Path) -> None:
    """The exercises with their wheels, for notebooks that fetch them from the site."""
    shutil.copytree(course.exercises, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    put_wheels(folder)


def _toml(settings: dict[str, Any]) -> str:
    """The settings as TOML: plain values, then tables of plain values; those that name students are left out."""
    plain = [f"{key} = {_value(value)}" for key, value in settings.items() if not isinstance(value, dict)]
    tables = [
        "\n".join([f"\n[{key}]", *(f"{name} = {_value(value)}" for name, value in table.items())])
        for key, table in settings.items()
        if isinstance(table, dict) and key not in PRIVATE_SETTINGS
    ]
    return "\n".join([*plain, *tables]) + "\n"


def _value(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else json.dumps(value, ensure_ascii=False)


def _readme(course: Course) -> str:
    sets = "\n".join(
        f"- `exercises/{language}/{name}`" for name in course.problem_sets for language in LANGUAGES
    )
    links = f"\n{_links(course)}\n" if course.on_github else ""
    return f"""\
# Scaled Dot-Product Attention

The book (`book/`), its library (`course_lib/`) and the problem sets as students get them:

{sets}
{links}
Work on a problem set: copy its folder, and there run

```sh
python3 -m venv .venv && . .venv/bin/activate    # on Windows: py -m venv .venv, then .venv\\Scripts\\activate
pip install -r requirements.txt
jupyter lab
```

Build the book into `_build/html`, from this folder, in a fresh virtual environment:

```sh
pip install "torch>=2.6,<3"
pip install --require-hashes -r requirements.lock
pip install --no-deps --no-build-isolation -e .
course build
```

Code: MIT (`LICENSE`). Text and figures: CC BY 4.0 (`LICENSE-TEXT`).
"""


def _links(course: Course) -> str:
    """Where each notebook opens in a browser: Colab, Binder, and nbgitpuller for a hub of one's own."""
    name = course.on_github
    lines = ["| notebook | open in |", "|---|---|"]
    for problem_set in course.problem_sets:
        for language in LANGUAGES:
            path = f"exercises/{language}/{problem_set}/{problem_set}.ipynb"
            colab = f"https://colab.research.google.com/github/{name}/blob/main/{path}"
            binder = f"https://mybinder.org/v2/gh/{name}/main?urlpath=lab/tree/{path}"
            puller = f"hub/user-redirect/git-pull?repo=https://github.com/{name}&branch=main&urlpath=lab/tree/{path}"
            lines.append(
                f"| {problem_set} ({language}) | [Colab]({colab}) · [Binder]({binder}) · your hub: `/{puller}` |"
            )
    return "\n".join(lines)


WORKFLOW = """\
# Runs the visible checks of every problem set whose notebook a push changes.
name: checks
on: push
permissions:
  contents: read
jobs:
  checks:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 2
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - name: Check the notebooks that changed
        run: |
          failed=0
          for notebook in $(git diff --name-only HEAD~1 -- 'exercises/*.ipynb' 2>/dev/null || ls exercises/*/*/*.ipynb)
          do
            folder=$(dirname "$notebook")
            (cd "$folder" && pip install -q -r requirements.txt "nbgrader>=0.9.6,<0.10" ipykernel)
            (cd "$folder" && nbgrader validate "$(basename "$notebook")") | tee result.txt
            grep -q "Success" result.txt || failed=1
          done
          exit $failed
"""
