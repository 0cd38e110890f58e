"""Holds a student's function against cases, and names the mistake that it makes.

A case is data, never code: inputs, and what the right answer and each named mistake give for them. The same
comparison serves the check in the notebook (`load`) and the hidden one at grading.
"""

from course_lib.checks.calling import ForbiddenCall, TooMuchMemory, call
from course_lib.checks.case_file import read_cases, save_cases
from course_lib.checks.cases import (
    NOT_CALLABLE,
    NOT_DEFINED,
    PLAIN,
    RETURNED,
    Case,
    Function,
    Inputs,
    Outcome,
    PartInfo,
    TaskCases,
    Text,
    Way,
    way_of,
)
from course_lib.checks.checker import Checker, NotInPlace, load
from course_lib.checks.judging import PartVerdict, Verdict, agree, beginning_of, decide, judge
from course_lib.checks.wording import report

__all__ = [
    "NOT_CALLABLE",
    "NOT_DEFINED",
    "PLAIN",
    "RETURNED",
    "Case",
    "Checker",
    "ForbiddenCall",
    "Function",
    "Inputs",
    "NotInPlace",
    "Outcome",
    "PartInfo",
    "PartVerdict",
    "TaskCases",
    "Text",
    "TooMuchMemory",
    "Verdict",
    "Way",
    "agree",
    "beginning_of",
    "call",
    "decide",
    "judge",
    "load",
    "read_cases",
    "report",
    "save_cases",
    "way_of",
]
