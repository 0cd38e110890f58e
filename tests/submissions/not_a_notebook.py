"""Valid JSON that is no notebook.

Says: mini.ipynb is not a valid notebook: it says no version of the notebook format
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write_bytes(b'{"name": "mini"}')
