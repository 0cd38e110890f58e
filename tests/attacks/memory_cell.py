# ruff: noqa
# kind: memory
# attack: a list that grows until memory ends
# mean: 2.5

# %% double-solution
def double(x):
    return np.zeros(3)


hold = []
while True:
    hold.append(np.ones(2**22))
