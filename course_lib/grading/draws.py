"""Inputs that several problem sets draw alike.

Axes differ from one another in every draw, and are primes: n_q = 5, n_k = 7, d_k = 3, d_v = 2.
"""

from __future__ import annotations

import numpy as np

from course_lib.checks import Inputs


def random_mask(rng: np.random.Generator, n_q: int, n_k: int, *, dead_row: bool = False) -> np.ndarray:
    """Booleans (n_q, n_k): every row has an allowed Key and a masked one; with `dead_row`, one row allows none."""
    mask = rng.random((n_q, n_k)) < 0.5
    mask[:, 0], mask[:, 1] = True, False
    mask = np.take_along_axis(mask, rng.permuted(np.tile(np.arange(n_k), (n_q, 1)), axis=1), axis=1)
    if dead_row:
        mask[rng.integers(n_q)] = False
    return mask


def random_qkv(rng: np.random.Generator, *, n_k: int = 7) -> Inputs:
    """q (5, 3), k (n_k, 3) and v (n_k, 2)."""
    return {"q": rng.normal(size=(5, 3)), "k": rng.normal(size=(n_k, 3)), "v": rng.normal(size=(n_k, 2))}


def masked_qkv(rng: np.random.Generator) -> Inputs:
    """q, k, v and a mask; one Key is masked for every Query, and its Value is large."""
    inputs, mask = random_qkv(rng), random_mask(rng, 5, 7)
    hidden = rng.integers(7)
    mask[:, hidden] = False
    mask[~mask.any(axis=1), (hidden + 1) % 7] = True
    inputs["v"][hidden] = 1e3
    return {**inputs, "mask": mask}


def extreme_qkv(rng: np.random.Generator) -> list[Inputs]:
    """Scores of ±1e4 and more; and one allowed Key whose score lies far below any number that stands for -inf.

    The largest score wins by far, so that the answer is exact in every precision that does not overflow.
    """
    inputs = random_qkv(rng)
    inputs["q"] = rng.integers(1, 4, (5, 3)).astype(float)
    inputs["k"] = 1e4 * rng.permutation(np.arange(-3.0, 4.0))[:, None] * np.ones((7, 3))
    far_below = {**inputs, "k": np.zeros((7, 3)), "mask": np.zeros((5, 7), dtype=bool)}
    allowed = rng.integers(7)
    far_below["k"][allowed] = -1e36  # times q, just within float32
    far_below["mask"][:, allowed] = True
    return [inputs, far_below]


def scaled_qkv(rng: np.random.Generator) -> list[Inputs]:
    """Scales other than the default; with 0, which is one as well, and a mask."""
    return [
        {**random_qkv(rng), "scale": 0.25},
        {**random_qkv(rng), "scale": 0.0, "mask": random_mask(rng, 5, 7)},
    ]
