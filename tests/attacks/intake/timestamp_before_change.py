# ruff: noqa
# kind: time stamps
# attack: a time stamp in time on a notebook that was changed after the date
# status: graded
# doubt: changed after that
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    (folder / "timestamp.txt").write_text("2020-03-31 11:00:00 UTC\n")
    write_notebook(notebook, folder / "mini.ipynb")
