"""Draws the matrices of one attention on a sheet measured in inches: S, L and A at the left, V above O."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from course_lib._numbers import number
from course_lib._roles import ROLES
from course_lib.plots.style import FAINT, INK, MASK_HATCH, PAPER, new_figure

_CELL_WIDTH, _CELL_HEIGHT = 0.56, 0.34
_MARGIN, _ROW_LABEL, _HEADING, _ARROW = 0.1, 0.27, 0.64, 0.42
# The space that "O = AV: n_q x d_v = 1 x 2" takes, even over a single column.
_NARROWEST, _GUTTER, _LEGEND = 1.38, 0.3, 0.32

Place = tuple[float, float, int, int]


class Sheet:
    """Places for the five matrices of an attention with n_q Queries, n_k Keys and values of width d_v."""

    def __init__(self, *, n_q: int, n_k: int, d_v: int, legend: str | None) -> None:
        left = _MARGIN + _ROW_LABEL
        right = left + max(n_k * _CELL_WIDTH, _NARROWEST) + _GUTTER + _ROW_LABEL
        step = n_q * _CELL_HEIGHT + _ARROW + _HEADING
        # V ends above O's heading; where S and L are lower than V, they move down.
        start = _MARGIN + _HEADING + max(0.0, n_k * _CELL_HEIGHT - 2 * n_q * _CELL_HEIGHT - _ARROW - _HEADING)
        bottom = start + 2 * step + n_q * _CELL_HEIGHT
        v_top = start + 2 * step - _HEADING - _ARROW - n_k * _CELL_HEIGHT
        self._places: dict[str, Place] = {
            "S": (left, start, n_q, n_k),
            "L": (left, start + step, n_q, n_k),
            "A": (left, start + 2 * step, n_q, n_k),
            "V": (right, v_top, n_k, d_v),
            "O": (right, start + 2 * step, n_q, d_v),
        }
        width = max(4.0, right + max(d_v * _CELL_WIDTH, _NARROWEST) + _MARGIN)
        height = bottom + 2 * _MARGIN + (_LEGEND if legend else 0)
        self.figure = new_figure(width, height, layout=None)
        self._axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        self._axes.set_axis_off()
        if legend:
            self._legend(legend, bottom + _MARGIN + 0.1)

    def matrix(
        self, letter: str, values: NDArray[np.float64], *, role: str, hatched: NDArray[np.bool_] | None = None
    ) -> None:
        """The matrix's cells with their numbers; hatched cells are masked ones."""
        x, y, rows, columns = self._places[letter]
        hidden = np.zeros(values.shape, dtype=bool) if hatched is None else hatched
        for row in range(rows):
            for column in range(columns):
                strength = 0.06 + 0.44 * values[row, column] if role == "weight" else 0.16
                corner = (x + column * _CELL_WIDTH, y + row * _CELL_HEIGHT)
                self._cell(corner, values[row, column], role, strength, masked=bool(hidden[row, column]))

    def caption(self, letter: str, heading: str, formula: str, axes: tuple[str, str]) -> None:
        """The step, formula and shape above a matrix, and the names of its rows and columns."""
        x, y, rows, columns = self._places[letter]
        names = {"q": "n_q", "k": "n_k", "v": "d_v"}
        shape = rf"{names[axes[0]]} \times {names[axes[1]]} = {rows} \times {columns}"
        self._text(x - _ROW_LABEL, y - 0.52, heading, size=10.5, weight="bold")
        self._text(x - _ROW_LABEL, y - 0.31, rf"${formula}:\; {shape}$", size=9.5)
        for row in range(rows):
            self._text(
                x - 0.06, y + (row + 0.5) * _CELL_HEIGHT, _name(letter, axes[0], row), size=10, ha="right"
            )
        for column in range(columns):
            name = f"$k_{{{column + 1}}}$" if axes[1] == "k" else f"{column + 1}"
            self._text(x + (column + 0.5) * _CELL_WIDTH, y - 0.1, name, size=10, ha="center")

    def arrow_down(self, letter: str, words: str) -> None:
        """From a matrix of the left column to the next one, with what happens between."""
        x, y, rows, _ = self._places[letter]
        top = y + rows * _CELL_HEIGHT + 0.05
        self._arrow((x + _CELL_WIDTH / 2, top), (x + _CELL_WIDTH / 2, top + _ARROW - 0.1))
        self._text(x + _CELL_WIDTH / 2 + 0.12, top + _ARROW / 2 - 0.05, words, size=9.5)

    def arrows_into_output(self) -> None:
        """From A to the right and from V down: O's rows are A's rows, its columns are V's."""
        x, y, rows, _ = self._places["O"]
        a_x, _, _, n_k = self._places["A"]
        v_x, v_y, v_rows, _ = self._places["V"]
        middle = y + rows * _CELL_HEIGHT / 2
        self._arrow((a_x + n_k * _CELL_WIDTH + 0.06, middle), (x - _ROW_LABEL - 0.02, middle))
        v_bottom = v_y + v_rows * _CELL_HEIGHT + 0.05
        self._arrow((v_x + _CELL_WIDTH / 2, v_bottom), (v_x + _CELL_WIDTH / 2, v_bottom + _ARROW - 0.1))

    def _cell(
        self, corner: tuple[float, float], value: float, role: str, strength: float, *, masked: bool
    ) -> None:
        x, y = corner
        face = PAPER if masked else _tint(ROLES[role], strength)
        box = Rectangle(corner, _CELL_WIDTH, _CELL_HEIGHT, facecolor=face, edgecolor=ROLES[role], linewidth=1)
        self._axes.add_patch(box)
        if masked:
            self._hatch(corner, _CELL_WIDTH, _CELL_HEIGHT)
        words = number(value)
        self._text(
            x + _CELL_WIDTH / 2,
            y + _CELL_HEIGHT / 2,
            words,
            size=next(
                size for length, size in ((5, 11), (6, 10), (7, 8.5), (99, 7.2)) if len(words) <= length
            ),
            ha="center",
            # The number of a masked cell stands on paper, not on its hatching.
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.2} if masked else None,
        )

    def _hatch(self, corner: tuple[float, float], width: float, height: float) -> None:
        inner = (corner[0] + 0.02, corner[1] + 0.02)
        look: Any = {"facecolor": "none", "edgecolor": FAINT, "linewidth": 0, "hatch": MASK_HATCH}
        self._axes.add_patch(Rectangle(inner, width - 0.04, height - 0.04, **look))

    def _legend(self, words: str, y: float) -> None:
        box = (_MARGIN + _ROW_LABEL, y)
        self._axes.add_patch(Rectangle(box, 0.34, 0.2, facecolor=PAPER, edgecolor=FAINT, linewidth=1))
        self._hatch(box, 0.34, 0.2)
        self._text(box[0] + 0.44, y + 0.1, words, size=9.5)

    def _arrow(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self._axes.annotate(
            "", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0}
        )

    def _text(self, x: float, y: float, words: str, **look: Any) -> None:
        self._axes.text(x, y, words, va="center_baseline", **look)


def _name(letter: str, axis: str, row: int) -> str:
    return f"${'v' if letter == 'V' else axis}_{{{row + 1}}}$"


def _tint(color: str, strength: float) -> tuple[float, ...]:
    return tuple(1 - strength * (1 - channel) for channel in to_rgb(color))
