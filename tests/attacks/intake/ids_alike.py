# ruff: noqa
# kind: metadata forged
# attack: cells whose ids look like those of graded cells: with a space, a capital, a letter of another alphabet, a sign without width
# status: graded
import copy

from course_lib.grading.notebook import write_notebook

ALIKE = (
    "double ",
    "Double",
    "d\u043euble",
    "do\u200buble",
    "double\0",
    "double-solution ",
    "../double",
)


def hand_in(folder, notebook):
    graded = next(
        cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == "double"
    )
    for number, name in enumerate(ALIKE):
        cell = copy.deepcopy(graded)
        cell.id = f"alike-{number}"
        cell.source = "3.0"
        cell.metadata.nbgrader.update(grade_id=name, points=100)
        notebook.cells += [cell]
    write_notebook(notebook, folder / "mini.ipynb")
