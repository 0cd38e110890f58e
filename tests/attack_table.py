"""The table in SECURITY.md: what attacks earn in stock nbgrader and here. `python tests/attack_table.py` writes it.

Stock nbgrader runs only the attacks that are marked safe: forged scores, patched comparisons, hooks, skipped cells.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attack_suite import FIELD, FOLDER, load_attacks, notebook_with
from mini import make_course

from course_lib.course import Course, find_course
from course_lib.grading.notebook import write_notebook
from course_lib.grading.workspace import nbgrader_at_work, open_workspace, register, settings
from course_lib.release.notebooks import release

PAGE = Path(__file__).parents[1] / "SECURITY.md"
BEGIN, END = "<!-- the table of attacks -->\n", "<!-- its end -->"
NOT_RUN = "not run: harmful"
WRONG = [("double-solution", "def double(x):\n    return np.zeros(3)")]
_ROW = re.compile(r"^\| (.+?) \| (.+?) \| (.+?) \| `(.+?)` \|$", re.MULTILINE)
POINTS = {"double": 3.0, "mean": 2.5}


@dataclass(frozen=True)
class Row:
    """One line of the table; `name` is the attack's file."""

    words: str
    stock: str
    here: str
    name: str


def rows(stock: dict[str, str]) -> dict[str, list[Row]]:
    """The table by kinds, with what stock nbgrader gave (by file) and what the tests hold true here."""
    table: dict[str, list[Row]] = {}
    for attack in load_attacks():
        here = of(attack.item, attack.earns[attack.item])
        if attack.item != "mean" and attack.earns["mean"] < POINTS["mean"]:
            here += ", its own other task lost"
        row = Row(attack.words, stock.get(attack.name, NOT_RUN), here, attack.name)
        table.setdefault(attack.kind, []).append(row)
    for path in intake_files():
        said = fields(path)
        here = (
            of("double", 0.0)
            if said["status"] in ("graded", "any")
            else f"{of('double', 0.0)}, {said['status']}"
        )
        name = f"intake/{path.stem}"
        table.setdefault(said["kind"], []).append(Row(said["attack"], stock.get(name, NOT_RUN), here, name))
    return table


def intake_files() -> list[Path]:
    return sorted((FOLDER / "intake").glob("*.py"))


def fields(path: Path) -> dict[str, str]:
    return dict(FIELD.findall(path.read_text(encoding="utf-8")))


def of(item: str, points: float | None) -> str:
    return "no mark" if points is None else f"{points:g} / {POINTS[item]:g}"


def hand_in_as(path: Path, course: Course, folder: Path) -> None:
    """Lets an attack on intake arrange a folder around a notebook whose `double` is wrong."""
    spec = importlib.util.spec_from_file_location(f"attack_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder.mkdir(parents=True)
    module.hand_in(folder, notebook_with(course, WRONG))


def written() -> dict[str, Row]:
    """The rows that SECURITY.md shows, by the attack's file."""
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    return {row[3]: Row(*row) for row in _ROW.findall(text)}


def stock_points(course: Course, folder: Path) -> dict[str, str]:
    """What stock `nbgrader autograde` gives for the attacked item of every safe attack, honest students aside."""
    items: dict[str, str] = {"honest": "double"}
    notebooks: dict[str, Any] = {"honest": notebook_with(course, [])}
    for attack in load_attacks():
        if attack.safe:
            items[attack.name] = attack.item
            notebooks[attack.name] = notebook_with(course, attack.cells)
    files = {path.stem: path for path in intake_files() if fields(path).get("stock") == "safe"}
    items |= dict.fromkeys(files, "double")
    # Two workspaces, since two processes on one of nbgrader's gradebooks lock each other out.
    places = {name: folder / str(number % 2) for number, name in enumerate(sorted(items))}
    for name, place in places.items():
        if name in files:
            hand_in_as(files[name], course, place / "submitted" / name / "mini")
        else:
            (place / "submitted" / name / "mini").mkdir(parents=True)
            write_notebook(notebooks[name], place / "submitted" / name / "mini" / "mini.ipynb")
    for place in set(places.values()):
        register(open_workspace(course, place), "mini")
    _wait_for(
        [
            __file__,
            "--stock",
            str(course.root),
            str(place),
            *(name for name in places if places[name] == place),
        ]
        for place in sorted(set(places.values()))
    )
    return {
        f"intake/{name}" if name in files else name: of(item, _mark(places[name], name, item))
        for name, item in items.items()
    }


def _wait_for(commands: Iterable[list[str]]) -> None:
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for process in [subprocess.Popen([sys.executable, *command], **quiet) for command in commands]:
        process.wait()


def _mark(folder: Path, student: str, item: str) -> float | None:
    from nbgrader.api import Gradebook, MissingEntry

    with _quiet(), Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        try:
            grade = gradebook.find_grade(item, "mini", "mini", student)
        except MissingEntry:
            return None
        return None if grade.needs_manual_grade or grade.auto_score is None else float(grade.auto_score)


@contextmanager
def _quiet() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _autograde(root: str, folder: str, students: list[str]) -> None:
    """nbgrader's own converter, with nothing of ours between it and the kernel."""
    from nbgrader.converters import Autograde
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory

    course = find_course(Path(root))
    for student in students:
        config = settings(open_workspace(course, Path(folder)), "mini")
        config.CourseDirectory.submitted_directory = str(Path(folder) / "submitted")
        config.CourseDirectory.student_id = student
        config.Execute.timeout = 20
        with nbgrader_at_work(COURSE_ROOT=root) as log:
            converter: Any = Autograde(
                coursedir=CourseDirectory(config=config), config=config, log=log.logger
            )
            converter.force = True
            with suppress(NbGraderException):
                converter.start()


def page_with(text: str, table: dict[str, list[Row]]) -> str:
    """The page with this table in it, and how many of the attacks gained where."""
    lines = []
    for kind, of_kind in sorted(table.items()):
        lines += [
            f"\n### {kind[0].upper()}{kind[1:]}\n",
            "| attack | stock nbgrader | here | file |",
            "|---|---|---|---|",
        ]
        lines += [f"| {row.words} | {row.stock} | {row.here} | `{row.name}` |" for row in of_kind]
    every = [row for of_kind in table.values() for row in of_kind]
    tried = [row for row in every if row.stock != NOT_RUN]
    gained = [row for row in tried if not row.here.startswith(row.stock) and row.stock != "no mark"]
    summary = (
        f"{len(every)} attacks; here none earns more than it honestly would. "
        f"Of {len(tried)} that stock nbgrader ran, {len(gained)} earned more than that there.\n"
    )
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + summary + "\n".join(lines) + "\n\n" + END + rest.partition(END)[2]


def main() -> None:
    if sys.argv[1:2] == ["--stock"]:
        _autograde(sys.argv[2], sys.argv[3], sys.argv[4:])
        return
    with tempfile.TemporaryDirectory() as scratch:
        course = make_course(Path(scratch) / "course")
        release(course, "mini")
        stock = stock_points(course, Path(scratch) / "stock")
    assert stock.pop("honest") == of("double", 3.0), "stock nbgrader does not grade the honest student"
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), rows(stock)), encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
