# ruff: noqa
# kind: results as bombs
# attack: a broadcast view of 2 GB

# %% double-solution
def double(x):
    return np.broadcast_to(np.float64(1), (2**14, 2**14))
