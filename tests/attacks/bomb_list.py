# ruff: noqa
# kind: results as bombs
# attack: a list of 50 million numbers

# %% double-solution
def double(x):
    return list(range(50_000_000))
