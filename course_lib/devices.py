"""Where to compute: the best device present."""

from __future__ import annotations

import importlib.util


def best_device() -> str:
    """The name of the best device that Torch can use here: "cuda", "mps" or "cpu" ("cpu" too without Torch)."""
    if importlib.util.find_spec("torch") is None:
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
