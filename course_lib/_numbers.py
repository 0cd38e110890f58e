"""How a number is written where a reader sees it: in the cells of figures and tables."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """A number as it stands in a cell: three digits, or more where three would look like a whole number."""
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "NaN")
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e5:
        mantissa, exponent = f"{value:.1e}".split("e")
        words = f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    else:
        digits = next(d for d in (3, 4, 5, 6) if d == 6 or _tells(value, d))
        words = f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
        words = words.rstrip("0").rstrip(".") if "." in words else words
    return words.replace("-", "−")


def _tells(value: float, digits: int) -> bool:
    shown = float(f"{value:.{digits}g}")
    return value.is_integer() == shown.is_integer() or abs(value - shown) < 1e-6
