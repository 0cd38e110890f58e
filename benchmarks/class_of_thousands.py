"""How long marks of a large class take to leave the gradebook: `python benchmarks/class_of_thousands.py [STUDENTS]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from lms_class import course_with_gradebook, give_marks

from course_lib.people.export import export_marks
from course_lib.people.roster import import_roster


def main(students: int) -> None:
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


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
