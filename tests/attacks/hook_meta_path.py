# ruff: noqa
# kind: hooks of Python
# attack: a finder on sys.meta_path serves a forged package
# stock: safe

# %% double-solution
def double(x):
    return np.zeros(3)


import importlib.abc, importlib.machinery, sys


class Forged(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name == "course_lib.grading.hidden":
            return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.mark = lambda *a, **k: 3.0


sys.meta_path.insert(0, Forged())
