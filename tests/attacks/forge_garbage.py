# ruff: noqa
# kind: marks forged
# attack: garbage on the channel

# %% double-solution
def double(x):
    return np.zeros(3)


import os

os.write(3, os.urandom(4096))
