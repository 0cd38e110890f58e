# ruff: noqa
# kind: objects that lie
# attack: __class__ claims to be an ndarray, dtype and shape change with each look
# stock: safe

# %% double-solution
class Liar:
    @property
    def __class__(self):
        return np.ndarray

    @property
    def dtype(self):
        return np.dtype([float, bool][np.random.randint(2)])

    @property
    def shape(self):
        return (np.random.randint(9),)

    def __len__(self):
        return 5

    def __getitem__(self, index):
        raise RuntimeError


def double(x):
    return Liar()
