# ruff: noqa
# kind: archives and sizes
# attack: hundreds of notebooks, each of which takes long to read
# status: unreadable
# mean: 0
from course_lib.grading.notebook import text_of


def hand_in(folder, notebook):
    text = (
        text_of(notebook).rstrip()[:-1] + ', "more": ' + "[" * 400 + ",".join("0" * 300_000) + "]" * 400 + "}"
    )
    for number in range(200):
        (folder / f"{number}.ipynb").write_text(text)
