# ruff: noqa
# kind: inputs
# attack: the hidden inputs are kept and printed by a later cell

# %% double-solution
import base64

SEEN = []


def double(x):
    SEEN.append(x)
    return np.zeros(3)


# %% mean-solution
print([[v.hex() for v in x] for x in SEEN], [f"{v:.17g}" for x in SEEN for v in x])


def mean(x, axis=-1):
    return x.sum(axis=axis) / x.shape[axis]
