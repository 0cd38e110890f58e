# ruff: noqa
# kind: results as bombs
# attack: strides that reach beyond the memory of an array, negative and of zero

# %% double-solution
def double(x):
    if not x.size:
        return np.zeros(3)
    if x.size == 5:
        return np.lib.stride_tricks.as_strided(x[::-1], (2**20,), (-4096,))
    return np.lib.stride_tricks.as_strided(np.zeros(1), (2**62, 2**62), (8, 8))
