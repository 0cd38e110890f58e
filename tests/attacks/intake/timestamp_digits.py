# ruff: noqa
# kind: time stamps
# attack: a time stamp whose number is too long for the parser of dates
# status: graded
# doubt: no time stamp
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    (folder / "timestamp.txt").write_text("2020-03-30 12:00" + "9" * 40)
    write_notebook(notebook, folder / "mini.ipynb")
