# ruff: noqa
# kind: tasks of one notebook
# attack: exec is a constant by the end of the notebook, and still the interpreter's where it is called
# item: mean
# earns: 2.5

# %% double-solution
def double(x):
    exec("np.divide = None")
    return 2 * x


# %% mean-solution
def mean(x, axis=-1):
    return np.divide(x.sum(axis=axis), x.shape[axis])


# %% new
exec = 0
