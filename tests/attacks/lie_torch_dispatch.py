# ruff: noqa
# kind: objects that lie
# attack: a tensor subclass answers every operation of torch's dispatcher itself, with other values each time it is looked at
# room: torch

# %% new
import torch


# %% double-solution
class Liar(torch.Tensor):
    looks = 0

    @staticmethod
    def __new__(cls, value):
        return torch.Tensor._make_wrapper_subclass(cls, value.shape, dtype=value.dtype)

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), named=None):
        cls.looks += 1
        return torch.full((5,), float(cls.looks))

    def detach(self):
        return self

    def cpu(self):
        return self

    def __array__(self, dtype=None, copy=None):
        Liar.looks += 1
        return np.full(Liar.looks % 9, 7.0)


def double(x):
    return Liar(torch.zeros(x.shape if x.size else 3))
