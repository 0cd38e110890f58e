# ruff: noqa
# kind: objects that lie
# attack: masked arrays in which everything wrong is masked, matrices, records, character arrays and memmaps

# %% double-solution
def double(x):
    if x.size == 5:
        return np.ma.masked_all(5)
    if x.size == 7:
        return np.ma.array(np.zeros(7), mask=True, hard_mask=True, fill_value=np.nan)
    return np.matrix(np.zeros(0))
