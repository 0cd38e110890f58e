# ruff: noqa
# kind: metadata forged
# attack: every cell has the tag that skips it
# status: graded
# stock: safe
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution", "remove-cell", "raises-exception"]
    write_notebook(notebook, folder / "mini.ipynb")
