"""Whose each file of an LMS's zip is, by how Canvas and Moodle name what they give."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from course_lib.people.archives import Member
from course_lib.people.roster import Directory, Person

Source = Literal["canvas", "moodle", "folders"]

# Canvas: lastnamefirst[_LATE]_USER_FILE_name.ipynb, where an anonymous one has anon_XXXXX for the user.
_CANVAS = re.compile(
    r"(?P<name>.*?)(?P<late>(?:^|_)LATE)?_?(?P<user>(?<=_)\d+|anon_[0-9A-Za-z]+)_(?P<file>\d{1,19})_(?P<rest>.+)",
    re.I,
)
# Moodle: a folder FULL NAME_NUMBER_assignsubmission_file (with an underscore at the end before 4.1), or that as the
# beginning of a file's name.
_MOODLE = re.compile(
    r"(?P<name>.*?)_(?P<user>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<rest>.*))?", re.I
)
# What Canvas, browsers and people add to the name of a file that comes again.
_AGAIN = re.compile(r"(?: ?\((\d{1,9})\)|-(\d{1,9})|[ _-]{1,3}copy(?: ?(\d{1,9}))?)(?=\.ipynb$)", re.I)


@dataclass(frozen=True)
class File:
    """A file that somebody handed in."""

    name: str
    content: Path | None
    time: datetime | None
    order: tuple[int, int, int]  # the newest is the greatest

    @property
    def plain_name(self) -> str:
        """The name without what was added because it came again."""
        return _AGAIN.sub("", self.name)


@dataclass
class Owner:
    """Somebody as the LMS calls them, and what came from them."""

    source: Source
    name: str
    number: str
    late: bool = False
    place: str = ""
    files: list[File] = field(default_factory=list)

    @property
    def called(self) -> str:
        return f"{self.name or 'somebody'} ({self.number})" if self.number else self.name

    def notebooks(self) -> dict[str, Path]:
        """Of each notebook the newest, by its plain name."""
        newest: dict[str, File] = {}
        for file in sorted(self.files, key=lambda file: file.order):
            if file.content is not None:
                newest[file.plain_name] = file
        return {name: file.content for name, file in newest.items() if file.content is not None}


def owners(
    members: Iterable[Member], source: str | None, class_list: Directory
) -> tuple[list[Owner], list[str]]:
    """Who handed in what; and the members of which nobody knows whose they are."""
    found: dict[tuple[str, str, str], Owner] = {}
    strangers = []
    for position, member in enumerate(members):
        named = _named(member, source, class_list)
        if named is None:
            strangers.append("/".join(member.parts))
            continue
        owner, name, upload = named
        kept = found.setdefault((owner.source, owner.number, owner.number or owner.name), owner)
        kept.late |= owner.late
        if not kept.place or upload > max((file.order[0] for file in kept.files), default=0):
            kept.place = owner.place
        again = _AGAIN.search(name)
        times = int(next(filter(None, again.groups()), "1")) if again else 0
        kept.files.append(File(name, member.content, member.time, (upload, times, position)))
    return list(found.values()), strangers


def person_of(owner: Owner, class_list: Directory, numbers: dict[str, Person]) -> tuple[Person | None, str]:
    """The one person that the LMS means; or none, and why."""
    known = numbers.get(owner.number)
    if known is None and owner.source == "canvas":
        known = class_list.by_number("ID", owner.number)
    if known is None and owner.source == "folders":
        known = class_list.by_id(owner.name)
    if known is not None:
        return known, ""
    if not class_list.people:
        return Person(owner.number or owner.name), "no class list was taken in: the id is the LMS's number"
    by_name = class_list.by_name(owner.name)
    if len(by_name) == 1:
        return by_name[0], ""
    if by_name:
        return None, f"{len(by_name)} students can have this name: {', '.join(one.id for one in by_name)}"
    return None, "nobody in the class list has this number or name"


def _named(member: Member, source: str | None, class_list: Directory) -> tuple[Owner, str, int] | None:
    """Whose a member is, the file's own name, and the LMS's number of the upload.

    The outermost name that says it counts: what lies within has been named by whoever handed it in.
    """
    for depth, part in enumerate(member.parts):
        last = depth == len(member.parts) - 1
        within = "" if last else member.parts[-1]
        if source is None and not last and (person := class_list.by_id(part)):
            return Owner("folders", person.id, ""), within, 0
        moodle = _MOODLE.fullmatch(part) if source in (None, "moodle") else None
        # Canvas names files: a folder may be called ps1_2027_1_spring.
        is_file = last or part.lower().endswith(".zip")
        canvas = _CANVAS.fullmatch(part) if is_file and source in (None, "canvas") else None
        if moodle and not (canvas and canvas.start("user") < moodle.start("user")):
            place = f"{moodle['name']}_{moodle['user']}_assignsubmission_file_"
            return (
                Owner("moodle", moodle["name"], moodle["user"], place=place),
                within or moodle["rest"] or part,
                0,
            )
        if canvas:
            place = part[: len(part) - len(canvas["rest"])]
            owner = Owner("canvas", canvas["name"], canvas["user"], bool(canvas["late"]), place)
            return owner, within or canvas["rest"], int(canvas["file"])
    return None
