# ruff: noqa
# kind: archives and sizes
# attack: thousands of files of 31 MB, which take no room where they come from
# status: graded
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    for number in range(3000):
        with (folder / f"{number}.bin").open("wb") as file:
            file.truncate(31 * 2**20)
    write_notebook(notebook, folder / "mini.ipynb")
