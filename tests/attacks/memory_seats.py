# ruff: noqa
# kind: memory
# attack: each cell fills its process, then breaks the channel, so that a fresh process takes its place

# %% double-solution
def double(x):
    return np.zeros(3)


# %% new
import os, time

hold = np.ones(60 * 2**20)
os.write(3, b"x" * 4096)
time.sleep(1)

# %% new
import os, time

hold = np.ones(60 * 2**20)
os.write(3, b"x" * 4096)
time.sleep(1)

# %% new
import os, time

hold = np.ones(60 * 2**20)
os.write(3, b"x" * 4096)
time.sleep(1)
