# ruff: noqa
# kind: links
# attack: the notebook is a hard link to a file of the course
# status: unreadable
# mean: 0


def hand_in(folder, notebook):
    import os

    os.link(folder.parents[1] / "canary.db", folder / "mini.ipynb")
