# ruff: noqa
# kind: memory
# attack: a process that was left fills memory while another one is asked

# %% double-solution
def double(x):
    return np.zeros(3)


# %% mean-solution
def mean(x, axis=-1):
    return x.sum(axis=axis) / x.shape[axis]


# %% new
import os, time

if os.fork() == 0:
    time.sleep(0.5)
    hold = []
    while True:
        hold.append(np.ones(2**21))
        time.sleep(0.02)
os.write(3, b"x" * 4096)
time.sleep(1)

# %% new
import time

time.sleep(3)
