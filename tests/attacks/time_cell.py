# ruff: noqa
# kind: time
# attack: an endless loop in the cell

# %% double-solution
def double(x):
    return np.zeros(3)


while True:
    pass
