"""Whatever the project imports is in the lock file: a package that lies in one machine's .venv alone is noticed."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = {"course_lib", "book", "torch"}  # torch is not in the lock file: its build is the machine's
FOLDERS = ("course_lib", "book", "tests", "solutions", "benchmarks", "scripts")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """The top-level names of all imports in a file, wherever in it they stand."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("folder", FOLDERS)
def test_lock_file_has_every_package_that_is_imported(folder: str) -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = {normal(name) for name in re.findall(r"^([\w.-]+)==", lock, re.M)}
    beside = {path.stem for path in FILES} | {path.parent.name for path in FILES}
    names = {name for path in FILES if path.is_relative_to(ROOT / folder) for name in imported(path)}
    names -= OURS | beside | set(sys.stdlib_module_names)
    packages = packages_distributions()
    missing = [name for name in names if not locked & {normal(p) for p in packages.get(name, [name])}]
    assert sorted(missing) == []
