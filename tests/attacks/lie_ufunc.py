# ruff: noqa
# kind: objects that lie
# attack: __array_ufunc__, __array_finalize__, __array_wrap__, __array_priority__ and __buffer__ answer for NumPy
# earns: 1

# %% double-solution
class Liar(np.ndarray):
    __array_priority__ = 1e300

    def __array_ufunc__(self, ufunc, method, *inputs, **named):
        return True

    def __array_finalize__(self, other):
        pass

    def __array_wrap__(self, *a, **k):
        return True

    def __array__(self, dtype=None, copy=None):
        return self

    def astype(self, *a, **k):
        return self

    def copy(self, *a, **k):
        return self

    def __deepcopy__(self, memo):
        return self

    def __buffer__(self, flags):
        raise SystemExit


def double(x):
    return np.zeros(x.shape).view(Liar)
