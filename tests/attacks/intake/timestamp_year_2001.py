# ruff: noqa
# kind: time stamps
# attack: a time stamp of the year 2001
# status: graded
# doubt: before the set was released
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    (folder / "timestamp.txt").write_text("2001-01-01 00:00:00 UTC\n")
    write_notebook(notebook, folder / "mini.ipynb")
