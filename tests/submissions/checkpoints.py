"""Jupyter's own folder of checkpoints beside the notebook.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.answered())
    (case.folder / ".ipynb_checkpoints").mkdir()
    case.write_bytes(b"{", name=".ipynb_checkpoints/mini-checkpoint.ipynb")
