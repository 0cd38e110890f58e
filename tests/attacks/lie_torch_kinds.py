# ruff: noqa
# kind: objects that lie
# attack: tensors on the device meta, sparse, nested, quantised, complex, of bfloat16 and of eight bits
# room: torch

# %% new
import torch

# %% double-solution
kinds = [
    lambda x: torch.zeros(x.shape, device="meta"),
    lambda x: torch.zeros(x.shape).to_sparse(),
    lambda x: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]),
    lambda x: torch.quantize_per_tensor(torch.zeros(x.shape), 0.1, 0, torch.quint8),
    lambda x: torch.zeros(x.shape, dtype=torch.complex64),
    lambda x: torch.zeros(x.shape, dtype=torch.bfloat16),
    lambda x: torch.zeros(x.shape, dtype=torch.float8_e4m3fn),
    lambda x: torch.zeros(x.shape).to_mkldnn(),
    lambda x: torch.zeros(x.shape).conj().neg(),
]
calls = [0]


def double(x):
    calls[0] += 1
    if x.size == 0:
        return kinds[calls[0] % 9](x)
    return kinds[calls[0] % 9](x)
