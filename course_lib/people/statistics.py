"""What a lecturer wants to know of a problem set that was marked: how it went, which items, which mistakes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from course_lib.course import Course, CourseError
from course_lib.grading.bank import Bank, load_bank
from course_lib.grading.gradebook import gradebook_of
from course_lib.people.marks import ClassMarks, marks_in
from course_lib.people.roster import people_in

FEWEST = 5  # with fewer students a distribution shows single ones
FEWEST_TO_CORRELATE = 10


@dataclass(frozen=True)
class ItemStatistics:
    """One item over all whose mark is final. `discrimination` is its correlation with the points on the rest."""

    id: str
    points: float
    marked: int
    difficulty: float  # mean share of its points: 1 is easy
    full: float  # share of students with all its points
    discrimination: float | None


@dataclass(frozen=True)
class Mistake:
    """A named mistake, and how many made it."""

    item: str
    name: str
    hint: str
    count: int


@dataclass(frozen=True)
class Statistics:
    """A class and a problem set, without a name in it. `totals` are points before any late penalty, in order."""

    assignment: str
    most: float
    students: int  # in the class
    handed_in: int
    waiting: int
    totals: tuple[float, ...]
    items: tuple[ItemStatistics, ...]
    mistakes: tuple[Mistake, ...]

    def as_json(self) -> dict[str, Any]:
        """The same for other programs; the totals only where they show nobody."""
        return asdict(self) | {"totals": self.totals if len(self.totals) >= FEWEST else None}


def statistics_of(course: Course, problem_set: str) -> tuple[Statistics, ClassMarks]:
    """The statistics of a problem set, and the marks they are of; CourseError where nothing was graded."""
    bank = load_bank(course.require_problem_set(problem_set))
    with gradebook_of(course) as gradebook:
        people = people_in(gradebook)
        marks = marks_in(gradebook, course, problem_set)
        messages = _messages(gradebook, problem_set)
    if not marks.students:
        raise CourseError(f"Nobody was graded in {problem_set}. Run: course grade {problem_set}")
    done = [one for one in marks.students.values() if not one.waits]
    return Statistics(
        problem_set,
        marks.most,
        len(people),
        len(marks.students),
        len(marks.students) - len(done),
        tuple(sorted(one.before_penalty for one in done)),
        tuple(_item(marks, name) for name in marks.points),
        _mistakes(bank, messages, course.language),
    ), marks


def _item(marks: ClassMarks, name: str) -> ItemStatistics:
    known = [one for one in marks.students.values() if one.items[name] is not None]
    scores = np.array([one.items[name] or 0.0 for one in known])
    rest = np.array([one.before_penalty for one in known]) - scores
    points = marks.points[name] or 1.0
    if not known:
        return ItemStatistics(name, marks.points[name], 0, 0.0, 0.0, None)
    discrimination = None
    if len(known) >= FEWEST_TO_CORRELATE and np.ptp(scores) > 0 and np.ptp(rest) > 0:
        discrimination = float(np.corrcoef(scores, rest)[0, 1])
    share = scores / points
    return ItemStatistics(
        name, marks.points[name], len(known), float(share.mean()), float((share >= 1).mean()), discrimination
    )


def _mistakes(bank: Bank, messages: list[dict[str, str]], language: str) -> tuple[Mistake, ...]:
    """How often each named mistake was found, the most frequent first: its hint stands in the verdict.

    Of those as frequent the items take turns, so that a short list is not all of one item.
    """
    found: Counter[tuple[str, str, str]] = Counter()
    for said in messages:
        for task in bank.tasks:
            for mistake in task.mistakes:
                if any(hint in said.get(task.name, "") for hint in (mistake.hint.ko, mistake.hint.en)):
                    found[task.name, mistake.name, mistake.hint.in_language(language)] += 1
    items = [task.name for task in bank.tasks]
    turns: Counter[tuple[str, int]] = Counter()
    ordered = []
    for key, count in sorted(found.items()):
        turns[key[0], count] += 1
        ordered.append((-count, turns[key[0], count], items.index(key[0]), key))
    return tuple(Mistake(*key, -count) for count, _, _, key in sorted(ordered))


def _messages(gradebook: Any, problem_set: str) -> list[dict[str, str]]:
    """What the examiner said of each student's items, as the class run keeps it."""
    from sqlalchemy import inspect, text

    if not inspect(gradebook.engine).has_table("course_graded"):
        return []
    query = text("SELECT messages FROM course_graded WHERE problem_set = :name")
    return [json.loads(row.messages) for row in gradebook.db.execute(query, {"name": problem_set})]
