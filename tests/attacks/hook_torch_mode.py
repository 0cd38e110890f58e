# ruff: noqa
# kind: hooks of Python
# attack: modes of torch's functions and dispatcher stay on and answer for every operation from then on
# room: torch

# %% new
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


# %% double-solution
class Answers(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), named=None):
        return torch.ones(5)


class Lower(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        return torch.ones(5)


def double(x):
    result = torch.zeros(x.shape if x.size else 3)
    Lower().__enter__()
    Answers().__enter__()
    return result
