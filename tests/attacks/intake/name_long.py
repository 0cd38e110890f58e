# ruff: noqa
# kind: names
# attack: an id of 200 characters
# status: any
# mean: any
from course_lib.grading.notebook import write_notebook

NAME = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"


def hand_in(folder, notebook):
    other = folder.parents[1] / NAME / "mini"
    other.mkdir(parents=True)
    write_notebook(notebook, other / "mini.ipynb")
    folder.rmdir()
    folder.parent.rmdir()
