# ruff: noqa
# kind: metadata forged
# attack: every graded cell fifty times, the last ones giving full marks
# status: graded
# stock: safe
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    import copy

    for cell in [
        c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade") and c.cell_type == "code"
    ]:
        for number in range(50):
            twin = copy.deepcopy(cell)
            twin.id, twin.source = f"{cell.id}-{number}", "3.0"
            notebook.cells.append(twin)
    write_notebook(notebook, folder / "mini.ipynb")
