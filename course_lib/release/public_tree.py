"""The public tree: what may stand in a public repository. It builds the book and lets students work; no solutions."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

from course_lib.course import LANGUAGES, SETTINGS_FILE, Course
from course_lib.release import visible_checks
from course_lib.release.links import NotebookLinks, all_links
from course_lib.release.wheel import WHEEL, put_wheels, requirements

FILES = ("LICENSE", "LICENSE-TEXT", "pyproject.toml", "requirements.lock", "_config.yml", "_toc.yml")
FOLDERS = ("book", "course_lib", "exercises")
LEFT_OUT = ("__pycache__", "*.pyc", ".ipynb_checkpoints", "*.mo", ".*.new", ".*.old")
PRIVATE_SETTINGS = ("extensions",)  # they name students
# Git for Windows would write other line ends: no notebook were as it was handed out.
ATTRIBUTES = "* text=auto eol=lf\n"
IGNORED = (
    "/_build/\n.venv/\n*.egg-info/\n__pycache__/\n.ipynb_checkpoints/\n"  # not the wheels: Colab fetches them
)


def write_public_tree(course: Course, folder: Path) -> None:
    """Writes the tree into a new folder; what the course does not have is left out."""
    folder.mkdir(parents=True)
    for name in FILES:
        if (course.root / name).is_file():
            shutil.copyfile(course.root / name, folder / name)
    for name in FOLDERS:
        if (course.root / name).is_dir():
            shutil.copytree(course.root / name, folder / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    _write_exercises(folder)
    settings = tomllib.loads((course.root / SETTINGS_FILE).read_text(encoding="utf-8-sig"))
    (folder / SETTINGS_FILE).write_text(_toml(settings), encoding="utf-8", newline="\n")
    (folder / "README.md").write_text(_readme(course), encoding="utf-8", newline="\n")
    (folder / ".gitattributes").write_text(ATTRIBUTES, encoding="utf-8", newline="\n")
    (folder / ".gitignore").write_text(IGNORED, encoding="utf-8", newline="\n")
    workflow = folder / ".github" / "workflows" / "checks.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(WORKFLOW, encoding="utf-8", newline="\n")
    shutil.copyfile(visible_checks.__file__, folder / ".github" / "visible_checks.py")


def _write_exercises(folder: Path) -> None:
    """Adds the library beside each exercise, Binder's list, and how each was handed out."""
    put_wheels(folder / "exercises")
    for needed in folder.glob("exercises/*/*/requirements.txt"):  # the course's own may name the repository
        text = re.sub(r"^course_lib @ .*$", f"./{WHEEL}", needed.read_text(encoding="utf-8"), flags=re.M)
        needed.write_text(text, encoding="utf-8", newline="\n")
    if wheels := sorted(folder.glob(f"exercises/*/*/{WHEEL}")):
        binder = folder / ".binder"
        binder.mkdir()
        library = f"./{wheels[0].relative_to(folder).as_posix()}"
        (binder / "requirements.txt").write_text(requirements((), library), encoding="utf-8", newline="\n")
        (binder / "runtime.txt").write_text("python-3.12\n", encoding="utf-8", newline="\n")
        (folder / visible_checks.HANDED_OUT).write_text(_handed_out(folder), encoding="utf-8", newline="\n")


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
    return f"""\
# Scaled Dot-Product Attention

The book (`book/`), its library (`course_lib/`) and the problem sets as students get them:

{sets}
{_links(course)}
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
    """Where each notebook opens in a browser; empty without a repository on GitHub."""
    links = all_links(course)
    if not links:
        return ""
    rows = [_row(link) for link in links]
    return f"""
| notebook | open in | on a hub with nbgitpuller: its address, then |
|---|---|---|
{chr(10).join(rows)}
"""


def _row(link: NotebookLinks) -> str:
    opens = [f"[Colab]({link.colab})", *([f"[Binder]({link.binder})"] if link.binder else [])]
    return f"| {link.problem_set} ({link.language}) | {' · '.join(opens)} | `{link.puller}` |"


def _handed_out(folder: Path) -> str:
    """The notebooks as they were handed out, in the format of sha256sum."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in sorted(folder.glob("exercises/*/*/*.ipynb"))
    ]
    return "".join(lines)


WORKFLOW = """\
# Runs the visible checks of every notebook that somebody has begun.
name: checks
on: push
permissions:
  contents: read
jobs:
  checks:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v7
      - uses: actions/setup-python@v7
        with:
          python-version: "3.12"
      - name: Install what the notebooks that were begun need
        run: |
          python .github/visible_checks.py --begun > begun.txt
          pip install -q "nbgrader>=0.9.6,<0.10" ipykernel
          while read -r folder
          do
            (cd "$folder" && pip install -q -r requirements.txt)
          done < begun.txt
      - name: Run their checks
        run: python .github/visible_checks.py
"""
