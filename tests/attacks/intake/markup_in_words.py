# ruff: noqa
# kind: markup in the feedback
# attack: scripts, forms and covers in Markdown and raw cells, which formgrader would run with the rights of whoever marks
# status: graded
from course_lib.grading.notebook import unchecked_cell, write_notebook

EVIL = (
    "<script>fetch('/formgrader/api/grade/x', {method: 'PUT'})</script> <svg onload='alert(1)'></svg> "
    "<input class='score' id='double' value='3'> <div style='position:fixed;inset:0'>over all</div> "
    "[x](javascript:alert(1)) ![$x\\;y$](attachment:a.png) <a title='&#xe000;0&#xe001;'>x</a>"
)


def hand_in(folder, notebook):
    for number, kind in enumerate(("markdown", "raw")):
        cell = unchecked_cell(kind, EVIL, {})
        cell["id"] = f"evil-{number}"
        notebook.cells.append(cell)
    write_notebook(notebook, folder / "mini.ipynb")
