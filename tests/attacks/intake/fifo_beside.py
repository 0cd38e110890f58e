# ruff: noqa
# kind: links
# attack: named pipes and sockets beside the notebook
# status: graded
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    import os, socket

    os.mkfifo(folder / "cases.npz")
    os.mkfifo(folder / "timestamp.txt")
    place = os.getcwd()
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("s")
    os.chdir(place)
    write_notebook(notebook, folder / "mini.ipynb")
