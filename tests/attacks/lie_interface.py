# ruff: noqa
# kind: objects that lie
# attack: __array_interface__ points into somebody else's memory

# %% double-solution
class Points:
    __array_interface__ = {"shape": (1 << 20,), "typestr": "<f8", "data": (4096, False), "version": 3}


def double(x):
    return Points()
