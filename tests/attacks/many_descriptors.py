# ruff: noqa
# kind: processes, descriptors
# attack: every descriptor is used up

# %% double-solution
def double(x):
    return np.zeros(3)


import os

hold = []
try:
    while True:
        hold.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
