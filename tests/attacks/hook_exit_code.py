# ruff: noqa
# kind: hooks of Python
# attack: os._exit(0) in the answer's cell: the process ends well
# stock: safe

# %% double-solution
def double(x):
    return np.zeros(3)


import os

os._exit(0)
