"""Many submissions at once, behind concurrent.futures: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import concurrent.futures
import logging
import multiprocessing
import os
import sys
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from types import ModuleType
from typing import Any, Protocol

from course_lib.course import CourseError
from course_lib.grading.believed import Disbelieved, believed
from course_lib.grading.plain import printable
from course_lib.grading.worker import (
    Examined,
    NoRoom,
    Paper,
    Place,
    Unit,
    begin_process,
    examine_unit,
    get_ready,
)

# Of units whose worker was lost together, each is tried alone so many times.
TRIES_ALONE = 2
# Units that wait in line for each worker, so that none is idle: more would be memory for nothing.
AHEAD = 3


class Workers(Protocol):
    """Where units are examined: executors that can be opened again when one breaks."""

    def open(self, count: int | None = None) -> AbstractContextManager[Executor]:
        """A fresh executor; with `count`, of so many workers."""

    @property
    def count(self) -> int:
        """How many units are examined at a time."""

    @property
    def elsewhere(self) -> bool:
        """Whether they run where whoever grades may not be the only one to have a say."""


class LocalWorkers:
    """Processes of this machine: started afresh, never forked from a process that has threads."""

    elsewhere = False

    def __init__(self, paper: Paper, jobs: int | None = None) -> None:
        self.paper = paper
        self.count = jobs or len(available_cores())
        self._early: _Pool | None = None

    def start(self, count: int) -> None:
        """Starts so many processes now: they get ready while the run gets ready itself."""
        self._early = _Pool(self.paper, min(count, self.count))

    @contextmanager
    def open(self, count: int | None = None) -> Iterator[Executor]:
        """A pool of processes, ended at the end with whatever they do then."""
        pool, self._early = self._early or _Pool(self.paper, count or self.count), None
        try:
            yield pool.executor
            pool.executor.shutdown()
        except BaseException:
            pool.stop()
            raise

    def close(self) -> None:
        """Ends the processes that were started and not used."""
        if self._early is not None:
            self._early.stop()


class _Pool:
    """Processes that make themselves ready at once."""

    def __init__(self, paper: Paper, count: int) -> None:
        self._before = {child.pid for child in multiprocessing.active_children()}
        context = multiprocessing.get_context("spawn")
        # What a process is started with is written to it while it loads Python; a queue keeps nobody waiting.
        places: multiprocessing.Queue[Place] = context.Queue()
        places.cancel_join_thread()
        self.executor = ProcessPoolExecutor(
            count, mp_context=context, initializer=begin_process, initargs=(places,)
        )
        with _one_thread_each(), _without_main():
            for core in cores_of(count):
                places.put(Place(paper, core))
                self.executor.submit(get_ready, paper.digest)

    def stop(self) -> None:
        """A run that is stopped does not wait for a loop of a student's; a worker's room ends with it."""
        for child in multiprocessing.active_children():
            if child.pid not in self._before:
                child.terminate()
        self.executor.shutdown(cancel_futures=True)


class DaskWorkers:
    """The workers of a Dask cluster, which may come and go."""

    elsewhere = True

    def __init__(self, paper: Paper, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise CourseError(
                "--scheduler needs the package distributed, on every machine. Run: pip install distributed"
            ) from error
        self.paper = paper
        self.address = address
        # A lost connection is said in a sentence, not by its log.
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        try:
            self._client: Any = Client(address, timeout="5s", set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise CourseError(
                f"No Dask scheduler answers at {address} ({error}). Start one: dask scheduler; "
                f"then workers: dask worker {address} --nthreads 1"
            ) from error
        if not self.count:
            self._client.close()  # type: ignore[no-untyped-call]
            raise CourseError(
                f"The scheduler at {address} has no workers. Start some: dask worker {address} --nthreads 1"
            )

    @property
    def count(self) -> int:
        """The cluster's threads."""
        return sum(self._client.nthreads().values())

    @contextmanager
    def open(self, count: int | None = None) -> Iterator[Executor]:
        """The cluster's executor; `count` is the scheduler's to decide."""
        from course_lib.grading.dask_plugin import ExaminerPlugin

        del count
        plugin = ExaminerPlugin(self.paper)
        with self._client as client:
            client.register_plugin(plugin)  # workers that come later get it, too
            try:
                with client.get_executor(pure=False) as executor:
                    yield executor
            finally:
                with suppress(OSError):  # there may be no scheduler any more, and that is said already
                    client.unregister_worker_plugin(plugin.name)


def examine_all(units: Iterable[Unit], workers: Workers) -> Generator[Examined, None, None]:
    """The result of every unit, as they come. NoRoom where units can't be examined at all.

    A lost worker loses nothing: what it had in hand is examined again, each unit alone, and only one that loses its
    worker then, too, is given up.
    """
    waiting = iter(units)
    suspects: list[Unit] = []
    done = False
    while not done:
        pending: dict[Future[Examined], Unit] = {}
        try:
            with workers.open() as executor:
                yield from _through(executor, waiting, pending, workers)
            done = True
        except BrokenExecutor:
            suspects = list(pending.values())
        for unit in suspects:
            yield _alone(unit, workers)
        suspects = []


def available_cores() -> list[int]:
    """The cores that this process may use, by number."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cores_of(workers: int) -> list[int | None]:
    """The core of each worker, where the system can keep a process to one and all have work.

    A worker and its room wait for each other: together on one core neither is sent after the other to a core where
    another pair is at work, while its own is idle. Fewer workers than cores are left to the system, which knows what
    else runs.
    """
    cores = available_cores()
    if workers < len(cores) or not hasattr(os, "sched_setaffinity"):
        return [None] * workers
    return [cores[number % len(cores)] for number in range(workers)]


def _through(
    executor: Executor, waiting: Iterator[Unit], pending: dict[Future[Examined], Unit], workers: Workers
) -> Iterator[Examined]:
    """Results as they come, with so many units under way as workers need; a unit leaves `pending` with its result."""
    most = workers.count * (1 + AHEAD)
    for unit in waiting:
        try:
            future = executor.submit(examine_unit, unit)
        except BrokenExecutor:
            pending[Future()] = unit
            raise
        pending[future] = unit
        if len(pending) >= most:
            yield from _finished(pending, workers)
    while pending:
        yield from _finished(pending, workers)


def _finished(pending: dict[Future[Examined], Unit], workers: Workers) -> Iterator[Examined]:
    done, _ = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
    for future in done:
        unit = pending[future]
        result = _result(future, unit, workers)
        del pending[future]
        yield result


def _result(future: Future[Examined], unit: Unit, workers: Workers) -> Examined:
    try:
        error = future.exception()
        if error is None:
            return believed(future.result(), unit) if workers.elsewhere else future.result()
    except concurrent.futures.CancelledError as lost:
        raise CourseError(
            "The connection to the Dask scheduler is lost. What was recorded stays; "
            "the same command goes on from there."
        ) from lost
    except Disbelieved as lie:
        error = lie
    if isinstance(error, (BrokenExecutor, NoRoom)):
        raise error
    # Dask's KilledWorker, say: its workers were lost again.
    return Examined(unit.student, failure=_given_up(error))


def _alone(unit: Unit, workers: Workers) -> Examined:
    for _ in range(TRIES_ALONE):
        try:
            with workers.open(1) as executor:
                return executor.submit(examine_unit, unit).result()
        except BrokenExecutor as error:
            loss = error
    return Examined(unit.student, failure=_given_up(loss))


def _given_up(error: BaseException) -> str:
    if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
        return "the process that examined it was lost again and again, and no other submission's was"
    if isinstance(error, Disbelieved):
        return f"a worker was not believed: {error}"
    try:
        words = str(error)
    except Exception:  # it was made elsewhere
        words = ""
    return f"it could not be examined ({printable(type(error).__name__)}: {printable(words)})"


@contextmanager
def _without_main() -> Iterator[None]:
    """Processes started here load what they need, and not what the command that starts them is made of."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Workers started here compute on one thread: they share the cores among themselves already."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
