# ruff: noqa
# kind: objects that lie
# attack: an ndarray subclass that lies of nbytes, dtype, shape and tobytes where it is packed
# stock: safe

# %% double-solution
class Liar(np.ndarray):
    nbytes = 8
    size = 3
    shape = (3,)

    @property
    def dtype(self):
        return np.dtype("float64")

    def tobytes(self, order="C"):
        return b"\0" * 24

    def __array_finalize__(self, other):
        pass

    def __array_wrap__(self, *given):
        return 2


def double(x):
    return np.lib.stride_tricks.as_strided(np.zeros(1).view(Liar), (2**40,), (0,))
