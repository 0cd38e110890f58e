# ruff: noqa
# kind: links
# attack: symbolic links to the course's secret and the gradebook, the notebook among them
# status: graded
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    for number, target in enumerate(("../../../.course/secret", "../../../gradebook.db", "/etc/passwd")):
        (folder / f"{number}.ipynb").symlink_to(target)
    (folder / "timestamp.txt").symlink_to("/etc/passwd")
    write_notebook(notebook, folder / "mini.ipynb")
