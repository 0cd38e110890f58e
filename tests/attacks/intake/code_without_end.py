# ruff: noqa
# kind: archives and sizes
# attack: a cell of a million lines, and one of a million line ends, over which a pattern would go back and forth
# status: graded
from course_lib.grading.notebook import new_cell, write_notebook


def hand_in(folder, notebook):
    notebook.cells.append(new_cell("code", "lines", "if 0:\n" + " 0\n" * 10**6, {}))
    notebook.cells.append(new_cell("code", "ends", "\n" * 10**6 + "x", {}))
    write_notebook(notebook, folder / "mini.ipynb")
