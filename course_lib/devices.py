"""Where to compute: the best device present."""

from __future__ import annotations


def best_device() -> str:
    """The best device that Torch can use here.

    Returns "cuda", "mps" or "cpu", in this order; "cpu" too without Torch.
    """
    try:
        import torch
    except ImportError:
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
