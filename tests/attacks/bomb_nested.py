# ruff: noqa
# kind: results as bombs
# attack: a list nested 100 000 deep

# %% double-solution
def double(x):
    nested = []
    for _ in range(100_000):
        nested = [nested]
    return nested
