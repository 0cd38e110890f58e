"""The folder's name in capitals.

Missing: there is no folder mini, only Mini
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered())
    case.folder.rename(case.folder.with_name("Mini"))
