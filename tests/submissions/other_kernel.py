"""A kernel's name that exists on the student's machine alone.

From: jupyter/nbgrader#1375
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.metadata.kernelspec = {"name": "conda-env-mine-py", "display_name": "mine", "language": "R"}
    case.write(notebook)
