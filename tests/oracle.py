"""Attention straight from its definition, in float64 and in plain loops. Shares nothing with the library."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    *,
    allowed: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> np.ndarray:
    """O for q (..., n_q, d_k), k (..., n_k, d_k), v (..., n_k, d_v); a Query looks at its allowed Keys only."""
    n_q, n_k, d_k, d_v = q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    allowed = np.ones((n_q, n_k), dtype=bool) if allowed is None else allowed
    bias = np.zeros((n_q, n_k)) if bias is None else bias
    if scale is None:
        scale = 1 / math.sqrt(d_k)
    parts = (q, k, v, allowed, bias)
    batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    q, k, v = (np.broadcast_to(part, batch + part.shape[-2:]).astype(np.float64) for part in (q, k, v))
    allowed, bias = (np.broadcast_to(part, (*batch, n_q, n_k)) for part in (allowed, bias))
    output = np.empty((*batch, n_q, d_v))
    for at in np.ndindex(batch):
        for i in range(n_q):
            keys = [j for j in range(n_k) if allowed[at][i, j]]
            logits = [_logit(q[at][i], k[at][j], scale, softcap) + bias[at][i, j] for j in keys]
            weights = softmax(logits)
            for c in range(d_v):
                output[(*at, i, c)] = math.fsum(w * v[at][j, c] for w, j in zip(weights, keys, strict=True))
    return output


def softmax(logits: Sequence[float]) -> list[float]:
    """The weights of one row; none for no logits."""
    highest = max(logits, default=0.0)
    exponentials = [math.exp(logit - highest) for logit in logits]
    total = math.fsum(exponentials)
    return [exponential / total for exponential in exponentials]


def allowed_keys(
    n_q: int,
    n_k: int,
    *,
    causal: bool = False,
    align: str = "top-left",
    window: tuple[int, int] | None = None,
) -> np.ndarray:
    """Cell by cell: may Query i attend to Key j?"""
    allowed = np.empty((n_q, n_k), dtype=bool)
    for i in range(n_q):
        diagonal = i if align == "top-left" else n_k - 1 - (n_q - 1 - i)
        for j in range(n_k):
            left, right = (-1, -1) if window is None else window
            before = left == -1 or diagonal - j <= left
            after = right == -1 or j - diagonal <= right
            allowed[i, j] = before and after and not (causal and j > diagonal)
    return allowed


def _logit(query: np.ndarray, key: np.ndarray, scale: float, softcap: float | None) -> float:
    scaled = scale * math.fsum(a * b for a, b in zip(query.tolist(), key.tolist(), strict=True))
    return scaled if softcap is None else softcap * math.tanh(scaled / softcap)
