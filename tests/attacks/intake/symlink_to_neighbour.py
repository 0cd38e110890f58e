# ruff: noqa
# kind: links
# attack: the notebook is a symbolic link to a classmate's
# status: missing
# mean: 0


def hand_in(folder, notebook):
    (folder / "mini.ipynb").symlink_to("../../honest-1/mini/mini.ipynb")
