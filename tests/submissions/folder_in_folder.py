"""The folder once more inside itself, as unpacking leaves it.

Missing: there is no notebook in mini, only mini
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered())
    inner = case.folder / "mini"
    inner.mkdir()
    (case.folder / "mini.ipynb").rename(inner / "mini.ipynb")
