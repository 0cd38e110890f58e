"""The examiner's room: decides what a submission earns, and never runs a line of it.

The submission's cells run in a seat of the student's room. The examiner takes the tests from the course's own bank,
draws the inputs for this student, asks the seat to call the student's function, and compares what arrives.
"""

from __future__ import annotations

import copy
import hmac
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from course_lib.checks import Case, Outcome, TaskCases, Verdict, decide, report
from course_lib.course import Course
from course_lib.grading.bank import Bank, Task, draw_cases, load_bank
from course_lib.grading.notebook import new_output
from course_lib.grading.rooms import Cell, Ended, Room, Seat, TooLong
from course_lib.grading.secret import secret_of
from course_lib.grading.verdicts import LIMITS

# Each part is drawn so many times: what passes by luck once does not pass all.
ROUNDS = 3
_END_IN = {
    "ko": {
        "late": "시간 제한({seconds:g}초)을 넘겨 멈추었습니다.",
        "ended": "Python 프로세스가 도중에 끝났습니다.",
    },
    "en": {
        "late": "Stopped after the time limit of {seconds:g} s.",
        "ended": "The Python process ended on the way.",
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


def exam_of(course: Course, problem_set: str) -> Exam:
    """The exam of a released problem set."""
    bank, released = load_bank(course.solutions / problem_set), course.nbgrader / "release" / problem_set
    files = {path.name: path.read_bytes() for path in released.iterdir() if path.suffix != ".ipynb"}
    return Exam(bank, secret_of(course), course.language, files)


def examine(notebook: Any, student: str, exam: Exam, room: Room) -> Any:
    """The executed notebook, with the verdict and the points in each graded cell, as nbgrader reads them.

    `notebook` has its graded cells once each, taken from the release. A cell that runs too long or ends its process
    costs what it would have computed; the cells before it are run again in a fresh seat, and the rest goes on.
    """
    with ExitStack() as stack:
        sitting = stack.enter_context(_sitting(student, exam, room))
        executed = copy.deepcopy(notebook)
        for cell in executed.cells:
            if cell.cell_type == "code":
                outputs, count = sitting.answer(cell)
                cell.outputs, cell.execution_count = outputs, count
        executed.metadata[LIMITS] = sitting.limits_hit
        return executed


def seed_of(exam: Exam, student: str, task: str) -> bytes:
    """What the hidden cases of a student are drawn from: unknown without the secret, the same in a regrade."""
    return hmac.digest(exam.secret, f"{student}/{exam.bank.name}/{task}".encode(), "sha256")


@contextmanager
def _sitting(student: str, exam: Exam, room: Room) -> Iterator[_Sitting]:
    sitting = _Sitting(student, exam, room)
    try:
        yield sitting
    finally:
        sitting.leave()


class _Sitting:
    """One submission on its way through its notebook, from seat to seat where one is lost."""

    def __init__(self, student: str, exam: Exam, room: Room) -> None:
        self.student, self.exam, self.room = student, exam, room
        self.deadline = time.monotonic() + exam.limits.notebook
        self.ran: list[str] = []
        self.count = 0
        self.limits_hit: list[str] = []
        self._stack = ExitStack()
        self._seat: Seat | None = None

    def leave(self) -> None:
        self._stack.close()
        self._seat = None

    def answer(self, cell: Any) -> tuple[list[Any], int]:
        """The outputs of a cell, be it the student's or a graded one."""
        metadata = cell.metadata.get("nbgrader", {})
        self.count += 1
        if metadata.get("grade") and not metadata.get("solution"):
            verdict = self._judge(self.exam.bank.task(metadata["grade_id"]))
            text = report(verdict, self.exam.language, hidden=True)
            return _graded_outputs(text, verdict.points, self.count), self.count
        return self._run(cell.source), self.count

    def _run(self, source: str) -> list[Any]:
        try:
            cell = self._seated().run(source, seconds=self._seconds(self.exam.limits.cell))
        except (TooLong, Ended) as loss:
            self.leave()
            return [_error_output(self._say(loss, self.exam.limits.cell, f"[{self.count}]"))]
        self.ran.append(source)
        return _outputs(cell, self.count)

    def _judge(self, task: Task) -> Verdict:
        seed = seed_of(self.exam, self.student, task.name)
        cases = draw_cases(task, seed, rounds=ROUNDS, named=False)
        outcomes = self._outcomes(task.name, cases)
        verdict = decide(cases, outcomes)
        if verdict.points == task.points:
            return verdict
        return decide(draw_cases(task, seed, rounds=ROUNDS), outcomes)

    def _outcomes(self, name: str, cases: TaskCases) -> list[Outcome]:
        """What each case gives; after a call that does not come back, the rest of the task is lost."""
        outcomes: list[Outcome] = []
        for case in cases.cases:
            try:
                outcomes.append(self._call(name, cases.required, case))
            except (TooLong, Ended) as loss:
                self.leave()
                lost = Outcome(error=self._say(loss, self.exam.limits.call, name))
                return outcomes + [lost] * (len(cases.cases) - len(outcomes))
        return outcomes

    def _call(self, name: str, required: Sequence[str], case: Case) -> Outcome:
        seconds = self._seconds(self.exam.limits.call)
        return self._seated().call(name, required, case.inputs, seconds=seconds)

    def _seated(self) -> Seat:
        """The seat, or a fresh one in which what ran before has run again."""
        if self._seat is None:
            seat = self._stack.enter_context(self.room.seat())
            seat.put(self.exam.files)
            for source in self.ran:
                seat.run(source, seconds=self._seconds(self.exam.limits.cell))
            self._seat = seat
        return self._seat

    def _seconds(self, most: float) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TooLong("the notebook's time is used up")
        return min(most, left)

    def _say(self, loss: Exception, seconds: float, where: str) -> str:
        """The loss in words, which are kept for whoever grades: `where` is a cell's number or a task."""
        words = _END_IN[self.exam.language]
        said = words["late"].format(seconds=seconds) if isinstance(loss, TooLong) else words["ended"]
        self.limits_hit.append(f"{where}: {said}")
        return said


def _graded_outputs(text: str, points: float, count: int) -> list[Any]:
    """What stock nbgrader's run of the hidden cell would leave: the report, then the points as the cell's value."""
    return [
        new_output("stream", name="stdout", text=text + "\n"),
        new_output("execute_result", data={"text/plain": repr(points)}, execution_count=count),
    ]


def _error_output(words: str) -> Any:
    return new_output("error", ename="Stopped", evalue=words, traceback=[words])


def _outputs(cell: Cell, count: int) -> list[Any]:
    """The outputs of a student's cell that have nbformat's form; whatever else came is left out."""
    return [made for output in cell.outputs if (made := _checked(output, count)) is not None]


def _checked(output: Any, count: int) -> Any | None:
    if not isinstance(output, dict):
        return None
    kind = output.get("output_type")
    if kind == "stream" and output.get("name") in ("stdout", "stderr"):
        return new_output("stream", name=output["name"], text=str(output.get("text", "")))
    if kind == "error":
        traceback = output.get("traceback")
        lines = [str(line) for line in traceback] if isinstance(traceback, list) else []
        return new_output(
            "error", ename=str(output.get("ename", "")), evalue=str(output.get("evalue", "")), traceback=lines
        )
    if kind not in ("display_data", "execute_result") or not isinstance(output.get("data"), dict):
        return None
    data = {str(key): str(value) for key, value in output["data"].items() if key in _SHOWN}
    if not data:
        return None
    return new_output(kind, data=data, **({"execution_count": count} if kind == "execute_result" else {}))


# What the feedback shows of a student's displays: text and pictures that can't run or load anything.
_SHOWN = ("text/plain", "image/png", "image/jpeg")
