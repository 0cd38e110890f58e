# ruff: noqa
# kind: hooks of IPython
# attack: the namespace of the notebook answers with a right-looking object for every name

# %% double-solution
def double(x):
    return np.zeros(3)


class Space(dict):
    def __missing__(self, name):
        return lambda *a, **k: np.zeros(3)


get_ipython().user_ns = Space(get_ipython().user_ns)
