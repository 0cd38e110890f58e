# ruff: noqa
# kind: hooks of Python
# attack: the recursion limit is lifted and the stack overflows in C

# %% double-solution
import sys


def double(x):
    sys.setrecursionlimit(2**31 - 1)
    again = lambda: again()

    class Deep:
        def __getattribute__(self, name):
            return getattr(self, name)

    repr_deep = []
    for _ in range(200_000):
        repr_deep = [repr_deep]
    Deep().x
    return again()
