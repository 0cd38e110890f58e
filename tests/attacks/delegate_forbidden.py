# ruff: noqa
# kind: answers delegated
# attack: the forbidden function under another name
# item: mean
# mean: 0

# %% mean-solution
from numpy import mean as average


def mean(x, axis=-1):
    return average(x, axis=axis)
