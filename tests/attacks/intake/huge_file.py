# ruff: noqa
# kind: archives and sizes
# attack: a notebook of 3 GB, a hole but for its head
# status: unreadable
# mean: 0


def hand_in(folder, notebook):
    with (folder / "mini.ipynb").open("wb") as file:
        file.write(b'{"cells": [')
        file.truncate(3 * 2**30)
