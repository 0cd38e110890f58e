# ruff: noqa
# kind: results as bombs
# attack: an exception whose causes have no end

# %% double-solution
def double(x):
    error = ValueError()
    for _ in range(200_000):
        new = ValueError()
        new.__cause__ = error
        error = new
    raise error
