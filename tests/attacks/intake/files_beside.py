# ruff: noqa
# kind: shadowing files
# attack: modules, a kernel, a configuration and a gradebook lie beside the notebook
# status: graded
from course_lib.grading.notebook import write_notebook


def hand_in(folder, notebook):
    for name in (
        "numpy.py",
        "ipykernel_launcher.py",
        "sitecustomize.py",
        "nbgrader_config.py",
        "course.toml",
        "usercustomize.py",
        "conftest.py",
    ):
        (folder / name).write_text('raise SystemExit(open("/tmp/shadow", "w").write("x"))')
    (folder / "gradebook.db").write_bytes(b"x")
    (folder / "course_lib").mkdir()
    (folder / "course_lib" / "__init__.py").write_text("raise SystemExit")
    write_notebook(notebook, folder / "mini.ipynb")
