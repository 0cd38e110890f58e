# ruff: noqa
# kind: metadata forged
# attack: the graded cells are worth 100 points and are not graded
# status: graded
# stock: safe
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    for cell in notebook.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.update(
                points=100, grade=not cell.metadata.nbgrader.grade, locked=False, solution=True
            )
    write_notebook(notebook, folder / "mini.ipynb")
