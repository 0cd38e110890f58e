# ruff: noqa
# kind: results as bombs
# attack: arrays of text, bytes, dates and complex numbers
# stock: safe

# %% double-solution
def double(x):
    return [np.array(["1.0"]), np.array([b"1"]), np.array(["2001"], "M8[s]"), np.ones(3, complex)][len(x) % 4]
