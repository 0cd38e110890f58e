# ruff: noqa
# kind: metadata forged
# attack: the graded cells are raw and Markdown cells
# status: graded
# stock: safe
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    from nbformat.v4 import new_raw_cell

    for place, cell in enumerate(notebook.cells):
        if cell.metadata.get("nbgrader", {}).get("grade") and cell.cell_type == "code":
            notebook.cells[place] = new_raw_cell("3.0", metadata=cell.metadata, id=cell.id)
    write_notebook(notebook, folder / "mini.ipynb")
