# ruff: noqa
# kind: time
# attack: a result whose conversion never ends

# %% double-solution
class Endless:
    def __array__(self, dtype=None, copy=None):
        while True:
            pass


def double(x):
    return Endless()
