# ruff: noqa
# kind: metadata forged
# attack: the notebook names another kernel and language
# status: graded
# stock: safe
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    notebook.metadata["kernelspec"] = {"name": "bash", "display_name": "<script>", "language": "bash"}
    notebook.metadata["language_info"] = {"name": "../../x"}
    write_notebook(notebook, folder / "mini.ipynb")
