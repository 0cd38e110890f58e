"""Taking in the zip of an LMS: submitted/STUDENT/PROBLEM_SET/, when each came, and who is missing."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from course_lib.course import Course, CourseError
from course_lib.deadlines import instant
from course_lib.grading.gradebook import open_gradebook
from course_lib.grading.intake import MAX_NOTEBOOKS
from course_lib.grading.receipts import RECEIPT, Receipt, read_receipts, write_receipts
from course_lib.grading.workspace import open_workspace
from course_lib.people.archives import Member, Refused, read_archive
from course_lib.people.forget import remember
from course_lib.people.handed_in import Owner, owners, person_of
from course_lib.people.roster import Directory, complaint_of_id, people_in
from course_lib.people.times import Times, in_zone, read_times

Status = Literal["new", "replaced", "as before", "no notebook"]

DOWNLOAD = timedelta(minutes=10)  # a zip whose times lie closer together says when it was made
TAKEN_IN = "the time of taking in"
JUST_LATE = "Canvas's mark LATE, which does not say how late"
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.I)


@dataclass(frozen=True)
class Collected:
    """What was taken in of one student."""

    student: str
    status: Status
    received: datetime | None = None
    due: datetime | None = None
    file: str = ""
    known_by: str = ""
    note: str = ""

    @property
    def late(self) -> timedelta:
        """How long after the date it came; nothing where it was in time, or there is no date."""
        if self.received is None or self.due is None:
            return timedelta(0)
        return max(timedelta(0), self.received - self.due)


@dataclass(frozen=True)
class Collection:
    """What a zip held. `unmatched` and `refused` are pairs of a name and a reason."""

    assignment: str
    students: tuple[Collected, ...]
    missing: tuple[str, ...]  # of the class list, with nothing now or before
    unmatched: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, str], ...]

    def as_json(self) -> dict[str, Any]:
        """The same for other programs; instants in UTC."""
        return {
            "assignment": self.assignment,
            "students": [_as_json(one) for one in self.students],
            "missing": list(self.missing),
            "unmatched": [{"name": name, "reason": reason} for name, reason in self.unmatched],
            "refused": [{"name": name, "reason": reason} for name, reason in self.refused],
        }


def collect_zip(
    course: Course,
    problem_set: str,
    archive: Path,
    *,
    source: str | None = None,
    times: Path | None = None,
    received: str | None = None,
    now: datetime | None = None,
) -> Collection:
    """Takes in what an LMS's zip holds for a problem set.

    When each came is, in this order: what the list `times` says; `received`, for all; the zip's own times, where they
    differ; the time of taking in. What Canvas does not mark LATE came in time, whatever the last three say; what it
    marks LATE is a second late where nothing but the last says more. A submission that is the same as before keeps its
    time, unless that was a guess and now it is told, or an earlier one is.
    """
    course.require_problem_set(problem_set)
    remember(course, archive, times)
    place = open_workspace(course, course.root)
    with tempfile.TemporaryDirectory(dir=course.private) as scratch, open_gradebook(place) as gradebook:
        found = list(read_archive(archive, Path(scratch)))
        class_list = Directory(people_in(gradebook))
        known = read_receipts(gradebook, problem_set)
        taking = _Taking(course, problem_set, place.submitted, class_list, known, now or datetime.now(UTC))
        taking.times = read_times(times, class_list, course.time_zone) if times else Times({}, {})
        taking.received = _stated(received, course)
        members = [one for one in found if isinstance(one, Member)]
        taking.take(*owners(members, source, class_list))
        write_receipts(gradebook, problem_set, taking.receipts.values())
    there = {one.student for one in taking.done.values() if one.status != "no notebook"} | set(known)
    return Collection(
        problem_set,
        tuple(taking.done[student] for student in sorted(taking.done)),
        tuple(one.id for one in class_list.people if one.id not in there),
        tuple(taking.unmatched),
        tuple((one.name, one.reason) for one in found if isinstance(one, Refused)),
    )


@dataclass
class _Taking:
    """One zip, being taken in."""

    course: Course
    problem_set: str
    submitted: Path
    class_list: Directory
    known: dict[str, Receipt]
    now: datetime
    times: Times = field(default_factory=lambda: Times({}, {}))
    received: datetime | None = None
    receipts: dict[str, Receipt] = field(default_factory=dict)
    done: dict[str, Collected] = field(default_factory=dict)
    unmatched: list[tuple[str, str]] = field(default_factory=list)

    def take(self, found: list[Owner], strangers: list[str]) -> None:
        """Takes in what everybody handed in."""
        self.unmatched += [(name, "its name is none that Canvas or Moodle gives") for name in strangers]
        of_one: dict[str, tuple[list[Owner], str]] = {}
        for owner in found:
            person, why = person_of(owner, self.class_list, self.times.numbers)
            if person is None:
                self.unmatched.append((owner.called, why))
            elif complaint := complaint_of_id(person.id):
                self.unmatched.append((owner.called, f"this {complaint}"))
            else:
                of_one.setdefault(person.id, ([], why))[0].append(owner)
        self._told_by_zip = _differing_times(found)
        merged = {student: (_merged(several), why) for student, (several, why) in of_one.items()}
        self._require_times(merged)
        for student, (owner, why) in merged.items():
            self.done[student] = self._take_one(student, owner, why)

    def _take_one(self, student: str, owner: Owner, note: str) -> Collected:
        notebooks = dict(sorted(owner.notebooks().items())[:MAX_NOTEBOOKS])
        names = ", ".join(sorted({file.name for file in owner.files}))[:200]
        if not notebooks:
            return Collected(student, "no notebook", file=names, note="there is no notebook among what came")
        due = self.course.deadlines.due_for(self.problem_set, student)
        before, digest = self.known.get(student), _digest(notebooks.values())
        target = self.submitted / student / self.problem_set
        if before is not None and before.digest == digest:
            receipt = replace(self._same(before, owner, due), place=owner.place or before.place)
            status: Status = "as before"
        else:
            at, known_by = self._time(student, owner, due)
            receipt = Receipt(student, at, known_by, digest, names, owner.place)
            status = "new" if before is None else "replaced"
        if receipt.line != (before.line if before else "") or status != "as before" or not target.is_dir():
            _write(target, _safe_names(notebooks, self.problem_set), receipt.line)
        self.receipts[student] = receipt
        return Collected(student, status, receipt.received, due, names, receipt.known_by, note)

    def _same(self, before: Receipt, owner: Owner, due: datetime | None) -> Receipt:
        """The receipt of what came again: a guess gives way to what is told now, and a later time to an earlier one."""
        if self.received is None and before.student not in self.times.by_student:
            return before
        at, known_by = self._time(before.student, owner, due)
        told = before.known_by == JUST_LATE or at < before.received
        return replace(before, received=at, known_by=known_by) if told else before

    def _time(self, student: str, owner: Owner, due: datetime | None) -> tuple[datetime, str]:
        """When a submission came, and by what that is known."""
        if student in self.times.by_student:
            return self.times.by_student[student], "the list of times"
        at, known_by = (self.received, "--received") if self.received else (self.now, TAKEN_IN)
        if (
            self.received is None
            and self._told_by_zip
            and (told := [file.time for file in owner.files if file.time])
        ):
            at, known_by = min(self.now, in_zone(max(told), self.course.time_zone)), "the zip's own time"
        if owner.source == "canvas" and due is not None:
            if owner.late:
                return self._time_of_late(at, known_by, due)
            return min(at, due), "Canvas, which calls it in time" if at > due else known_by
        return at, known_by

    def _time_of_late(self, at: datetime, known_by: str, due: datetime) -> tuple[datetime, str]:
        """When something came that Canvas marked LATE: by Canvas's own date, which an extension here may not change."""
        usual = self.course.deadlines.due[self.problem_set]
        if due > usual:
            at = max(min(at, due), usual + timedelta(seconds=1))
            return at, "Canvas's mark LATE, within an extension: look there when it came"
        if known_by == TAKEN_IN:  # days after the date, perhaps: nobody pays for that
            return due + timedelta(seconds=1), JUST_LATE
        return max(at, due + timedelta(seconds=1)), f"Canvas's mark LATE, and {known_by}"

    def _require_times(self, merged: dict[str, tuple[Owner, str]]) -> None:
        """Moodle's zips say nothing of when; after the date nobody may be called late for that."""
        if self.received is not None or self._told_by_zip:
            return
        for student, (owner, _) in merged.items():
            due = self.course.deadlines.due_for(self.problem_set, student)
            before = self.known.get(student)
            if (
                owner.source == "moodle"
                and due is not None
                and self.now > due
                and student not in self.times.by_student
                and owner.notebooks()
                and not (before and before.digest == _digest(owner.notebooks().values()))
            ):
                raise CourseError(
                    f"{self.problem_set} is due already, and this zip does not say when {student} handed in. Give "
                    "Moodle's grading worksheet with --times, or one time for all with --received."
                )


def _stated(received: str | None, course: Course) -> datetime | None:
    try:
        return instant(received, course.time_zone, "--received") if received else None
    except ValueError as error:
        raise CourseError(str(error)) from error


def _differing_times(found: list[Owner]) -> bool:
    """Whether the zip's times are those of submissions, not of its making."""
    times = [file.time for owner in found for file in owner.files if file.time]
    return bool(times) and max(times) - min(times) > DOWNLOAD


def _merged(several: list[Owner]) -> Owner:
    """All that came from one student."""
    last = max(several, key=lambda owner: max((file.order for file in owner.files), default=(0, 0, 0)))
    files = [file for owner in several for file in owner.files]
    return replace(last, files=files, late=any(owner.late for owner in several))


def _digest(contents: Iterable[Path]) -> str:
    parts = sorted(hashlib.sha256(content.read_bytes()).digest() for content in contents)
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _safe_names(notebooks: dict[str, Path], problem_set: str) -> dict[str, Path]:
    """The notebooks under names that are files on every system."""
    named: dict[str, Path] = {}
    for name, content in notebooks.items():
        stem = re.sub(r"[^\w .()+-]", "_", name[: -len(".ipynb")]).strip(" .")[:80] or problem_set
        stem = f"_{stem}" if _DEVICES.match(stem) else stem
        while f"{stem}.ipynb".casefold() in {taken.casefold() for taken in named}:
            stem += "_"
        named[f"{stem}.ipynb"] = content
    return named


def _write(target: Path, notebooks: dict[str, Path], line: str) -> None:
    """Puts a submission in the place of an earlier one, all of it or nothing."""
    if target.parent.is_symlink() or target.is_symlink():
        raise CourseError(f"{target} is a link or lies behind one. Take it away and try again.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".collect-") as scratch:
        fresh = Path(scratch, "fresh")
        fresh.mkdir()
        for name, content in notebooks.items():
            shutil.copyfile(content, fresh / name)
        (fresh / RECEIPT).write_text(line, encoding="utf-8")
        if target.exists():
            os.replace(target, Path(scratch, "before"))
        os.replace(fresh, target)
        shutil.rmtree(Path(scratch, "before"), ignore_errors=True)


def _as_json(one: Collected) -> dict[str, Any]:
    return {
        "id": one.student,
        "status": one.status,
        "received": one.received.isoformat() if one.received else None,
        "due": one.due.isoformat() if one.due else None,
        "seconds_late": one.late.total_seconds(),
        "file": one.file,
        "known_by": one.known_by,
        "note": one.note,
    }
