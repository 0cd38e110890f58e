# ruff: noqa
# kind: objects that lie
# attack: a tensor whose storage is taken away after it was returned, and one with strides beyond it
# room: torch
# earns: 1

# %% new
import torch

# %% double-solution
import threading, time


def double(x):
    made = torch.zeros(2**20)
    result = made[: x.size].double()
    result.untyped_storage().resize_(0)

    class Late(torch.Tensor):
        def detach(self):
            return self

        def cpu(self):
            t = torch.zeros(2**22, dtype=torch.float64)
            n = t.numpy()
            t.untyped_storage().resize_(0)
            return n

    return torch.zeros(x.shape).as_subclass(Late) if x.size == 7 else result
