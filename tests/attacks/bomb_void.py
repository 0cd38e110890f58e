# ruff: noqa
# kind: results as bombs
# attack: arrays of voids, of overlapping fields, of an item of a gigabyte and of 64 axes

# %% double-solution
def double(x):
    if x.size == 5:
        return np.zeros(
            1,
            dtype=np.dtype(
                {"names": ["a", "b"], "formats": ["<f8", "<f8"], "offsets": [0, 4], "itemsize": 2**30}
            ),
        )
    if x.size == 7:
        return np.zeros((1,) * 64)
    return np.zeros(0, dtype=np.void(3).dtype)
