"""A folder without a file.

From: jupyter/nbgrader#744
Missing: mini is empty
"""

from submission_case import Case


def build(case: Case) -> None:
    case.folder.mkdir(parents=True)
