# ruff: noqa
# kind: tasks of one notebook
# attack: memory ends within a with statement, which then can't set back how NumPy treats errors
# item: mean
# earns: 2.5

# %% double-solution
def double(x):
    try:
        with np.errstate(all="raise"):
            hold = None
            for size in (2**24, 2**20, 2**14):
                try:
                    while True:
                        hold = (hold, np.zeros(size))
                except MemoryError:
                    pass
            try:
                while True:
                    hold = (hold, [0.5] * 7)
            except MemoryError:
                pass
            try:
                while True:
                    hold = (hold, 0)
            except MemoryError:
                pass
    except MemoryError:
        pass
    hold = None
    return 2 * x


# %% mean-solution
def mean(x, axis=-1):
    unused = np.zeros(3) / 0
    return x.sum(axis=axis) / x.shape[axis]
