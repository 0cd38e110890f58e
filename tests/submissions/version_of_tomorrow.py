"""A notebook in a format that is not there yet.

Says: mini.ipynb is not a valid notebook: it says no version of the notebook format that is known
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write_json({**case.json_of(case.answered()), "nbformat": 5})
