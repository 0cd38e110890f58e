# ruff: noqa
# kind: objects that lie
# attack: a list of float subclasses that compare equal
# stock: safe

# %% double-solution
class Float(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __hash__ = float.__hash__


def double(x):
    return [Float(1000.0)] * (len(x) + 1)
