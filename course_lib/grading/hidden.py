"""The one call of a hidden cell: `mark` draws fresh cases, prints the verdict, returns the points."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from course_lib.checks import Function, judge, report
from course_lib.course import find_course
from course_lib.grading.bank import hidden_cases, load_bank
from course_lib.grading.secret import secret_of


def mark(problem_set: str, task: str, function: Function) -> float:
    """The points of a student's function, as the last value of a graded cell: nbgrader takes it as partial credit.

    The cases are drawn from HMAC(secret of the course, student, task): nothing can be looked up, and a regrade
    draws the same. The student is the one whose folder the notebook lies in (autograded/STUDENT/psN/).
    """
    course = find_course()
    bank = load_bank(course.require_problem_set(problem_set))
    student = Path.cwd().parent.name
    cases = hidden_cases(bank, bank.task(task), student, secret_of(course), site=course.address("ko"))
    with contextlib.redirect_stdout(io.StringIO()):
        verdict = judge(cases, function)
    print(report(verdict, course.language, hidden=True))
    return float(verdict.points)
