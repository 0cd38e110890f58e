# ruff: noqa
# kind: links
# attack: the notebook and the time stamp are named pipes that nobody writes
# status: missing
# mean: 0


def hand_in(folder, notebook):
    import os

    os.mkfifo(folder / "mini.ipynb")
    os.mkfifo(folder / "timestamp.txt")
