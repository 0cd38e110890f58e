# ruff: noqa
# kind: archives and sizes
# attack: ten thousand cells
# status: any
# mean: any
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    from nbformat.v4 import new_code_cell

    notebook.cells = [new_code_cell("0", id=f"c{n}") for n in range(10_000)] + notebook.cells
    write_notebook(notebook, folder / "mini.ipynb")
