# ruff: noqa
# kind: objects that lie
# attack: a result with a detach() that gives other things each time
# stock: safe

# %% double-solution
class Tensor:
    count = 0

    def detach(self):
        Tensor.count += 1
        return self

    cpu = detach

    def __array__(self, dtype=None, copy=None):
        return np.arange(Tensor.count, dtype=float)


def double(x):
    return Tensor()
