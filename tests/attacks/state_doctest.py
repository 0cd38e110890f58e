# ruff: noqa
# kind: tasks of one notebook
# attack: IPython takes a doctest's prompt away, and with it what made a list local
# item: mean
# earns: 2.5

# %% double-solution
seen = "z"


def double(x):
    seen.append(1)
    return 2 * x


# %% new
def unused():
    """One."""
    text = """
    >>>     """
    seen = []


# %% mean-solution
def mean(x, axis=-1):
    return x.sum(axis=axis) / x.shape[axis] + len(seen)
