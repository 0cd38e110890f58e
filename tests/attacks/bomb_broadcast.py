# ruff: noqa
# kind: results as bombs
# attack: a broadcast view of 8 EB

# %% double-solution
def double(x):
    return np.broadcast_to(np.float64(1), (10**9, 10**9))
