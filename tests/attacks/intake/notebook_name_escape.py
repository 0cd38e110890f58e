# ruff: noqa
# kind: names
# attack: escape sequences in the notebook's name
# status: graded
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    write_notebook(notebook, folder / "\x1b[2Jmini\n.ipynb")
