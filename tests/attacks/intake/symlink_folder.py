# ruff: noqa
# kind: links
# attack: the folder is a symbolic link to a classmate's
# status: missing
# mean: 0


def hand_in(folder, notebook):
    folder.rmdir()
    folder.symlink_to("../honest-1/mini")
