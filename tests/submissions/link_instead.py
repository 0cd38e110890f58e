"""A link in place of the notebook: no other student's work is read through it.

Missing: there is no notebook in mini
"""

from submission_case import Case


def build(case: Case) -> None:
    case.folder.mkdir(parents=True)
    (case.folder / "mini.ipynb").symlink_to(case.submitted / "all_right" / "mini" / "mini.ipynb")
