# ruff: noqa
# kind: names
# attack: markup in the student's id
# status: any
# mean: any
from course_lib.grading.notebook import write_notebook

NAME = "<script>alert(1)<"


def hand_in(folder, notebook):
    other = folder.parents[1] / NAME / "mini"
    other.mkdir(parents=True)
    write_notebook(notebook, other / "mini.ipynb")
    folder.rmdir()
    folder.parent.rmdir()
