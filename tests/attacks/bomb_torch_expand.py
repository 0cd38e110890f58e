# ruff: noqa
# kind: results as bombs
# attack: a tensor of 2**60 entries that is one number expanded, and one with an axis of 2**62 and no entries
# room: torch

# %% new
import torch


# %% double-solution
def double(x):
    if x.size == 5:
        return torch.zeros(()).expand(2**30, 2**30)
    if x.size == 7:
        return torch.zeros(1).as_strided((2**40, 2**20), (0, 0))
    return torch.zeros((0, 2**62))
