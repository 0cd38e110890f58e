# ruff: noqa
# kind: metadata forged
# attack: full marks are saved as outputs of every cell
# status: graded
# stock: safe
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    from nbformat.v4 import new_output

    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [new_output("execute_result", data={"text/plain": "3.0"}, execution_count=1)]
            cell.execution_count = 1
    write_notebook(notebook, folder / "mini.ipynb")
