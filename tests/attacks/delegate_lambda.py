# ruff: noqa
# kind: answers delegated
# attack: the forbidden function in a thread pool's map and by getattr
# item: mean
# mean: 0

# %% mean-solution
def mean(x, axis=-1):
    return getattr(np, "me" + "an")(x, axis=axis)
