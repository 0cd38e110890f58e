"""How fast a class is graded on a Dask cluster: `python benchmarks/cluster.py` prints the page and keeps it.

Scheduler and workers are processes of this machine, on loopback: more workers than cores show what the cluster itself
costs, not what more machines give. What one submission costs the process that hands out and records is measured, too,
since there is one of it, however many workers there are.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from grading import Bench, Run, command, head, pace
from machine import cores

RESULT = Path(__file__).with_suffix(".md")


def main() -> None:
    """Measures, prints the page and keeps it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--students", type=int, default=400)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=RESULT, help="where the page is written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-cluster-") as scratch:
        page = "\n".join(lines(Path(scratch), options)) + "\n"
    print(page)
    options.keep.write_text(page, encoding="utf-8")


def lines(scratch: Path, options: Namespace) -> Iterator[str]:
    """The page."""
    few, many = 20, options.students
    bench = Bench("numpy", scratch, options)
    handed_in = {count: bench.hand_in(count) for count in (few, many)}
    found: dict[int, list[tuple[Run, Run]]] = {count: [] for count in options.workers}
    for turn in range(options.turns):
        for count in options.workers:
            with cluster(scratch, count) as address:
                small, large = (graded(bench, handed_in[size], address) for size in (few, many))
            found[count].append((small, large))
            print(f"turn {turn + 1}, {count} workers: {large.seconds:.1f} s", file=sys.stderr)
    _, *machine = head(options)
    yield "# How fast a class is graded on a Dask cluster"
    yield ""
    yield (
        f"`python benchmarks/cluster.py` wrote this page: {options.turns} turns, medians, "
        f"of {many} submissions of ps1. "
        f"Scheduler and workers are processes of one machine with {cores()} cores, which the command shares."
    )
    yield from machine[2:]
    yield "| workers | seconds | submissions a second, once warm | ms of the command's own processor a submission |"
    yield "| ---: | ---: | ---: | ---: |"
    for count, turns in found.items():
        seconds = statistics.median(large.seconds for _, large in turns)
        rate = statistics.median(large.pace for _, large in turns)
        own = statistics.median(1000 * (large.cpu - small.cpu) / (many - few) for small, large in turns)
        yield f"| {count} | {seconds:.1f} | {rate:.1f} | {own:.1f} |"


def graded(bench: Bench, handed_in: Path, address: str) -> Run:
    """`course grade` on the cluster, in a fresh copy of the course."""
    place = bench._fresh("c = get_config()\n")
    run = command(
        place, "course", "grade", bench.problem_set, "--submitted", str(handed_in), "--scheduler", address
    )
    run.pace = pace(place)
    return run


@contextmanager
def cluster(folder: Path, count: int) -> Iterator[str]:
    """A scheduler on loopback with so many workers, each a process with one thread."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [
        subprocess.Popen(
            [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)],
            **quiet,
        )
    ]  # fmt: skip
    try:
        for number in range(count):
            space = folder / f"worker-{number}"
            options = [
                "--scheduler-file",
                str(file),
                "--nthreads",
                "1",
                "--no-dashboard",
                "--local-directory",
            ]
            started.append(subprocess.Popen([*dask, "worker", *options, str(space)], **quiet))
        yield _address(file, count)
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=60)


def _address(file: Path, count: int) -> str:
    from distributed import Client

    while not file.exists():
        time.sleep(0.1)
    with Client(scheduler_file=str(file)) as client:
        client.wait_for_workers(count, timeout=60)
        return str(client.scheduler.address)


if __name__ == "__main__":
    main()
