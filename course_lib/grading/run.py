"""Grading a class: take in, examine in workers, record, report. One bad submission never stops the others."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Any

from course_lib.course import Course, CourseError
from course_lib.grading.class_run import DaskWorkers, LocalWorkers, Workers, examine_all
from course_lib.grading.gradebook import is_registered
from course_lib.grading.intake import (
    HandedIn,
    Missing,
    Submission,
    choose,
    collect,
    is_of_a_student,
    opened,
    refusal,
    submissions_in,
)
from course_lib.grading.notebook import packed, read_notebook
from course_lib.grading.receipts import stamp
from course_lib.grading.recorder import Entry, Recorder, Result
from course_lib.grading.report import Item, Report, Status, StudentReport
from course_lib.grading.stamps import doubt
from course_lib.grading.worker import Examined, NoRoom, OtherLibrary, Paper, Unit, paper_of
from course_lib.grading.workspace import Workspace, open_workspace, register

# Students in one transaction, and the seconds after which fewer are written: what a killed run has to do again.
BATCH = 50
BATCH_SECONDS = 10.0

_SAY = {
    "ko": {"waits": "사람이 채점할 차례입니다.", "marked": "사람이 채점했습니다.", "empty": "답이 없습니다."},
    "en": {"waits": "Waits for a person's mark.", "marked": "Marked by a person.", "empty": "No answer."},
}

_STANDS = "the marks are those of what was handed in before"

Progress = Callable[[int, int, int], None]  # done, total, failures


class WallsMissing(CourseError):
    """Nothing confines students' code here, so it was not run."""


def silent(done: int, total: int, failures: int) -> None:
    """No progress is shown."""


def grade(
    course: Course,
    problem_set: str,
    submitted: Path,
    workspace: Path,
    *,
    again: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    walls: bool = True,
    progress: Progress = silent,
) -> Report:
    """Grades `submitted`/STUDENT/PROBLEM_SET/*.ipynb in a workspace.

    Submissions are examined by `jobs` processes (one a core by default), or by the Dask cluster of `scheduler`.
    Without `walls` students' code runs as whoever grades. What was graded before is not examined again while
    submission, release and library stay as they were, except with `again`; what people marked stays in any case.
    CourseError where there is nothing to grade, or no way to.
    """
    course.require_problem_set(problem_set)
    place = open_workspace(course, workspace)
    released = _released(place, problem_set)
    submissions = submissions_in(submitted, problem_set)
    paper = paper_of(course, problem_set, walls=walls)
    with _alone_in(place), ExitStack() as stack:
        local = None
        new = _ungraded(place, problem_set, submissions)
        if not scheduler and 2 * new > len(submissions):  # else there may be nothing to examine
            local = stack.enter_context(closing(LocalWorkers(paper, jobs)))
            local.start(new)
        if not is_registered(place, problem_set, released):
            register(place, problem_set)
        with Recorder(place, problem_set, released) as recorder:
            run = _Run(place, problem_set, released, recorder, paper, again)
            workers = (
                (lambda: DaskWorkers(paper, scheduler))
                if scheduler
                else (lambda: local or LocalWorkers(paper, jobs))
            )
            students = run.grade(submissions, workers, progress)
    return Report(problem_set, tuple(students), walls=walls)


def _ungraded(workspace: Workspace, problem_set: str, submissions: list[Submission]) -> int:
    """How many seem to have handed in something that was not graded yet."""
    return sum(
        any((folder / problem_set).glob("*.ipynb"))
        and not workspace.notebook("autograded", problem_set, student.student).is_file()
        for student in submissions
        for folder in student.folders[:1]
    )


@dataclass(frozen=True)
class _Taken:
    """A submission that was taken in and waits for its examination."""

    handed_in: HandedIn
    digest: str
    answers: dict[str, bool]
    before: Entry | None


class _Run:
    """What the submissions of one run have in common."""

    def __init__(
        self,
        workspace: Workspace,
        problem_set: str,
        released: Any,
        recorder: Recorder,
        paper: Paper,
        again: bool,
    ) -> None:
        self.workspace = workspace
        self.problem_set = problem_set
        self.released = released
        self.recorder = recorder
        self.paper = paper
        self.again = again
        self.surroundings = _digest_of_surroundings(workspace, problem_set, paper)
        self.items = _graded_items(released)
        self.reports: dict[str, StudentReport] = {}
        self.doubts: dict[str, str] = {}
        self.now = datetime.now(UTC)
        self.under_way: dict[str, _Taken] = {}
        self.finished: list[Examined] = []

    def grade(
        self, submissions: list[Submission], workers: Callable[[], Workers], progress: Progress
    ) -> list[StudentReport]:
        """The report of every student, in the order of submissions."""
        units = self._units(submissions)
        first = next(units, None)
        since, failures = monotonic(), 0
        if first is not None:  # else no worker is started
            with closing(examine_all(chain([first], units), workers())) as results:
                for examined in _or_refuse(results):
                    self.finished.append(examined)
                    failures += bool(examined.failure)
                    if len(self.finished) >= BATCH or monotonic() - since > BATCH_SECONDS:
                        self._record()
                        since = monotonic()
                    progress(len(self.reports) + len(self.finished), len(submissions), failures)
        self._record()
        progress(len(submissions), len(submissions), failures)
        penalties = self.recorder.penalties()
        return [
            replace(self.reports[one.student], penalty=penalties.get(one.student, 0.0)) for one in submissions
        ]

    def _units(self, submissions: list[Submission]) -> Iterator[Unit]:
        """What has to be examined; whoever needs no examination is reported on the way."""
        waiting = iter(submissions)
        while batch := list(islice(waiting, BATCH)):
            known = self.recorder.known([submission.student for submission in batch])
            standing: dict[str, str | None] = {}
            refused: dict[str, tuple[Status, str]] = {}
            for submission in batch:
                student, unit = submission.student, None
                try:
                    handed_in = self._choose(submission)
                    entry = known.get(student)
                    if entry is not None and self._stands(student, entry, handed_in):
                        standing[student] = handed_in.timestamp
                        self.reports[student] = self._report(student, entry)
                    else:
                        unit = self._take_in(student, handed_in, entry)
                except Exception as reason:
                    refused[student] = _refusal(reason)
                if unit is not None:
                    yield unit
            self._refuse(refused, known, batch)
            standing |= dict.fromkeys(refused.keys() & known.keys())
            if standing:
                self.recorder.refresh(standing)

    def _choose(self, submission: Submission) -> HandedIn:
        collected = collect(submission, self.problem_set, self.workspace.submitted)
        handed_in = choose(collected, self.problem_set, self.released)
        receipt = self.recorder.receipts.get(submission.student)
        if receipt is None:
            deadlines = self.workspace.course.deadlines
            self.doubts[submission.student] = doubt(
                handed_in, self.problem_set, submission.student, deadlines, self.now
            )
            return handed_in
        stamp(self.workspace.submitted / submission.student / self.problem_set, receipt.line)
        return replace(handed_in, timestamp=receipt.line)

    def _take_in(self, student: str, handed_in: HandedIn, before: Entry | None) -> Unit:
        handed_in, notebook = opened(handed_in, self.released)
        notebook.metadata = self.released.metadata  # its kernel is the course's, whatever was named
        self.under_way[student] = _Taken(handed_in, _digest(handed_in), self._answers(notebook), before)
        return Unit(student, packed(notebook), self.paper.digest)

    def _answers(self, notebook: Any) -> dict[str, bool]:
        """The cells with an answer, by id: whether the answer is what was released."""
        stubs = {cell.metadata.nbgrader.grade_id: cell.source for cell in _marked(self.released)}
        return {
            name: cell.source == stubs[name]
            for cell in _marked(notebook)
            if cell.metadata.nbgrader.get("solution") and (name := cell.metadata.nbgrader.grade_id) in stubs
        }

    def _stands(self, student: str, entry: Entry, handed_in: HandedIn) -> bool:
        """Whether the marks in the gradebook are those of this very submission. What failed is tried again."""
        return (
            not self.again
            and not entry.failure
            and (entry.submission, entry.surroundings) == (_digest(handed_in), self.surroundings)
            and self.recorder.has_notebook(student)
        )

    def _record(self) -> None:
        """Writes what is finished, all of it or nothing."""
        taken = {examined.student: self.under_way[examined.student] for examined in self.finished}
        entries = self.recorder.record(
            Result(
                student=examined.student,
                submission=taken[examined.student].digest,
                surroundings=self.surroundings,
                timestamp=taken[examined.student].handed_in.timestamp,
                notebook=examined.notebook,
                verdicts=examined.verdicts,
                answers=taken[examined.student].answers,
                failure=examined.failure,
                note="; ".join(filter(None, [taken[examined.student].handed_in.note, examined.note])),
                exchange_key=taken[examined.student].handed_in.exchange_key,
            )
            for examined in self.finished
        )
        for student, entry in entries.items():
            self.reports[student] = self._report(student, entry, taken[student].before)
            del self.under_way[student]
        self.finished = []

    def _report(self, student: str, entry: Entry, before: Entry | None = None) -> StudentReport:
        items = []
        for name, points in self.items.items():
            score = entry.marks[name].final
            message = entry.failure or entry.messages.get(name, self._say(score))
            items.append(Item(name, score, points, message))
        note = entry.failure or entry.note
        report = StudentReport(student, "graded", tuple(items), note, time_stamp=self.doubts.get(student, ""))
        if entry.failure or report.waits:
            report = replace(report, status="failed" if entry.failure else "needs_marking")
        return report.after(_scores(before)) if before else report

    def _say(self, score: float | None) -> str:
        """The message of an answer in words."""
        return _SAY[self.workspace.course.language][
            "waits" if score is None else "marked" if score else "empty"
        ]

    def _refuse(
        self,
        refused: Mapping[str, tuple[Status, str]],
        known: Mapping[str, Entry],
        batch: Iterable[Submission],
    ) -> None:
        """Reports what can't be graded: what was graded before stands, marks by hand with it; else it is zero."""
        unknown = refused.keys() - known.keys()
        new = [
            one.student for one in batch if one.student in unknown and is_of_a_student(one, self.problem_set)
        ]
        if unknown:
            self.recorder.record_nothing(unknown, new=new)
        for student, (status, note) in refused.items():
            if student in unknown:
                items = tuple(Item(name, 0.0, points, note) for name, points in self.items.items())
                self.reports[student] = StudentReport(student, status, items, note)
            else:
                report = self._report(student, known[student])
                self.reports[student] = replace(report, status=status, note=f"{note}; {_STANDS}")


def _refusal(reason: Exception) -> tuple[Status, str]:
    """What the report says of a submission that can't be graded."""
    return "missing" if isinstance(reason, Missing) else "unreadable", refusal(reason)


def _released(workspace: Workspace, problem_set: str) -> Any:
    """The notebook as students got it; CourseError where there is none."""
    workspace.source(problem_set)
    return read_notebook(workspace.course.released(problem_set))


def _marked(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if "nbgrader" in cell.metadata]


def _graded_items(released: Any) -> dict[str, float]:
    """The points of every graded cell, by id."""
    cells = [cell.metadata.nbgrader for cell in _marked(released)]
    return {cell.grade_id: float(cell.points) for cell in cells if cell.grade}


def _scores(entry: Entry) -> dict[str, float | None]:
    return {name: mark.final for name, mark in entry.marks.items()}


def _or_refuse(results: Iterable[Examined]) -> Iterator[Examined]:
    """The results; CourseError where no room opens, so that no student pays for a machine without walls."""
    try:
        yield from results
    except OtherLibrary as error:
        raise CourseError(str(error)) from error
    except NoRoom as error:
        raise WallsMissing(
            f"{error} Students' code is not run without walls. See what is missing: course doctor. "
            "To run it all the same, with your files and rights in its reach: --without-walls"
        ) from error


@contextmanager
def _alone_in(workspace: Workspace) -> Iterator[None]:
    """Keeps a second run out of a workspace: there is one writer."""
    path = workspace.root / ".course" / "grading.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        if sys.platform != "win32":
            import fcntl

            try:
                # The lock ends with the process, however that ends.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise CourseError(
                    f"Another course grade is at work in {workspace.root}. Wait until it has finished."
                ) from error
        yield


def _digest(handed_in: HandedIn) -> str:
    return hashlib.sha256(handed_in.content).hexdigest()


def _digest_of_surroundings(workspace: Workspace, problem_set: str, paper: Paper) -> str:
    """A digest of all that marks depend on besides the submission: release, tasks, library, secret, versions."""
    released = workspace.course.released(problem_set)
    parts = [released.read_bytes(), paper.digest.encode(), platform.python_version().encode()]
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
