"""Numbers, rows and matrices as the chapters type them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def number(value: Any, digits: int | None = None) -> str:
    r"""As short as it goes, or rounded to `digits` places; an exact zero is `0`, minus infinity is `-\infty`."""
    value = float(value)
    if value == -np.inf:
        return r"-\infty"
    return f"{value:g}" if digits is None or value == 0 else f"{value:.{digits}f}"


def entries(values: Iterable[Any], digits: int | Iterable[int] | None = None) -> list[str]:
    """Each value as `number` gives it; `digits` may differ from entry to entry."""
    values = list(np.ravel(np.asarray(values, dtype=float)))
    places = [digits] * len(values) if digits is None or isinstance(digits, int) else list(digits)
    return [number(value, place) for value, place in zip(values, places, strict=True)]


def row(values: Iterable[Any], digits: int | Iterable[int] | None = None) -> str:
    """`[a,b,c]`."""
    return f"[{','.join(entries(values, digits))}]"


def matrix(values: Any, digits: int | Iterable[int] | None = None) -> str:
    r"""`\begin{bmatrix}a&b\\c&d\end{bmatrix}`."""
    rows = "\\\\".join("&".join(entries(line, digits)) for line in np.atleast_2d(values))
    return rf"\begin{{bmatrix}}{rows}\end{{bmatrix}}"
