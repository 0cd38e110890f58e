"""What a Dask worker is told before it examines; loaded only where distributed is."""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin

from course_lib.grading import worker as examiner
from course_lib.grading.worker import Paper


class ExaminerPlugin(WorkerPlugin):
    """Gives each worker, also one that comes later, the paper of a run; at the end it closes the rooms."""

    def __init__(self, paper: Paper) -> None:
        self.paper = paper
        self.name = f"course-{paper.digest}"

    def setup(self, worker: Any) -> None:
        """Called by Dask when a worker gets the plugin."""
        del worker
        examiner.begin(self.paper, elsewhere=True)

    def teardown(self, worker: Any) -> None:
        """Called by Dask when the plugin is taken away, or the worker ends."""
        del worker
        examiner.end(self.paper.digest)
