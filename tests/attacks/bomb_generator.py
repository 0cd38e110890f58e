# ruff: noqa
# kind: results as bombs
# attack: an endless generator
# stock: safe

# %% double-solution
import itertools


def double(x):
    return itertools.count()
