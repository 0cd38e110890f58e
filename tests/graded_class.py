"""What the tests of class runs share: answers, a run without processes, and the marks that it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mini import DOUBLE

from course_lib.grading.worker import Paper, begin

ANSWERS = {
    "right": DOUBLE,
    "wrong": "def double(x):\n    return 3 * x",
    "in-place": "def double(x):\n    x *= 2\n    return x",
    "fails": "def double(x):\n    return y",
    "loops": "def double(x):\n    return np.array([2 * value for value in x])",
    "slow": "import time\ntime.sleep(0.3)\ndef double(x):\n    return x + x",
    "shows": "def double(x):\n    return x + x\nprint(double(np.ones(2)))\ndouble(np.ones(3))",
}


class Inline:
    """Workers in this process: with rooms as ever, but no process to start."""

    elsewhere = False

    def __init__(self, paper: Paper, jobs: int | None = None) -> None:
        begin(paper)
        self.count = 1

    def start(self, count: int) -> None:
        pass

    def close(self) -> None:
        pass

    @contextmanager
    def open(self, count: int | None = None) -> Iterator[Executor]:
        with ThreadPoolExecutor(1) as executor:
            yield executor


def marks(workspace: Path) -> dict[str, Any]:
    """Everything of the gradebook that is a mark or belongs to one, by student."""
    from nbgrader.api import Gradebook

    kept: dict[str, Any] = {}
    with Gradebook(f"sqlite:///{workspace / 'gradebook.db'}") as gradebook:
        for submission in gradebook.assignment_submissions("mini"):
            [notebook] = submission.notebooks
            kept[submission.student.id] = {
                "time": submission.timestamp,
                "penalty": notebook.late_submission_penalty,
                "score": notebook.score,
                "grades": sorted(
                    (g.name, g.auto_score, g.manual_score, g.needs_manual_grade) for g in notebook.grades
                ),
                "comments": sorted((c.name, c.auto_comment or "") for c in notebook.comments),
            }
    return kept
