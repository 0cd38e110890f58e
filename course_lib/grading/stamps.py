"""Whether it is known when something came: whoever writes a submission's folder can write its timestamp.txt, too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from course_lib.deadlines import Deadlines
from course_lib.grading.intake import HandedIn, instant_of

CLOCKS = timedelta(minutes=10)  # by which clocks may differ
LONGEST = timedelta(days=366)  # no set is out for longer


def doubt(handed_in: HandedIn, problem_set: str, student: str, deadlines: Deadlines, now: datetime) -> str:
    """What speaks against the time that a submission gives itself, as part of a sentence; empty where nothing does.

    `now` is an instant. The penalty for lateness goes by that time all the same, as in nbgrader: a person decides.
    """
    due = deadlines.due_for(problem_set, student)
    naive = instant_of(handed_in.timestamp)
    if naive is None:
        return "no time stamp says when it came" if due is not None and now > due else ""
    said = naive.replace(tzinfo=UTC)
    released, changed = deadlines.released.get(problem_set), handed_in.changed
    against = ""
    if said > now + CLOCKS:
        against = "is in the future"
    elif released is not None and said < released - CLOCKS:
        against = f"is before the set was released ({_utc(released)})"
    elif said < (due or now) - LONGEST:
        against = "is more than a year before it was due" if due else "is more than a year ago"
    elif due is not None and changed is not None and said <= due < changed - CLOCKS:
        against = f"is in time, but the notebook was changed after that ({_utc(changed)})"
    return f"its time stamp, {_utc(said)}, {against}" if against else ""


def _utc(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
