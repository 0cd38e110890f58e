# ruff: noqa
# kind: time stamps
# attack: a time stamp with escapes, markup and a year that no clock has
# status: graded
# doubt: no time stamp
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    (folder / "timestamp.txt").write_text("99999-99-99 99:99\x1b[2J<script>")
    write_notebook(notebook, folder / "mini.ipynb")
