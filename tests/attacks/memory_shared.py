# ruff: noqa
# kind: memory
# attack: shared anonymous maps, files in memory and pipes

# %% double-solution
def double(x):
    return np.zeros(3)


import mmap, os

hold = []
for _ in range(50):
    try:
        area = mmap.mmap(-1, 64 * 2**20)
        area.write(b"x" * (64 * 2**20))
        hold.append(area)
    except (OSError, ValueError, MemoryError):
        break
