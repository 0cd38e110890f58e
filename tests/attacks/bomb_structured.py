# ruff: noqa
# kind: results as bombs
# attack: a structured array with named and nested fields
# stock: safe

# %% double-solution
def double(x):
    return np.zeros(3, dtype=[("a", "f8"), ("b", "O"), ("c", [("d", "i4", (100,))])])
