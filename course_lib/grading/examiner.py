"""The examiner's room: decides what a submission earns, and never runs a line of it.

The submission's cells run in a seat of the student's room. The examiner takes the tests from the course's own bank,
draws the inputs for this student, asks the seat to call the student's function, and compares what arrives.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from course_lib.checks import (
    NOT_CALLABLE,
    Case,
    ForbiddenCall,
    Outcome,
    TaskCases,
    TooMuchMemory,
    Verdict,
    beginning_of,
    decide,
    report,
)
from course_lib.grading.bank import Bank, Task, hidden_cases
from course_lib.grading.outputs import Outputs, error_output, graded_outputs
from course_lib.grading.plain import type_name
from course_lib.grading.rooms import Room
from course_lib.grading.seats import Call, Ended, Lost, Seat, TooLong, TooMuch
from course_lib.grading.self_contained import is_self_contained
from course_lib.grading.usage import Usage
from course_lib.grading.verdicts import LIMITS

_OTHER_WORDS = "other words"  # an error's, where they begin as those of no named mistake do
# In which a process that waits for a question says that it is there: many times what a busy machine holds one up.
_ANSWER_SECONDS = 5.0
_NO_MEMORY = ("MemoryError", "OutOfMemoryError")
_MOST_SAID = 20  # sentences on limits, for whoever grades
_MOST_LINES = 2000  # of a submission, of which one may be named: which one, says so many bits of an input


class NoTime(Lost):
    """All time that a notebook has is used up."""


_END_IN = {
    "ko": {
        TooLong: "시간 제한({seconds:g}초)을 넘겨 멈추었습니다.",
        NoTime: "노트북 전체의 시간 제한({seconds:g}초)을 다 써서 실행하지 않았습니다.",
        TooMuch: "메모리 제한을 넘겨 멈추었습니다.",
        Ended: "Python 프로세스가 도중에 끝났습니다.",
    },
    "en": {
        TooLong: "Stopped after the time limit of {seconds:g} s.",
        NoTime: "Not run: the notebook's time limit of {seconds:g} s is used up.",
        TooMuch: "Stopped at the memory limit.",
        Ended: "The Python process ended on the way.",
    },
}


@dataclass(frozen=True)
class Limits:
    """Seconds that a submission may take, by the clock outside of its room."""

    cell: float = 20.0
    call: float = 10.0
    notebook: float = 90.0


@dataclass(frozen=True)
class Exam:
    """What all submissions of one run share. It crosses to the workers, so it is plain data and the bank's folder."""

    bank: Bank
    secret: bytes
    language: str
    files: dict[str, bytes]  # laid beside the notebook: what students got with it
    limits: Limits = Limits()
    site: str = ""  # the address of the book, where it is published


def examine(notebook: Any, student: str, exam: Exam, room: Room) -> Any:
    """The executed notebook, with the verdict and the points in each graded cell, as nbgrader reads them.

    `notebook` has its graded cells once each, taken from the release. A cell that runs too long or ends its process
    costs what it would have computed; the cells before it are run again in a fresh seat, and the rest goes on.
    """
    executed = copy.copy(notebook)
    executed.metadata = copy.copy(notebook.metadata)
    executed.cells = [copy.copy(cell) for cell in notebook.cells]
    cells = [cell for cell in executed.cells if cell.cell_type == "code"]
    with closing(_Sitting(student, exam, room, notebook)) as sitting:
        kept = {}
        for count, cell in enumerate(cells, start=1):
            cell.execution_count = count
            if _graded(cell):
                kept[count] = sitting.keep(_graded(cell))
            else:
                cell.outputs = sitting.run(cell.source, count)
        # Hidden inputs enter the room when the last output has left it: no cell can show them.
        for count, state in kept.items():
            cells[count - 1].outputs = sitting.judge(_graded(cells[count - 1]), state, count)
        executed.metadata[LIMITS] = sitting.limits_hit
    return executed


@dataclass(frozen=True)
class _Step:
    """What a seat did: ran a cell, or noted the state that a task's function is asked in."""

    source: str = ""
    task: str = ""


@dataclass(frozen=True)
class _Kept:
    """The state at a graded cell: a process that waits in it, and what led there."""

    seat: Seat | None
    steps: tuple[_Step, ...]
    threads: bool = False  # whether the process had others than its first: a copy is without them


class _Sitting:
    """One submission on its way through its notebook, from seat to seat where one is lost.

    Each task is asked in a copy of the process as it was at its graded cell, so that nothing which other cells or
    tasks do to it counts. A notebook that only computes does nothing to it: one process answers for all its tasks, and
    of the state at a graded cell the names are enough.
    """

    def __init__(self, student: str, exam: Exam, room: Room, notebook: Any) -> None:
        self.student, self.exam, self.room = student, exam, room
        self.deadline = time.monotonic() + exam.limits.notebook
        self.limits_hit: list[str] = []
        lines = (line.strip()[:200] for cell in notebook.cells for line in cell.source.splitlines())
        self._lines = set(islice(filter(None, lines), _MOST_LINES))
        self._together = is_self_contained(_sources(notebook), [task.name for task in exam.bank.tasks])
        self._outputs = Outputs()
        self._steps: list[_Step] = []
        self._stack, self._present = ExitStack(), ExitStack()
        self._crowd: list[Usage] = []
        self._seat: Seat | None = None
        self._copied = False  # whether a copy of it waits

    def close(self) -> None:
        with self._stack, self._present:
            pass

    def run(self, source: str, count: int) -> list[Any]:
        """The outputs of a cell of the student's."""
        try:
            cell = self._seated().run(source, seconds=self._seconds(self.exam.limits.cell))
            if not self._together:
                self._seated().ping(seconds=_ANSWER_SECONDS)  # the cell has ended, and not just said so
        except Lost as loss:
            self._leave()
            return [error_output(self._say(loss, self.exam.limits.cell, f"[{count}]"))]
        self._steps.append(_Step(source))
        return self._outputs.checked(cell.outputs, count)

    def keep(self, task: str) -> _Kept:
        """The state that the notebook is in, for `judge`."""
        try:
            if self._shared(task):
                self._steps.append(_Step(task=task))
                self._seated().note(task)
                return _Kept(None, ())
            self._seconds(1.0)
            threads = self._seated().has_threads()
            seat = self._seated().keep()
        except Lost:
            self._leave()
            return _Kept(None, tuple(self._steps))
        self._copied = True
        self._stack.callback(seat.close)
        return _Kept(seat, tuple(self._steps), threads)

    def judge(self, name: str, kept: _Kept, count: int) -> list[Any]:
        """The outputs of a graded cell: what the function of that name earns in the state that was kept."""
        exam = self.exam
        task = exam.bank.task(name)
        cases = hidden_cases(exam.bank, task, self.student, exam.secret, site=exam.site)
        verdict = self._verdict(task, cases, kept)
        return graded_outputs(report(verdict, exam.language, hidden=True), verdict.points, count)

    def _verdict(self, task: Task, cases: TaskCases, kept: _Kept) -> Verdict:
        """What the task earns; where a copy lacks threads that it may need, also where its cells have run again."""
        noted = len(self.limits_hit)
        verdict = decide(cases, self._outcomes(task, cases, kept))
        if not kept.threads or verdict.points == task.points:
            return verdict
        first = len(self.limits_hit)
        again = decide(cases, self._outcomes(task, cases, replace(kept, seat=None)))
        better = again.points > verdict.points
        del self.limits_hit[slice(noted, first) if better else slice(first, None)]
        return again if better else verdict

    def _outcomes(self, task: Task, cases: TaskCases, kept: _Kept) -> list[Outcome]:
        """What each case gives; after a call that does not come back, the rest of the task is lost."""
        outcomes: list[Outcome] = []
        try:
            try:
                self._ask(task, cases, outcomes, kept, alone=not self._shared(task.name))
            except TooMuch:  # which other tasks may have left there: in a fresh seat it is this one's own
                if not self._shared(task.name):
                    raise
                self._leave()
                self._ask(task, cases, outcomes, kept, alone=True)
        except Lost as loss:
            if self._shared(task.name):
                self._leave()
            lost = Outcome(error=self._say(loss, task.seconds or self.exam.limits.call, task.name))
            outcomes += [lost] * (len(cases.cases) - len(outcomes))
        return outcomes

    def _shared(self, task: str) -> bool:
        """Whether a task is asked where others are; not if its memory counts, which grows less where others had it."""
        return self._together and self.exam.bank.task(task).memory is None

    @contextmanager
    def _asked(self, task: str, kept: _Kept) -> Iterator[Seat]:
        """Where a task is asked."""
        if self._shared(task):
            yield self._seated()
            return
        try:
            if kept.seat is None:
                raise Ended("there is no copy")
            kept.seat.ping(seconds=_ANSWER_SECONDS)
        except Lost:  # another cell stopped or ended it: the same cells are run again
            with self._replayed(kept.steps) as seat:
                yield seat
        else:
            yield kept.seat

    def _ask(
        self, task: Task, cases: TaskCases, outcomes: list[Outcome], kept: _Kept, *, alone: bool
    ) -> None:
        """Asks the cases that have no outcome yet; TooMuch where memory ends, and not `alone` with this task."""
        questions = [
            Call(task.name, cases.required, case.inputs, task.way, task.forbidden, task.name)
            for case in cases.cases[len(outcomes) :]
        ]

        def seconds() -> float:
            return self._seconds(task.seconds or self.exam.limits.call)

        with self._asked(task.name, kept) as seat:
            answers = seat.calls(questions, seconds=seconds)
            if task.memory is not None:
                answers = self._measured(seat, task.memory, questions, seconds, measured=bool(outcomes))
            for case, outcome in zip(cases.cases[len(outcomes) :], answers, strict=False):
                if outcome.error in _NO_MEMORY and not alone:
                    raise TooMuch(outcome.error)
                outcomes.append(self._without_secrets(outcome, task, case))

    def _measured(
        self, seat: Seat, most: int, questions: list[Call], seconds: Callable[[], float], *, measured: bool
    ) -> Iterator[Outcome]:
        """Outcomes of calls that may use so many bytes each; the first may load a library, so it may use more."""
        for question in questions:
            seat.forget_peak()
            outcome = seat.call(question, seconds=seconds())
            too_much = measured and (seat.peak_memory() or 0) > most
            yield Outcome(error=TooMuchMemory.__name__) if too_much else outcome
            measured = True

    def _without_secrets(self, outcome: Outcome, task: Task, case: Case) -> Outcome:
        """Without words that the submission could have chosen to show the inputs: the words left are the bank's."""
        if outcome.error is None:
            return outcome
        if outcome.error == NOT_CALLABLE:
            return replace(outcome, message=type_name(outcome.message), line="")
        beginning = beginning_of(outcome)
        if outcome.error == ForbiddenCall.__name__:
            known = task.forbidden
            message = outcome.message if outcome.message in known else "".join(known[:1])
        elif beginning and beginning not in map(beginning_of, case.mistakes.values()):
            message = _OTHER_WORDS
        else:
            message = beginning
        return replace(outcome, message=message, line=outcome.line if outcome.line in self._lines else "")

    def _seated(self) -> Seat:
        """The seat, or a fresh one in which what ran before has run again."""
        if self._seat is None:
            self._present = ExitStack()
            self._seat = self._present.enter_context(self._replayed(self._steps))
        return self._seat

    @contextmanager
    def _replayed(self, steps: Sequence[_Step]) -> Iterator[Seat]:
        self._seconds(1.0)
        with self.room.seat(self._crowd) as seat:
            seat.put(self.exam.files)
            for step in steps:
                if step.task:
                    seat.note(step.task)
                else:
                    seat.run(step.source, seconds=self._seconds(self.exam.limits.cell))
            yield seat

    def _leave(self) -> None:
        """Lets the seat be, if copies that were kept of it still answer; else it ends."""
        if self._seat is not None and self._copied:
            self._seat.pause()
            self._stack.push(self._present)
        else:
            self._present.close()
        self._seat, self._present, self._copied = None, ExitStack(), False

    def _seconds(self, most: float) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise NoTime("the notebook's time is used up")
        return min(most, left)

    def _say(self, loss: Lost, seconds: float, where: str) -> str:
        """The loss in words, which are kept for whoever grades: `where` is a cell's number or a task."""
        if isinstance(loss, NoTime):
            seconds = self.exam.limits.notebook
        said = _END_IN[self.exam.language][type(loss)].format(seconds=seconds)
        if len(self.limits_hit) < _MOST_SAID:
            self.limits_hit.append(f"{where}: {said}")
        return said


def _graded(cell: Any) -> str:
    """The task that a cell grades; empty where it is the student's own."""
    metadata = cell.metadata.get("nbgrader", {})
    return str(metadata["grade_id"]) if metadata.get("grade") and not metadata.get("solution") else ""


def _sources(notebook: Any) -> list[str]:
    """Of all cells that run."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code" and not _graded(cell)]
