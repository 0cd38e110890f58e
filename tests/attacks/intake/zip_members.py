# ruff: noqa
# kind: archives and sizes
# attack: a zip with members above its folder
# status: missing
# mean: 0


def hand_in(folder, notebook):
    import zipfile

    with zipfile.ZipFile(folder / "mini.zip", "w") as archive:
        for name in ("../honest-1/mini/mini.ipynb", "/tmp/x", "../../../../gradebook.db"):
            archive.writestr(name, "overwritten")
