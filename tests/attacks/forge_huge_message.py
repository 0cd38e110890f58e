# ruff: noqa
# kind: marks forged
# attack: a message that claims to be huge

# %% double-solution
def double(x):
    return np.zeros(3)


import os, struct

os.write(3, struct.pack("!II", 2**32 - 1, 2**32 - 1) + b"x" * 100)
