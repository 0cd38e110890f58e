"""A student's folder without one of this problem set.

Missing: there is no folder mini
"""

from submission_case import Case


def build(case: Case) -> None:
    case.folder.parent.mkdir(parents=True)
