"""The best device, whatever the machine has."""

from __future__ import annotations

import sys

import pytest
import torch

from course_lib import best_device


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_best_device_prefers_cuda_then_mps(
    monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, expected: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert best_device() == expected


def test_best_device_is_the_cpu_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert best_device() == "cpu"


def test_best_device_is_one_that_torch_computes_on() -> None:
    assert torch.ones(2, device=best_device()).sum().item() == 2
