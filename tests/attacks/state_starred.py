# ruff: noqa
# kind: tasks of one notebook
# attack: a list that looks like a constant, since a starred name is given a part of a text
# item: mean
# earns: 2.5

# %% double-solution
*seen, last = "z"


def double(x):
    seen.append(1)
    return 2 * x


# %% mean-solution
def mean(x, axis=-1):
    return x.sum(axis=axis) / x.shape[axis] + len(seen)
