# ruff: noqa
# kind: memory
# attack: many processes, each below the limit of one

# %% double-solution
def double(x):
    return np.zeros(3)


import os, time

for _ in range(8):
    if os.fork() == 0:
        hold = bytearray(200 * 2**20)
        for place in range(0, len(hold), 4096):
            hold[place] = 1
        time.sleep(60)
        os._exit(0)
time.sleep(60)
