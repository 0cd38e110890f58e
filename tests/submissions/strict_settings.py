"""Warnings are errors, NumPy raises, a seed is set, the folder is changed, and names are deleted at the end.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case

TOP = """
import os
import warnings

warnings.simplefilter("error")
np.seterr(all="raise")
np.random.seed(0)
os.makedirs("out", exist_ok=True)
os.chdir("out")
"""
DOUBLE = """
def double(x):
    warnings.warn("an old way")
    np.random.seed(1)
    return 2 * x
"""


def build(case: Case) -> None:
    notebook = case.answered(double=DOUBLE)
    at = next(place for place, cell in enumerate(notebook.cells) if case.name_of(cell) == "double-solution")
    notebook.cells.insert(at, case.code(TOP))
    notebook.cells += map(case.code, ("del double, mean, np", "list = 1", "import unittest\nunittest.main()"))
    case.write(notebook)
