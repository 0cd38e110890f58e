# ruff: noqa
# kind: hooks of Python
# attack: torch's hooks, gradients that raise or never end, and results that need gradients
# room: torch
# earns: 1

# %% new
import torch


# %% double-solution
class Endless(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return torch.zeros_like(x)

    @staticmethod
    def backward(context, gradient):
        raise KeyboardInterrupt


def double(x):
    result = Endless.apply(torch.zeros(x.shape, requires_grad=True))
    result.register_hook(lambda gradient: 1 / 0)
    return result
