# ruff: noqa
# kind: results as bombs
# attack: an array of objects
# stock: safe

# %% double-solution
def double(x):
    return np.array([object(), print, {}], dtype=object)
