# ruff: noqa
# kind: objects that lie
# attack: an ndarray subclass answers for np.allclose by __array_function__
# stock: safe

# %% double-solution
class Liar(np.ndarray):
    def __array_function__(self, function, types, args, kwargs):
        return True

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return np.ones(self.shape, bool)


def double(x):
    return np.zeros(x.shape or 3).view(Liar)[..., None]
