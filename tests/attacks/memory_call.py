# ruff: noqa
# kind: memory
# attack: more memory than there is, within the call

# %% double-solution
def double(x):
    hold = []
    while True:
        hold.append(np.ones(2**22))
