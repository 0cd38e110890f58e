"""Stands between a notebook and what an answer may do to it while its check runs."""

from __future__ import annotations

import contextlib
import io
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, TextIO

import numpy as np

from course_lib.checks.calling import call, line_of, line_within, words_of
from course_lib.checks.cases import STOPPED, Function, Inputs, Outcome

LETTERS = 10_000  # of what an answer prints in one check: more than anybody reads
AGAIN = 0.2  # seconds after which what an answer has caught is raised once more
_ALONE = threading.RLock()  # what is set and set back belongs to all threads


@contextlib.contextmanager
def guard(seconds: float, notice: str) -> Iterator[Watch]:
    """A Watch, while nothing reaches stderr, and of what is printed no more than LETTERS, then `notice`."""
    with (
        _ALONE,
        warnings.catch_warnings(),
        np.errstate(),
        contextlib.redirect_stdout(_Brief(sys.stdout, notice)),
        contextlib.redirect_stderr(io.StringIO()),
        Watch(seconds) as watch,
    ):
        warnings.simplefilter("ignore")
        yield watch


class Watch:
    """Asks as `call` does; a call that still runs when `seconds` are over is stopped, as by the stop button.

    Either way what is asked then has the outcome STOPPED, and so has what would be asked afterwards. It works by
    SIGINT, which every system has; outside of a main thread, or without threads (in a browser), it stops nothing.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._function: Function | None = None
        self._stopped: Outcome | None = None
        self._over = self._left = False
        self._leaving, self._sending = threading.Event(), threading.Lock()

    def __enter__(self) -> Watch:
        self._before = signal.getsignal(signal.SIGINT)
        # ValueError: not the main thread. RuntimeError: no threads here.
        with contextlib.suppress(ValueError, RuntimeError):
            if self._before is not None:  # it could not be set back
                signal.signal(signal.SIGINT, self._interrupt)
                threading.Thread(target=self._wait, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left = True  # first: from here on a signal that comes late does nothing
        self._leaving.set()
        with self._sending, contextlib.suppress(ValueError):
            if self._before is not None:
                signal.signal(signal.SIGINT, self._before)

    def __call__(
        self, function: Function, required: Sequence[str], inputs: Inputs, **options: Any
    ) -> Outcome:
        self._function = function
        try:
            outcome = self._stopped or call(function, required, inputs, **options)
        except KeyboardInterrupt as error:  # where no handler of ours could be set, too
            outcome = self._stopped = self._stopped or Outcome(error=STOPPED, line=line_of(error, function))
        except BaseException as error:  # SystemExit, say
            outcome = Outcome(
                error=type(error).__name__, message=words_of(error), line=line_of(error, function)
            )
        return self._stopped or outcome

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handles SIGINT. It raises within a call alone: whatever surrounds that always ends in order."""
        if self._left:
            return
        if self._over and _takes_its_time(frame):
            self._over = False
            return
        line = line_within(frame, self._function)
        after = f"{self.seconds:g}" if self._over else ""
        self._stopped = self._stopped or Outcome(error=STOPPED, message=after, line=line or "")
        if line is not None:
            raise KeyboardInterrupt

    def _wait(self) -> None:
        while not self._leaving.wait(AGAIN if self._over else self.seconds):
            self._over = True
            with self._sending:
                if not self._left:
                    _send()


def _send() -> None:
    """SIGINT, so that it also ends what the main thread waits for."""
    if sys.platform == "win32":
        signal.raise_signal(signal.SIGINT)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _takes_its_time(frame: FrameType | None) -> bool:
    """Whether a library is being loaded, or somebody goes through the answer step by step."""
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    if sys.gettrace() or (monitoring and monitoring.get_tool(monitoring.DEBUGGER_ID)):
        return True
    return any(
        each.f_code.co_filename.startswith("<frozen importlib") for each, _ in traceback.walk_stack(frame)
    )


class _Brief(io.TextIOBase):
    """Passes on the first LETTERS that are written."""

    def __init__(self, out: TextIO, notice: str) -> None:
        self.out, self.notice, self.left = out, notice, LETTERS

    def write(self, text: str) -> int:
        room, self.left = self.left, self.left - len(text)
        if room >= 0:
            self.out.write(text if self.left >= 0 else f"{text[:room]}\n{self.notice}\n")
        return len(text)

    def flush(self) -> None:
        self.out.flush()
