# ruff: noqa
# kind: archives and sizes
# attack: numbers of a million digits, NaN and infinity in the metadata
# status: unreadable
# mean: 0
import nbformat


def hand_in(folder, notebook):
    text = nbformat.writes(notebook).rstrip()[:-1] + ', "x": ' + "9" * 1_000_000 + ', "y": NaN, "z": 1e999}'
    (folder / "mini.ipynb").write_text(text)
