"""Answers that earn nothing are 0, and not missing.

From: jupyter/nbgrader#1374
Marks: double 0, mean 0, why 0
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered(
        double="def double(x):\n    return x + 'a'", mean="def mean(x, axis=-1):\n    return 0 * x"
    )
    case.cell(notebook, "why").source = case.cell(case.released(), "why").source
    case.write(notebook)
