"""What a large class takes where everything is looked at: marks out, and similar submissions.

`python benchmarks/class_of_thousands.py [STUDENTS]` prints one line for each.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from lms_class import course_with_gradebook, give_marks

from course_lib.course import find_course
from course_lib.grading.bank import load_bank
from course_lib.grading.notebook import read_notebook, write_notebook
from course_lib.grading.sample import sample_class, write_sample
from course_lib.people.export import export_marks
from course_lib.people.roster import import_roster
from course_lib.people.similar import similar_in
from course_lib.release.notebooks import release

ROOT = Path(__file__).parents[1]
# What students put between their lines; names make no difference, so these differ in what they compute.
ASIDES = [
    f"{left} {sign} {right}" for sign in "+-*/%@&|^" for left in "abc" for right in ("d[0]", "d.T", "len(d)")
]


def main(students: int) -> None:
    """Times taking in a class, each kind of export, and the list of similar submissions."""
    marks_out(students)
    similar(students)


def marks_out(students: int) -> None:
    """Times taking in a class and each kind of export."""
    with tempfile.TemporaryDirectory() as folder:
        course = course_with_gradebook(Path(folder))
        ids = [f"20{number:07}" for number in range(students)]
        lines = [f'"Name{n}, Student",{n + 1000},{student},s{n},A' for n, student in enumerate(ids)]
        roster = Path(folder, "large.csv")
        roster.write_text("\n".join(["Student,ID,SIS User ID,SIS Login ID,Section", *lines]) + "\n")
        start = perf_counter()
        import_roster(course, roster, "canvas")
        print(f"{students} students: roster {perf_counter() - start:.2f} s", end="")
        one = {"double": (3.0, None, False), "mean": (2.5, None, False), "why": (None, 1.5, False)}
        give_marks(course, dict.fromkeys(ids, one))
        for to in ("canvas", "moodle", "csv", "xlsx"):
            start = perf_counter()
            export_marks(course, ["mini"], to, Path(folder, f"out.{to}"))
            print(f", {to} {perf_counter() - start:.2f} s", end="")
        print()


def similar(students: int) -> None:
    """Times the list of similar submissions of ps1, in a class whose right and wrong answers all differ somewhere."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "course")
        shutil.copytree(ROOT / "solutions" / "ps1", root / "solutions" / "ps1")
        shutil.copy(ROOT / "course.toml", root)
        course = find_course(root)
        release(course, "ps1")
        few = [each for each in sample_class(load_bank(course.solutions / "ps1")) if each.kind == "notebook"]
        write_sample(few, course.exercises / "en" / "ps1", Path(scratch, "few"))
        notebooks = [read_notebook(path) for path in sorted(Path(scratch, "few").glob("*/*/*.ipynb"))]
        chance = random.Random(7)
        for number in range(students):
            notebook = notebooks[number % len(notebooks)].copy()
            notebook.cells = [_own(cell, chance) for cell in notebook.cells]
            target = root / "autograded" / f"student-{number:05}" / "ps1" / "ps1.ipynb"
            target.parent.mkdir(parents=True)
            write_notebook(notebook, target)
        start = perf_counter()
        found = similar_in(course, "ps1")
        print(f"{students} students: similar {perf_counter() - start:.1f} s, {len(found.pairs)} pairs listed")


def _own(cell: Any, chance: random.Random) -> Any:
    """A solution with some lines that few others have."""
    if cell.cell_type != "code" or not cell.metadata.get("nbgrader", {}).get("solution"):
        return cell
    cell = cell.copy()
    head, colon, body = cell.source.partition(":\n")
    asides = "".join(f"    aside = {chance.choice(ASIDES)}\n" for _ in range(5))
    cell.source = head + colon + asides + body
    return cell


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
