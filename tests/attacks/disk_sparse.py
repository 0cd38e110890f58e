# ruff: noqa
# kind: disk
# attack: a sparse file of a terabyte

# %% double-solution
def double(x):
    return np.zeros(3)


import os

try:
    with open("sparse", "wb") as file:
        file.truncate(2**40)
except OSError:
    pass
