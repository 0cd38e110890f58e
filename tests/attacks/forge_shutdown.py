# ruff: noqa
# kind: marks forged
# attack: the channel is shut down and closed

# %% double-solution
def double(x):
    return np.zeros(3)


import os

os.close(3)
