"""How fast attention() is, and how much memory it takes: `make bench` prints the table and keeps it.

Each line is from a fresh process, so that the number of threads can be set before BLAS starts. Two ways are timed
in turn, and their ratio is the median over the turns: what else the machine does meets both.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import cores, processor

from course_lib import attention

D = 64
LENGTHS = (1024, 4096, 16384)
RESULT = Path(__file__).with_suffix(".md")
# A pair is timed for about so long.
SECONDS = 4.0

Call = Callable[[], object]


class Setting(NamedTuple):
    """One line of the table."""

    threads: int
    causal: bool
    n: int


def main() -> None:
    """Measures everything, prints the page and keeps it; as a worker, one part of it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--keep", type=Path, default=RESULT, help="where the page is written")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work, arguments = options.worker
        print(json.dumps(WORKERS[work](*json.loads(arguments))))
        return
    settings = [Setting(*line) for line in product(sorted({1, cores()}), (False, True), options.lengths)]
    measured = {}
    for setting in settings:
        print(f"{setting}", flush=True, file=sys.stderr)
        measured[setting] = in_a_process("times", *setting)
        for way in ("ours", "textbook", "torch"):
            measured[setting][way] |= in_a_process("memory", *setting, way)
    text = page(measured, in_a_process("gpu", cores()))
    print(text)
    options.keep.write_text(text, encoding="utf-8")


# What is compared


def arrays(n: int) -> list[np.ndarray]:
    """q, k and v (n, 64) of standard normal numbers in float32."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, D)).astype(np.float32) for _ in range(3)]


def numpy_ways(n: int, causal: bool) -> dict[str, Call]:
    """Ours and what it is compared with, in NumPy."""
    q, k, v = arrays(n)
    return {
        "ours": lambda: attention(q, k, v, causal=causal),
        "textbook": lambda: textbook(q, k, v, causal),
        "products": lambda: products(q, k, v, causal),
    }


def torch_ways(n: int, causal: bool, heads: tuple[int, int] = (1, 1), **place: Any) -> dict[str, Call]:
    """Torch's fused kernel, and ours on tensors."""
    import torch
    from torch.nn import functional

    from course_lib._fused import stays_finite

    q, k, v = (torch.from_numpy(array).to(**place).repeat(*heads, 1, 1) for array in arrays(n))
    return {
        "torch": lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
        "ours on Torch": lambda: attention(q, k, v, causal=causal),
        "check": lambda: stays_finite(q, k, v, 1 / math.sqrt(D)),
    }


def textbook(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    """Scores, softmax, output."""
    scores = q @ k.T / math.sqrt(D)
    if causal:
        scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    output: np.ndarray = exponentials / exponentials.sum(axis=-1, keepdims=True) @ v
    return output


def products(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    """The two matrix products alone, in strips of 256 Queries: what no way with these products can beat."""
    output = np.empty_like(v)
    for first in range(0, len(q), 256):
        last = min(first + 256, len(q))
        seen = last if causal else len(k)
        output[first:last] = (q[first:last] @ k[:seen].T) @ v[:seen]
    return output


# Workers, each in a process of its own


def in_a_process(work: str, threads: int, *arguments: object) -> Any:
    """What the worker gives, with its threads set before BLAS starts, and BLAS free to choose its kernel."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = dict(os.environ) | dict.fromkeys(names, str(threads))
    for chosen_by_hand in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        environment.pop(chosen_by_hand, None)
    command = [sys.executable, __file__, "--worker", work, json.dumps(arguments)]
    found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(found.stdout)


def times(causal: bool, n: int) -> dict[str, dict[str, float]]:
    """Of each way, the time in ms, and as a multiple of the time of the kernel; ours by two more measures."""
    ways = numpy_ways(n, causal) | torch_ways(n, causal)
    del ways["check"]  # on a processor it is a hundredth of the whole
    found = {name: in_turn(way, ways["torch"]) for name, way in ways.items()}
    # The textbook takes seconds for longer ones.
    if n <= 4096:
        found["ours"]["textbook"] = in_turn(ways["ours"], ways["textbook"])["ratio"]
    if causal:
        found["ours"]["full"] = in_turn(ways["ours"], numpy_ways(n, False)["ours"])["ratio"]
    return found


def in_turn(way: Call, other: Call) -> dict[str, float]:
    """Medians over the turns: the way's time in ms, and its ratio to the other's."""
    # The first call loads what it needs.
    way(), other()
    both = seconds(way, 1) + seconds(other, 1)
    # A turn of a quick pair is several calls, so that what a pause makes cold doesn't count.
    calls = max(round(SECONDS / 20 / both), 1)
    # A slow pair has one turn, others at least three.
    count = min(max(round(SECONDS / both / calls), 1 if both > 3 * SECONDS else 3), 31)
    turns: list[tuple[float, float]] = []
    for turn in range(count):
        # Each goes first as often as second.
        first, second = (way, other) if turn % 2 else (other, way)
        pair = seconds(first, calls), seconds(second, calls)
        turns.append(pair if turn % 2 else pair[::-1])
    return {
        "ms": 1e3 * statistics.median(ours for ours, _ in turns),
        "ratio": statistics.median(ours / theirs for ours, theirs in turns),
    }


def seconds(call: Call, calls: int) -> float:
    """Of one call: with one thread those that the processor spent on it, else by the clock on the wall."""
    clock = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
    # Threads of the call before go on spinning for a while, and would take a core from this one.
    time.sleep(0.03)
    started = clock()
    for _ in range(calls):
        call()
    return (clock() - started) / calls


def memory(causal: bool, n: int, way: str) -> dict[str, float]:
    """How many MiB the process's peak of resident memory grows by in one call, its output counted in."""
    ways = torch_ways if way == "torch" else numpy_ways
    # Libraries load what they need on the first call.
    ways(64, causal)[way]()
    call = ways(n, causal)[way]
    before = peak_mib(start_anew=True)
    output = call()
    return {"MiB": peak_mib() - before if output is not None else math.nan}


def peak_mib(*, start_anew: bool = False) -> float:
    """The most resident memory so far; on Linux, since it was last started anew."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        # macOS counts bytes.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if start_anew:
        reset.write_text("5")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 2**10  # type: ignore[index]


def gpu() -> dict[str, Any] | None:
    """Ours against the kernel on a GPU, 4 sequences of 16 heads; None without one."""
    import torch

    if not torch.cuda.is_available():
        return None
    lines = []
    for dtype, causal, n in product(("float32", "float16", "bfloat16"), (False, True), LENGTHS[:2]):
        ways = torch_ways(n, causal, heads=(4, 16), device="cuda", dtype=getattr(torch, dtype))
        waited = {name: finished(way, torch.cuda.synchronize) for name, way in ways.items()}
        found = in_turn(waited["ours on Torch"], waited["torch"])
        # What keeps a NaN to the Queries that may read it: three norms, and a wait for their answer.
        check = in_turn(finished(ways["check"], torch.cuda.synchronize), waited["torch"])
        found["check"] = check["ratio"]
        lines.append({"dtype": dtype, "causal": causal, "n": n, **found})
    return {"name": torch.cuda.get_device_name(), "lines": lines}


def finished(way: Call, wait: Callable[[], None]) -> Call:
    """The way, and the wait until its GPU is done."""

    def call() -> None:
        way()
        wait()

    return call


WORKERS: dict[str, Callable[..., Any]] = {"times": times, "memory": memory, "gpu": gpu}


# The page


def page(measured: dict[Setting, Any], on_gpu: dict[str, Any] | None) -> str:
    """Markdown: the table, the goals and the machine."""
    lines = [
        "# How fast attention is",
        "",
        f"`make bench` wrote this page. d = {D}, float32, one head. Times in ms, the median over turns; in brackets,",
        "the median of the ratios to torch's fused kernel, which took turns with it. With one thread it is the",
        "processor's time, which other programs hardly touch, else the clock's: of several threads, trust what an",
        "idle machine gives. Memory: growth of the process's peak of resident memory in one call, in MiB, the",
        "output counted in.",
        "",
        *machine(),
        "",
        "| threads | mask | n | ours | textbook | two products alone | torch's kernel | ours on Torch "
        "| MiB: ours | textbook | torch |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(line(setting, found) for setting, found in measured.items()),
        "",
        "| goal | at most | found |",
        "| --- | ---: | ---: |",
        *(f"| {goal} | {most:g} | {found:.3g} |" for goal, most, found in goals(measured)),
        "",
        *gpu_lines(on_gpu),
    ]
    return "\n".join(lines) + "\n"


def line(setting: Setting, found: dict[str, dict[str, float]]) -> str:
    """One line of the table."""
    ways = ("ours", "textbook", "products", "torch", "ours on Torch")
    cells = [f"{found[way]['ms']:.3g} ({found[way]['ratio']:.2f})" for way in ways]
    cells[3] = f"{found['torch']['ms']:.3g}"
    mib = [f"{found[way]['MiB']:.0f}" for way in ("ours", "textbook", "torch")]
    mask = "causal" if setting.causal else "full"
    return "| " + " | ".join([str(setting.threads), mask, str(setting.n), *cells, *mib]) + " |"


def goals(measured: dict[Setting, Any]) -> Iterator[tuple[str, float, float]]:
    """What the library is to reach, and what was found."""
    for (threads, causal, n), found in measured.items():
        name = f"n = {n}, {'causal' if causal else 'full'}, {'one thread' if threads == 1 else 'all threads'}"
        ours = found["ours"]
        if n == 4096 and not causal:
            yield f"ours / torch's kernel, {name}", 1.45 if threads == 1 else 1.5, ours["ratio"]
        if n == 4096 and not causal and threads == 1:
            yield f"ours / textbook, {name}", 0.66, ours["textbook"]
        if n == 4096 and causal and threads == 1:
            yield f"causal / full, {name}", 0.6, ours["full"]
        if n == 16384:
            yield f"extra MiB, {name}", 64, ours["MiB"]
            if (shorter := measured.get(Setting(threads, causal, 4096))) is not None:
                yield f"time / that of n = 4096 (n^2: 16), {name}", 20, ours["ms"] / shorter["ours"]["ms"]
        if n >= 1024:
            yield f"ours on Torch / the kernel, {name}", 1.05, found["ours on Torch"]["ratio"]


def gpu_lines(on_gpu: dict[str, Any] | None) -> list[str]:
    """Ours against the kernel on a GPU."""
    if on_gpu is None:
        return ["No GPU was at hand."]
    return [
        f"On the GPU ({on_gpu['name']}), 4 sequences of 16 heads:",
        "",
        "| dtype | mask | n | ours on Torch, ms | / the kernel (goal: at most 1.05) | of it the check for NaN |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
        *(
            f"| {found['dtype']} | {'causal' if found['causal'] else 'full'} | {found['n']} "
            f"| {found['ms']:.3g} | {found['ratio']:.3f} | {found['check']:.3f} |"
            for found in on_gpu["lines"]
        ),
    ]


def machine() -> list[str]:
    """What it ran on, without names of hosts."""
    import torch

    return [
        f"- Processor: {processor()}, {cores()} cores; torch computes with {torch.backends.cpu.get_cpu_capability()}",
        f"- BLAS of NumPy: {blas()}",
        f"- {platform.system()}, Python {platform.python_version()}, NumPy {np.__version__}, torch {torch.__version__}",
    ]


def blas() -> str:
    """Its name and version, and the kernel that it chose for this processor."""
    built: Any = np.show_config(mode="dicts")
    found = built["Build Dependencies"]["blas"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    environment["OPENBLAS_VERBOSE"] = "2"
    command = [sys.executable, "-c", "import numpy"]
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr
    kernel = re.search(r"Core: (\w+)", said)
    return f"{found['name']} {found['version']}" + (f", kernel {kernel[1]}" if kernel else "")


if __name__ == "__main__":
    main()
