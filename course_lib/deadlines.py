"""When problem sets are due, for whom later, and what lateness costs: the dates of `course.toml`, as instants."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

_UNITS = {"minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
_LATE_KEYS = ("penalty", "grace", "cut_off")


@dataclass(frozen=True)
class LatePolicy:
    """What lateness costs. Up to `grace` nothing, after `cut_off` everything, between them `amount` a begun `unit`."""

    amount: float = 0.0
    is_share: bool = True  # of the score; else points
    unit: timedelta = timedelta(days=1)
    grace: timedelta = timedelta(0)
    cut_off: timedelta | None = None

    def penalty(self, score: float, late: timedelta) -> float:
        """The points taken from a score that came `late` after its date, 0 to the whole score."""
        if late <= self.grace:
            return 0.0
        if self.cut_off is not None and late > self.cut_off:
            return score
        begun = math.ceil(late / self.unit)
        return min(score, begun * (self.amount * score if self.is_share else self.amount))


@dataclass(frozen=True)
class Deadlines:
    """The instants at which problem sets are due (UTC), those of single students, and the policy on lateness."""

    due: Mapping[str, datetime] = field(default_factory=dict)
    extended: Mapping[str, Mapping[str, datetime]] = field(default_factory=dict)  # problem set, student
    policy: LatePolicy | None = None
    # Before it, nothing can have been handed in.
    released: Mapping[str, datetime] = field(default_factory=dict)

    def due_for(self, problem_set: str, student: str) -> datetime | None:
        """When a problem set is due for a student; None where no date is set."""
        return self.extended.get(problem_set, {}).get(student, self.due.get(problem_set))

    def extensions(self, problem_set: str) -> dict[str, timedelta]:
        """By how much later it is due for single students."""
        due = self.due.get(problem_set)
        return (
            {} if due is None else {who: at - due for who, at in self.extended.get(problem_set, {}).items()}
        )


def read_deadlines(settings: Mapping[str, Any], zone: str | None) -> Deadlines:
    """What course.toml says of dates: released, due, late, extensions. ValueError: what is wrong, where, what to do."""
    released, due = (
        {name: instant(value, zone, f"{table}.{name}") for name, value in _table(settings, table).items()}
        for table in ("released", "due")
    )
    for name in released.keys() & due.keys():
        if released[name] > due[name]:
            raise ValueError(f"released.{name} is later than due.{name}. Correct one of them.")
    extended: dict[str, dict[str, datetime]] = {}
    for student, dates in _table(settings, "extensions").items():
        if not isinstance(dates, dict):
            raise ValueError(
                f'extensions."{student}" must name problem sets, such as {{ ps1 = "3 days" }}, not {dates!r}.'
            )
        for name, value in dates.items():
            where = f'extensions."{student}".{name}'
            extended.setdefault(name, {})[student] = _extended(where, value, due.get(name), name, zone)
    return Deadlines(due, extended, _policy(_table(settings, "late")), released)


def instant(value: Any, zone: str | None, where: str = "the time") -> datetime:
    """The instant (UTC) that "2027-03-31 23:59" means in a time zone; ValueError where it means none, or two."""
    when = value
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value.strip())
        except ValueError:
            when = None
        if when is not None and not re.search(r"\d[ T]\d\d", value):
            when = None  # a day alone says no time
    if not isinstance(when, datetime):
        raise ValueError(f"{where} must be a day and a time such as 2027-03-31T23:59:00, not {str(value)!r}.")
    if when.tzinfo is not None:
        return when.astimezone(UTC)
    if zone is None:
        raise ValueError(
            f"{where} has no time zone. Set time_zone, for example to 'Asia/Seoul', or write the time as {when}+09:00."
        )
    return _in_zone(where, when, ZoneInfo(zone))


def _table(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = settings.get(name, {})
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be a table [{name}], not {value!r}.")
    return value


def _extended(where: str, value: Any, due: datetime | None, name: str, zone: str | None) -> datetime:
    if due is None:
        raise ValueError(f"{where} extends {name}, which has no date. Set due.{name} first.")
    if isinstance(value, str) and re.match(r"\s*\d+\s*[a-z]", value):
        return due + _duration(where, value)
    at = instant(value, zone, where)
    if at < due:
        raise ValueError(f"{where} is earlier than due.{name}. Give a later time, or such as '3 days'.")
    return at


def _in_zone(where: str, when: datetime, zone: ZoneInfo) -> datetime:
    """A wall clock's time as an instant; where clocks are moved, a time may not exist, or exist twice."""
    first, second = (when.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first.astimezone(zone).replace(tzinfo=None) != when:
        raise ValueError(
            f"{where}: {when} does not exist in {zone.key}, where clocks are put forward. Take another."
        )
    if first != second:
        raise ValueError(
            f"{where}: {when} comes twice in {zone.key}, where clocks are put back. Write the offset from UTC, too."
        )
    return first


def _duration(where: str, value: Any) -> timedelta:
    match = re.fullmatch(r"\s*(\d+)\s*(minute|hour|day|week)s?\s*", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f"{where} must be a time such as '15 minutes', '2 hours' or '3 days', not {value!r}."
        )
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])


def _policy(late: Mapping[str, Any]) -> LatePolicy | None:
    for key in late:
        if key not in _LATE_KEYS:
            raise ValueError(f"late.{key} is unknown. Use one of: {', '.join(_LATE_KEYS)}.")
    if not late:
        return None
    amount, is_share, unit = _penalty(late.get("penalty", "none"))
    grace = _duration("late.grace", late["grace"]) if "grace" in late else timedelta(0)
    cut_off = _duration("late.cut_off", late["cut_off"]) if "cut_off" in late else None
    if cut_off is not None and cut_off < grace:
        raise ValueError("late.cut_off is shorter than late.grace. Make it longer, or take one out.")
    return LatePolicy(amount, is_share, unit, grace, cut_off)


def _penalty(value: Any) -> tuple[float, bool, timedelta]:
    if value == "none":
        return 0.0, True, timedelta(days=1)
    pattern = r"\s*(\d+(?:\.\d+)?)\s*(%|points?)\s+(?:a|per)\s+(hour|day)\s*"
    match = re.fullmatch(pattern, value) if isinstance(value, str) else None
    if match is None or (match[2] == "%" and float(match[1]) > 100):
        raise ValueError(
            "late.penalty must be 'none' or such as '10% per day', '1% per hour' or '2 points per day', "
            f"not {value!r}."
        )
    is_share = match[2] == "%"
    amount = float(match[1]) / (100 if is_share else 1)
    return amount, is_share, timedelta(seconds=_UNITS[match[3]])
