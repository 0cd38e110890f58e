"""Pictures of the guide for large classes: how a class is graded, and how long that takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from course_lib.plots.style import FAINT, INK, PAPER, SERIES, WIDTH, book_style, new_figure, speaker


@book_style()
def class_run(workers: int = 3, *, language: str = "ko") -> Figure:
    """How a class is graded: one process hands out and records, workers examine, each with a student's room.

    One to four workers.
    """
    say = speaker(language)
    if not 1 <= workers <= 4:
        raise ValueError(f"workers must be 1 to 4, not {workers}")
    figure = new_figure(WIDTH, 4.2)
    axes = figure.add_subplot(xlim=(0, 12), ylim=(-0.2, 12))
    axes.set_axis_off()
    does = say("나누어 주고, 기록한다", "hands out, and records")
    _box(axes, (3, 10.6), (6, 1.1), say("제출물", "submissions") + ": submitted/")
    _box(axes, (1, 7.6), (10, 1.7), f"course grade\n{does}", edge=INK)
    _box(axes, (2, 0), (8, 1.1), "gradebook.db, autograded/")
    for left in 0.5 + 11 / workers * np.arange(workers):
        _worker(axes, left + 0.15, 11 / workers - 0.3, (say("검사", "examiner"), say("학생의 방", "room")))
    axes.annotate("", (6, 9.4), (6, 10.5), arrowprops=_ARROW)
    axes.plot([0.9, 0.25, 0.25, 1.7], [8.4, 8.4, 0.55, 0.55], color=INK, linewidth=1.2)
    axes.annotate("", (1.95, 0.55), (1.6, 0.55), arrowprops=_ARROW)
    return figure


@book_style()
def grading_time(
    workers: ArrayLike, minutes: ArrayLike, floor: float, *, submissions: int, language: str = "ko"
) -> Figure:
    """Minutes for a class over the number of workers, and the floor that the one recording process sets.

    Shapes: workers and minutes (m,), growing and above 0.
    """
    say = speaker(language)
    x, y = (np.asarray(values, dtype=float) for values in (workers, minutes))
    if x.ndim != 1 or x.shape != y.shape or (x <= 0).any() or (y <= 0).any() or floor <= 0:
        raise ValueError(
            f"workers and minutes must be rows of one length, above 0, and so floor: {x.shape}, {y.shape}, {floor}"
        )
    figure = new_figure(WIDTH, 3.4)
    axes = figure.add_subplot(xscale="log", yscale="log")
    axes.plot(x, y, "o-", color=SERIES[0], label=say("모두", "in all"))
    axes.axhline(floor, color=SERIES[1], linestyle="--", label=say("기록만", "recording alone"))
    axes.set_xticks(x, [f"{count:g}" for count in x])
    marks = [mark for mark in (1, 2, 5, 10, 20, 50, 100, 200, 500) if floor / 2 <= mark <= y.max() * 2]
    axes.set_yticks(marks, [f"{mark:g}" for mark in marks])
    axes.minorticks_off()
    axes.set(xlabel=say("worker의 수", "workers"))
    axes.set_title(say(f"제출물 {submissions:,}개의 시간 (분)", f"minutes for {submissions:,} submissions"))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


_ARROW: dict[str, Any] = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}


def _worker(axes: Axes, left: float, width: float, parts: tuple[str, str]) -> None:
    """An examiner and a student's room, with what comes and goes."""
    middle = left + width / 2
    axes.annotate("", (middle - 0.25, 6.4), (middle - 0.25, 7.5), arrowprops=_ARROW)
    axes.annotate("", (middle + 0.25, 7.5), (middle + 0.25, 6.4), arrowprops=_ARROW)
    axes.add_patch(Rectangle((left, 2.6), width, 3.7, facecolor=PAPER, edgecolor=FAINT))
    axes.text(middle, 5.9, "worker", ha="center", va="center", fontsize=9.5)
    _box(axes, (left + 0.25, 4.4), (width - 0.5, 1.0), parts[0], edge=INK)
    _box(axes, (left + 0.25, 2.9), (width - 0.5, 1.0), parts[1], edge=INK, line="--")
    axes.annotate("", (middle, 3.95), (middle, 4.35), arrowprops=_ARROW | {"arrowstyle": "<|-|>"})


def _box(
    axes: Axes, corner: tuple[float, float], size: tuple[float, float], text: str,
    *, edge: str = FAINT, line: str = "-",
) -> None:  # fmt: skip
    axes.add_patch(Rectangle(corner, *size, facecolor=PAPER, edgecolor=edge, linewidth=1.5, linestyle=line))
    centre = corner[0] + size[0] / 2, corner[1] + size[1] / 2
    axes.text(*centre, text, ha="center", va="center", fontsize=9.5, linespacing=1.5)
