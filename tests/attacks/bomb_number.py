# ruff: noqa
# kind: results as bombs
# attack: an integer of ten million digits, and one in a list

# %% double-solution
def double(x):
    return [1 << 30_000_000] * 3
