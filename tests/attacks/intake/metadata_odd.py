# ruff: noqa
# kind: metadata forged
# attack: nbgrader's metadata are of other types, and its version is from the future
# status: graded
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    notebook.metadata["nbgrader"] = {"schema_version": 99}
    odd = [
        7,
        "x",
        [1],
        None,
        {"grade_id": ["double"]},
        {"grade_id": "../../x", "grade": True, "points": 1e308},
    ]
    for cell, value in zip(notebook.cells, odd * 9):
        if "nbgrader" not in cell.metadata:
            cell.metadata["nbgrader"] = value
    write_notebook(notebook, folder / "mini.ipynb")
