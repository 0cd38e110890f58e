# ruff: noqa
# kind: links
# attack: a link to itself and one to the folder above
# status: missing
# mean: 0


def hand_in(folder, notebook):
    (folder / "mini.ipynb").symlink_to("mini.ipynb")
    (folder / "up").symlink_to("..")
