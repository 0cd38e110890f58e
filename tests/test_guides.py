"""The guides for instructors, followed literally: every block of commands, in order, in a fresh copy of the repository.

What a guide asks a reader to change is a block, too: `diff` names the file and shows its lines, and `python` takes the
place of what `course new-task --add` wrote.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from course_lib import cli
from course_lib.course import find_course
from course_lib.release.demo import write_class
from course_lib.release.notebooks import release

ROOT = Path(__file__).parents[1]
GUIDES = ("teaching", "term", "settings", "new-task", "trouble")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
# What a test does not run, and why.
LEFT_OUT = {
    "make": "sets up an environment and builds the book; the tests run in what it has made",
    ". .venv/bin/activate": "the same",
    "jupyter lab": "waits for a person; tests/test_formgrader.py marks by hand in a browser",
    "course release --term": "takes minutes; tests/test_bundle.py makes bundles",
    "course release --verify": "there is no bundle without it",
}


@dataclass(frozen=True)
class Block:
    language: str
    text: str


def blocks_of(language: str, guide: str) -> list[Block]:
    text = (ROOT / "book" / language / f"{guide}.md").read_text(encoding="utf-8")
    return [Block(*match.groups()) for match in BLOCK.finditer(text)]


@pytest.mark.parametrize("guide", GUIDES)
def test_guide_has_the_same_blocks_in_both_languages(guide: str) -> None:
    korean, english = blocks_of("ko", guide), blocks_of("en", guide)
    assert [block.language for block in english] == [block.language for block in korean]
    assert {block.language for block in english} <= {"sh", "diff", "python"}
    for ours, theirs in zip(korean, english, strict=True):
        assert without_comments(theirs).replace('language = "en"', 'language = "ko"') == without_comments(
            ours
        )


def without_comments(block: Block) -> str:
    """What a block of commands says beside them is in the reader's language."""
    return re.sub(r"(?<=\S) +# .*", "", block.text) if block.language == "sh" else block.text


def commands_of(text: str) -> list[list[str]]:
    """The calls of `course` in a block of commands."""
    lines = re.sub(r"<<'END'.*?^END$", "", text, flags=re.M | re.S).splitlines()
    calls = [part.strip() for line in lines for part in re.split(r"\|\||&&|#", line)]
    return [call.split()[1:] for call in calls if call.startswith("course ")]


@pytest.mark.parametrize("guide", GUIDES)
def test_guide_calls_commands_that_are_there(guide: str) -> None:
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    text = (ROOT / "book" / "en" / f"{guide}.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`course ([a-z][a-z-]*)", text)) <= set(commands)
    calls = [
        call for block in blocks_of("en", guide) if block.language == "sh" for call in commands_of(block.text)
    ]
    assert calls
    for name, *arguments in calls:
        commands[name].make_context(name, arguments)  # refuses what it does not know, and wants what it needs


@pytest.mark.parametrize("guide", GUIDES)
def test_guide_changes_lines_that_are_there(guide: str) -> None:
    for block in blocks_of("en", guide):
        for old, _ in hunks_of(block.text) if block.language == "diff" else ():
            text = (ROOT / name_of(block.text)).read_text(encoding="utf-8")
            assert "TODO" in old or text.count(old) == 1, old  # a scaffold comes by `course new-task`


@pytest.mark.parametrize("language", ["ko", "en"])
def test_trouble_quotes_what_commands_say(language: str) -> None:
    sources = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "course_lib").rglob("*.py")]
    said = [node.value for tree in sources for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = "\n".join(text for text in said if isinstance(text, str))
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "book" / language / "trouble.md").read_text("utf-8"), re.M)
    quoted = [piece for row in rows for text in re.findall(r"`(.*?)`", row) for piece in text.split("...")]
    assert len(quoted) > 20
    assert [piece for piece in quoted if piece.strip() not in texts] == []


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what version control has, released, with the made-up class that `make` leaves."""
    folder = tmp_path_factory.mktemp("guides") / "fresh"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    course = find_course(folder)
    release(course, "ps1")
    write_class(course, "ps1")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("guide", GUIDES)
def test_guide_can_be_followed_literally(guide: str, fresh: Path, tmp_path: Path) -> None:
    course = tmp_path / "course"
    shutil.copytree(fresh, course)
    for block in blocks_of("en", guide):
        if block.language == "sh":
            run(block.text, course)
        elif block.language == "diff":
            apply(block.text, course)
        else:
            fill_in(block.text, course)


def run(text: str, course: Path) -> str:
    """Runs a block of commands as a reader's shell does, and stops at the first that fails."""
    lines = [line for line in text.splitlines() if not line.startswith(tuple(LEFT_OUT))]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {key: value for key, value in os.environ.items() if key != "COURSE_ROOT"}
    done = subprocess.run(
        ["bash", "-euc", "\n".join(lines)],
        cwd=course,
        env=environment | {"PATH": path, "PYTHONPATH": str(course)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout[-3000:]}"
    assert "Traceback" not in done.stdout
    return done.stdout


def apply(text: str, course: Path) -> None:
    """Exchanges the lines of a diff, which stand in its file just once."""
    path = course / name_of(text)
    for old, new in hunks_of(text):
        source = path.read_text(encoding="utf-8")
        assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {path}"
        path.write_text(source.replace(old, new), encoding="utf-8")


def name_of(diff: str) -> str:
    old, new = (line.split()[1] for line in diff.splitlines()[:2])
    assert old == new
    return new


def hunks_of(diff: str) -> list[tuple[str, str]]:
    """What each hunk takes away, and what it puts there."""
    lines = diff.splitlines(keepends=True)[2:]
    hunks = [hunk.splitlines(keepends=True) for hunk in "".join(lines).split("@@\n") if hunk]
    return [
        (
            "".join(line[1:] for line in hunk if line[0] in " -"),
            "".join(line[1:] for line in hunk if line[0] in " +"),
        )
        for hunk in hunks
    ]


def fill_in(text: str, course: Path) -> None:
    """Puts a task into the place of the scaffold with the same beginning."""
    begin = text.splitlines()[0]
    [path] = [
        path for path in course.glob("solutions/*/tasks.py") if begin in path.read_text(encoding="utf-8")
    ]
    before, _, after = path.read_text(encoding="utf-8").partition(begin)
    path.write_text(f"{before}{text}{after[after.index('BANK = ') :]}", encoding="utf-8")
