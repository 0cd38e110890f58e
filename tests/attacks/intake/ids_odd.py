# ruff: noqa
# kind: metadata forged
# attack: cell ids are the same, and are those of the graded cells
# status: graded
import nbformat


def hand_in(folder, notebook):
    text = nbformat.writes(notebook).replace('"id": "double-solution"', '"id": "double"')
    (folder / "mini.ipynb").write_text(text)
