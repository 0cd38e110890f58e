# ruff: noqa
# kind: time stamps
# attack: a time stamp of a million random bytes
# status: graded
# doubt: no time stamp
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    import os

    (folder / "timestamp.txt").write_bytes(os.urandom(1_000_000))
    write_notebook(notebook, folder / "mini.ipynb")
