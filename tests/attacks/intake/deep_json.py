# ruff: noqa
# kind: archives and sizes
# attack: JSON nested 500 000 deep
# status: unreadable
# mean: 0


def hand_in(folder, notebook):
    (folder / "mini.ipynb").write_bytes(b'{"cells": ' + b"[" * 500_000)
