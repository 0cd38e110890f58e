"""Attention in blocks for NumPy: the same output, in memory that grows with n and not with n_q x n_k.

A strip of Queries walks along the Keys block by block. It keeps the highest logit that it has met, and two sums
over the Keys: of exp(logit - highest), and of the same times the Values. Their quotient is the output. When a
higher logit comes, both sums shrink by exp(old highest - new): softmax never needs the whole row at once.
Source: Milakov & Gimelshein 2018 (online softmax); Dao et al. 2022 (FlashAttention); chapter `long-sequences`.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np

from course_lib._common import Array, batch_shape, quiet
from course_lib.masks import Align, Window, band
from course_lib.score_control import soft_cap

# A block is 64 Queries against 2048 Keys: half a MiB in float32, so that it fits a core's own cache.
QUERIES, KEYS = 64, 2048
# BLAS takes a product of so many multiplications in the calling thread. Of larger ones it makes threads of its
# own, one product at a time, which stand in the way of ours.
_SMALL_PRODUCT = 2**18
# Below so many logits, starting threads takes longer than they save.
_WORTH_THREADS = 2**22


def attention_in_blocks(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    align: Align = "top-left",
    window: Window | None = None,
    scale: float = 1.0,
    softcap: float | None = None,
) -> Array:
    """What `attention` gives for NumPy arrays, in blocks. It checks nothing: `attention` has done so.

    Returns (..., n_q, d_v) for floating q (..., n_q, d_k), k (..., n_k, d_k) and v (..., n_k, d_v). Extra memory:
    a copy of k and v, and about 1 MiB for each thread. Threads: as many as OMP_NUM_THREADS or else cores.
    """
    n_q, n_k, d_v = q.shape[-2], k.shape[-2], v.shape[-1]
    width = _tile_width(max(q.shape[-1], d_v))
    keys, values = _key_tiles(k, width), _value_tiles(v, width)
    batch = batch_shape(*(array for array in (q, k, v, mask) if array is not None))
    q, mask = _broadcast(q, batch, 2), None if mask is None else np.broadcast_to(mask, (*batch, n_q, n_k))
    keys, values = _broadcast(keys, batch, 3), _broadcast(values, batch, 3)
    left, right = _band(n_q, n_k, causal, align, window)
    output = np.empty((*batch, n_q, d_v), dtype=v.dtype)

    def fill(strip: tuple[tuple[int, ...], int]) -> None:
        entry, first = strip
        rows = slice(first, min(first + QUERIES, n_q))
        visible = _Visible(n_k, left, right, rows, None if mask is None else mask[entry][rows])
        sums = _sums(q[entry][rows], keys[entry], values[entry], visible, scale, softcap)
        output[entry][rows] = _quotient(sums, d_v)

    strips = product(np.ndindex(batch), range(0, n_q, QUERIES))
    _for_each(fill, strips, threads=_threads() if math.prod(batch) * n_q * n_k >= _WORTH_THREADS else 1)
    return output


@quiet
def _sums(
    q: Array, keys: Array, values: Array, visible: _Visible, scale: float, softcap: float | None
) -> Array:
    """Of each Query of the strip: the sum over its Keys of exp(logit - highest logit) times their `values`."""
    q = _poisoned_whole(q.astype(keys.dtype, copy=False))
    width = keys.shape[-1]
    highest = np.full((len(q), 1), -np.inf, dtype=q.dtype)
    sums = np.zeros((len(q), values.shape[-1]), dtype=q.dtype)
    for tiles in visible.blocks(width):
        logits = np.empty((len(q), len(keys[tiles]) * width), dtype=q.dtype)
        np.matmul(q, keys[tiles], out=_in_tiles(logits, width))
        logits *= scale
        if softcap is not None:
            logits = soft_cap(logits, softcap)
        visible.hide(logits, tiles.start * width)
        before, highest = highest, np.maximum(highest, np.max(logits, axis=-1, keepdims=True))
        subtracted = np.where(highest == -np.inf, 0.0, highest)
        logits -= subtracted
        exponentials = np.exp(logits, out=logits)
        sums *= np.exp(before - subtracted)
        sums += np.sum(_in_tiles(exponentials, width) @ values[tiles], axis=0)
    return sums


@quiet
def _quotient(sums: Array, d_v: int) -> Array:
    """The output of the strip; 0 for a Query without Keys, whose sums are 0."""
    total = sums[:, d_v : d_v + 1]
    output = sums[:, :d_v] / np.where(total == 0, 1.0, total)
    if sums.shape[1] == d_v + 1:
        return output
    undefined, above, below = (sums[:, d_v + 1 :] > 0).reshape(len(sums), 3, d_v).swapaxes(0, 1)
    output = np.where(above, np.inf, np.where(below, -np.inf, output))
    return np.where(undefined | (above & below), np.nan, output)


@dataclass(frozen=True)
class _Visible:
    """Which of the n_k Keys the Queries `rows` may attend to: Query i those from i + left to i + right."""

    n_k: int
    left: int
    right: int
    rows: slice
    mask: Array | None

    def blocks(self, width: int) -> Iterator[slice]:
        """Tiles of `width` Keys, a block at a time; those that no Query of the strip may see are left out."""
        first = max(self.rows.start + self.left, 0) // width
        last = -(-min(self.rows.stop + self.right, self.n_k) // width)
        step = KEYS // width
        return (slice(at, min(at + step, last)) for at in range(first, last, step))

    @quiet
    def hide(self, logits: Array, start: int) -> None:
        """Masks the logits of the Keys from `start` on, in place."""
        width = logits.shape[1]
        if self.mask is not None:
            _mask(logits[:, : self.n_k - start], self.mask[:, start : start + width])
        # Tiles are filled up beyond the last Key.
        if start + width > self.n_k:
            logits[:, self.n_k - start :] = -np.inf
        # Only at the two ends are there Keys that some Query of the strip may not see.
        head = self.rows.stop - 1 + self.left - start
        tail = max(self.rows.start + self.right + 1 - start, 0)
        if head > 0:
            self._hide_outside(logits[:, :head], start)
        if tail < width:
            self._hide_outside(logits[:, tail:], start + tail)

    def _hide_outside(self, logits: Array, start: int) -> None:
        keys = np.arange(start, start + logits.shape[1])
        offset = keys - np.arange(self.rows.start, self.rows.stop)[:, None]
        logits[(offset < self.left) | (offset > self.right)] = -np.inf


def _mask(logits: Array, mask: Array) -> None:
    """L + M in place. Masking selects: a NaN at a masked place is gone."""
    if mask.dtype == np.bool_:
        np.copyto(logits, -np.inf, where=~mask)
        return
    mask = mask.astype(logits.dtype, copy=False)
    logits += mask
    np.copyto(logits, -np.inf, where=mask == -np.inf)


def _band(n_q: int, n_k: int, causal: bool, align: Align, window: Window | None) -> tuple[int, int]:
    """(left, right): Query i may attend to the Keys from i + left to i + right."""
    windows = [(-1, -1) if window is None else window, (-1, 0 if causal else -1)]
    bands = [band(n_q, n_k, sides, align=align) for sides in windows]
    return max(left for left, _ in bands), min(right for _, right in bands)


def _tile_width(depth: int) -> int:
    """Keys in a tile, a power of 2: as many as keep a product with the strip small."""
    most = _SMALL_PRODUCT // (QUERIES * max(depth, 1))
    return min(1 << max(most.bit_length() - 1, 3), KEYS)


def _key_tiles(k: Array, width: int) -> Array:
    """(..., n_k, d_k) as (..., tiles, d_k, width), the last tile filled up with zeros."""
    tiles = _filled_up(_poisoned_whole(k), width)
    return np.ascontiguousarray(tiles.swapaxes(-1, -2))


@quiet
def _value_tiles(v: Array, width: int) -> Array:
    """(..., n_k, d_v) as (..., tiles, width, d_v + 1): a column of ones sums the exponentials on the way.

    0 * NaN is NaN, so a NaN or Inf, which only a weight above 0 may read, becomes 0. Where there is any, three
    more columns a Value count the weights that read NaN, Inf and -Inf.
    """
    # A power of 2 changes no digit, and the sum of n_k of the largest numbers still is a number.
    v = v.astype(np.result_type(v.dtype, np.float32), copy=False)
    smaller = 0.5 ** v.shape[-2].bit_length()
    finite = np.isfinite(v)
    columns = [np.where(finite, v, 0.0), np.ones_like(v[..., :1])]
    if not finite.all():
        columns += [np.isnan(v), v == np.inf, v == -np.inf]
    return _filled_up(np.concatenate(columns, axis=-1, dtype=v.dtype) * smaller, width)


def _filled_up(rows: Array, width: int) -> Array:
    """(..., n, d) as (..., tiles, width, d), in float32 at least."""
    *batch, n, d = rows.shape
    tiles = -(-n // width)
    filled = np.zeros((*batch, tiles * width, d), dtype=np.result_type(rows.dtype, np.float32))
    filled[..., :n, :] = rows
    return filled.reshape(*batch, tiles, width, d)


def _poisoned_whole(vectors: Array) -> Array:
    """NaN for Inf, so that a product with the vector is NaN whatever its other numbers are."""
    return np.where(np.isfinite(vectors), vectors, vectors.dtype.type(np.nan))


def _in_tiles(block: Array, width: int) -> Array:
    """A view of (rows, n) as (tiles, rows, width)."""
    return block.reshape(len(block), -1, width).swapaxes(0, 1)


def _broadcast(array: Array, batch: tuple[int, ...], axes: int) -> Array:
    return np.broadcast_to(array, (*batch, *array.shape[-axes:]))


def _for_each(work: Callable[..., None], jobs: Iterator[object], *, threads: int) -> None:
    if threads == 1:
        for job in jobs:
            work(job)
        return
    with ThreadPoolExecutor(threads) as pool:
        # Walking over the results raises what went wrong in a thread.
        for _ in pool.map(work, jobs):
            pass


def _threads() -> int:
    if sys.platform == "emscripten":
        return 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
