"""What several pictures are given: a matrix, or the weights of one Query."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]


def as_matrix(values: ArrayLike, name: str) -> Array:
    """The values as numbers with two axes; ValueError otherwise, by that name."""
    found = np.asarray(values, dtype=float)
    if found.ndim != 2:
        raise ValueError(f"{name} must have two axes: it has shape {found.shape}")
    return found


def as_weights(values: ArrayLike, name: str) -> Array:
    """A row of weights, one for each Key; ValueError for anything else, by that name."""
    weights = np.asarray(values, dtype=float)
    if weights.ndim != 1 or not len(weights) or not ((weights >= 0) & (weights <= 1)).all():
        raise ValueError(
            f"{name} must be one row of weights between 0 and 1: shape {weights.shape}, {weights}"
        )
    return weights
