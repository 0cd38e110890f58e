"""The wheel beside an exercise: the same bytes each time, installable by pip alone, all that a student needs."""

from __future__ import annotations

import io
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import course_lib
from course_lib.release.wheel import WHEEL, put_wheel, wheel

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the wheel, without what it needs."""
    folder = tmp_path_factory.mktemp("exercise")
    put_wheel(folder)
    target = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--no-index", "--target"]
    subprocess.run([*pip, str(target), f"./{WHEEL}"], cwd=folder, check=True)
    return target


def test_wheel_gives_the_same_bytes_every_time() -> None:
    assert wheel() == wheel()


def test_wheel_installs_every_module_and_no_command(installed: Path) -> None:
    ours = {path.relative_to(ROOT): path.read_bytes() for path in (ROOT / "course_lib").rglob("*.py")}
    theirs = {path.relative_to(installed): path.read_bytes() for path in installed.glob("course_lib/**/*.py")}
    assert theirs == ours
    assert (installed / "course_lib" / "py.typed").is_file()
    assert not (installed / "bin").exists()


def test_wheel_serves_a_student_outside_the_checkout(installed: Path) -> None:
    code = "import course_lib, course_lib.checks, sys; course_lib.checks.load(sys.argv[1]); print(course_lib.__file__)"
    cases = ROOT / "exercises" / "en" / "ps1" / "cases.npz"
    command = [sys.executable, "-c", code, str(cases)]
    shown = subprocess.run(command, cwd=installed, check=True, capture_output=True, text=True).stdout
    assert shown.splitlines()[-1] == str(installed / "course_lib" / "__init__.py")


def test_wheel_names_version_and_needs_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == course_lib.__version__
    assert f"-{project['version']}-" in WHEEL
    with zipfile.ZipFile(io.BytesIO(wheel())) as archive:
        metadata = archive.read(f"course_lib-{project['version']}.dist-info/METADATA").decode().splitlines()
    needs = sorted(
        line.removeprefix("Requires-Dist: ") for line in metadata if line.startswith("Requires-Dist")
    )
    assert needs == sorted(project["dependencies"])


def test_put_wheel_replaces_older_ones_and_leaves_its_own(tmp_path: Path) -> None:
    (tmp_path / "course_lib-0.0.1-py3-none-any.whl").touch()
    (tmp_path / WHEEL).write_bytes(b"PK")
    put_wheel(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [WHEEL]
    before = (tmp_path / WHEEL).stat()
    put_wheel(tmp_path)
    assert (tmp_path / WHEEL).stat().st_ino == before.st_ino
