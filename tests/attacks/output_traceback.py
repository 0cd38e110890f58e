# ruff: noqa
# kind: output
# attack: an exception with 10 MB of text and a deep traceback

# %% double-solution
def double(x):
    return np.zeros(3)


def deep(n):
    if n == 0:
        raise ValueError("x" * 10_000_000)
    deep(n - 1)


deep(500)
