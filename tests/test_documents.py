"""What README, CONTRIBUTING, SECURITY, PLAN and the guides name is there: files, folders, commands, targets of make."""

from __future__ import annotations

import ast
import re
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
import typer

from course_lib import cli

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "PLAN.md"]
PAGES = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "book").glob("*/*.md"))]
PLACEHOLDER = re.compile(r"[A-Z]{2,}|psN|[{}]")  # tests/test_MODULE.py


def quoted_in(name: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", (ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_names_files_that_are_there(name: str) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = listed.splitlines()
    folders = {path.split("/")[0] for path in tracked if "/" in path}
    said = [piece.strip("/") for piece in quoted_in(name) if piece.split("/")[0] in folders]
    unknown = [
        piece
        for piece in said
        if not PLACEHOLDER.search(piece)
        and not any(fnmatch(path, piece) or path.startswith(f"{piece}/") for path in tracked)
    ]
    assert unknown == []


@pytest.mark.parametrize("name", [*DOCUMENTS, *PAGES])
def test_document_names_commands_and_targets_that_are_there(name: str) -> None:
    commands = set(typer.main.get_command(cli.app).commands)  # type: ignore[attr-defined]
    [phony] = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    for piece in quoted_in(name):
        assert set(re.findall(r"\bcourse ([a-z][a-z-]*)", piece)) <= commands, piece
        assert set(re.findall(r"^make ([a-z][a-z-]*)", piece)) <= {*phony.split()}, piece


@cache
def constants() -> set[object]:
    """The texts in what keeps state."""
    paths = [
        path
        for part in ("grading", "people", "release")
        for path in (ROOT / "course_lib" / part).rglob("*.py")
    ]
    sources = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    return {node.value for tree in sources for node in ast.walk(tree) if isinstance(node, ast.Constant)}


@pytest.mark.parametrize("name", [*DOCUMENTS, *PAGES])
def test_document_names_state_that_commands_keep(name: str) -> None:
    named = re.findall(r"\.course/([\w.-]+)", (ROOT / name).read_text(encoding="utf-8"))
    assert set(named) <= constants()


def test_the_example_of_the_readme_gives_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S
    )
    [(call, said)] = re.findall(r"^(\w.*)  # (array.*)$", code, re.M)
    names: dict[str, object] = {}
    exec(code, names)
    assert repr(eval(call, names)) == said
    assert capsys.readouterr().out.count("\n\n") == 3  # four steps


def test_no_test_asserts_how_long_something_takes() -> None:
    """A machine may be slow or busy: only a limit that the thing itself has may stand there, or processor time."""
    clock = re.compile(r"assert .*\b(?:monotonic|perf_counter|time\.time)\(\) - \w+ < [\d.]+")
    found = {
        path.name: clock.findall(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").glob("*.py")
    }
    assert {name: lines for name, lines in found.items() if lines} == {}
