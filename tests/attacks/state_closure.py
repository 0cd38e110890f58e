# ruff: noqa
# kind: tasks of one notebook
# attack: one call makes both functions, and a list that both close over
# item: mean
# earns: 2.5

# %% double-solution
def make():
    seen = []

    def first(x):
        seen.append(x)
        return 2 * x

    def second(x, axis=-1):
        return x.sum(axis=axis) / x.shape[axis] + len(seen)

    return first, second


double, second = make()

# %% mean-solution
mean = second
