"""nbgrader's Validate, as students have it: it passes on what is solved, fails on what is not, and says so shortly."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.course import find_course
from course_lib.grading.bank import load_bank
from course_lib.grading.notebook import read_notebook
from course_lib.grading.sample import sample_class, write_sample

ROOT = Path(__file__).parents[1]
PASSED = "Success! Your notebook passes all the tests."


def validated(notebook: Path) -> str:
    command = [sys.executable, "-m", "nbgrader", "validate", notebook.name]
    return subprocess.run(command, cwd=notebook.parent, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("problem_set", find_course(ROOT).problem_sets)
def test_validate_passes_on_the_solution_and_fails_on_the_untouched_notebook(
    problem_set: str, tmp_path: Path
) -> None:
    bank = load_bank(ROOT / "solutions" / problem_set)
    exercise = ROOT / "exercises" / "en" / problem_set
    solved = next(student for student in sample_class(bank, "en") if student.title == "model solutions")
    write_sample([solved], exercise, tmp_path)
    folder = tmp_path / solved.id / problem_set
    shutil.copy(exercise / "cases.npz", folder)
    assert PASSED in validated(folder / f"{problem_set}.ipynb")
    shutil.copy(exercise / f"{problem_set}.ipynb", folder)
    said = validated(folder / f"{problem_set}.ipynb")
    assert PASSED not in said
    assert said.count("The following cell failed:") == len(bank.tasks) + len(bank.written)
    assert "Traceback" not in said


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("problem_set", find_course(ROOT).problem_sets)
def test_a_graded_cell_shows_its_check_alone(problem_set: str, language: str) -> None:
    """What Validate reads is the value of its last line."""
    bank = load_bank(ROOT / "solutions" / problem_set)
    cells = read_notebook(ROOT / "exercises" / language / problem_set / f"{problem_set}.ipynb").cells
    graded = [
        cell.source
        for cell in cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
    ]
    assert graded == [f'check("{task.name}", {task.name})' for task in bank.tasks]
