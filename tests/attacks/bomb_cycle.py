# ruff: noqa
# kind: results as bombs
# attack: a list that contains itself
# stock: safe

# %% double-solution
def double(x):
    cycle = []
    cycle.append(cycle)
    return cycle
