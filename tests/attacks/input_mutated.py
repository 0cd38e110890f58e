# ruff: noqa
# kind: inputs
# attack: the right answer, but the input is doubled in place
# stock: safe
# earns: 1

# %% double-solution
def double(x):
    x *= 2
    return x
