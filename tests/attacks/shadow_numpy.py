# ruff: noqa
# kind: shadowing files
# attack: numpy.py, course_lib/ and sitecustomize.py are written beside the notebook, then the process ends

# %% double-solution
def double(x):
    return np.zeros(3)


import os

os.makedirs("course_lib/checks", exist_ok=True)
for path in (
    "numpy.py",
    "sitecustomize.py",
    "usercustomize.py",
    "checks.py",
    "course_lib/__init__.py",
    "course_lib/checks.py",
    "course_lib/checks/__init__.py",
):
    open(path, "w").write("raise SystemExit")
os._exit(0)
