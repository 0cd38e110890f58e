"""The student's kit: what lies in the zip, the same bytes each time, names that every system can hold."""

from __future__ import annotations

import ast
import hashlib
import io
import shutil
import subprocess
import sys
import unicodedata
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from mini import released_course
from packaging.requirements import Requirement

from course_lib.checks import read_cases
from course_lib.course import Course, CourseError, find_course
from course_lib.grading.bank import load_bank
from course_lib.release import teacher_kit
from course_lib.release.kit import kit, write_kits
from course_lib.release.wheel import WHEEL, wheel

ROOT = Path(__file__).parents[1]
MEMBERS = {"README.txt", "cases.npz", WHEEL, "requirements.txt"}


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """One of its own for each test, to change."""
    return released_course(tmp_path / "course")


@cache
def kit_of(problem_set: str, language: str) -> bytes:
    """The kit of a problem set of this course."""
    return kit(find_course(ROOT), problem_set, language)


def opened(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("problem_set", find_course(ROOT).problem_sets)
def test_kit_holds_all_that_a_student_needs_and_nothing_else(problem_set: str, language: str) -> None:
    exercise = ROOT / "exercises" / language / problem_set
    files = opened(kit_of(problem_set, language))
    assert set(files) == {*MEMBERS, f"{problem_set}.ipynb"}
    assert files[f"{problem_set}.ipynb"] == (exercise / f"{problem_set}.ipynb").read_bytes()
    assert files["cases.npz"] == (exercise / "cases.npz").read_bytes()
    assert files[WHEEL] == wheel()
    needed = [line.split(">")[0] for line in files["requirements.txt"].decode().splitlines()[1:]]
    torch = ["torch"] if problem_set in ("ps4", "ps5") else []
    assert needed == [f"./{WHEEL}", "numpy", "array-api-compat", "matplotlib", *torch, "jupyterlab"]
    for_teachers = teacher_kit._readme(problem_set, load_bank(ROOT / "solutions" / problem_set), language)
    for readme in (files["README.txt"].decode(), for_teachers):
        assert ("pytorch.org" in readme) is bool(torch)
        assert "{" not in readme
    if torch:  # of its size one reads before the command that fetches it
        student = files["README.txt"].decode()
        assert student.index("PyTorch") < student.index("pip install -r")


@pytest.mark.parametrize(
    ("system", "machine", "torch"),
    [
        ("win32", "AMD64", True),
        ("win32", "ARM64", False),
        ("darwin", "arm64", True),
        ("darwin", "x86_64", False),
        ("linux", "x86_64", True),
        ("linux", "aarch64", True),
    ],
)
def test_kit_asks_for_torch_where_there_is_one(system: str, machine: str, torch: bool) -> None:
    """pip installs nothing at all where one of the requirements is nowhere to be had."""
    lines = opened(kit_of("ps4", "en"))["requirements.txt"].decode().splitlines()
    (wanted,) = [Requirement(line) for line in lines if line.startswith("torch")]
    assert wanted.marker is not None
    assert wanted.marker.evaluate({"sys_platform": system, "platform_machine": machine}) is torch


RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("problem_set", find_course(ROOT).problem_sets)
def test_kit_has_names_that_every_system_can_hold(problem_set: str, language: str) -> None:
    with zipfile.ZipFile(io.BytesIO(kit_of(problem_set, language))) as archive:
        entries = archive.infolist()
    names = [entry.filename for entry in entries]
    assert len({name.lower() for name in names}) == len(names)
    for name in [*names, f"{problem_set}-{language}.zip"]:
        assert name.isascii()
        assert unicodedata.is_normalized("NFC", name)
        assert len(name) < 60
        assert not set(name) & set('<>:"/\\|?*')
        assert name.split(".")[0].lower() not in RESERVED
        assert name == name.strip(" .")
    assert {entry.external_attr >> 16 for entry in entries} == {0o100644}  # plain files: no link, no folder


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("problem_set", find_course(ROOT).problem_sets)
def test_kit_has_one_kind_of_line_end_and_no_mark_before_the_text(problem_set: str, language: str) -> None:
    files = opened(kit_of(problem_set, language))
    for name in ("README.txt", "requirements.txt", f"{problem_set}.ipynb"):
        assert b"\r" not in files[name]
        assert files[name].endswith(b"\n")
        assert not files[name].startswith("\ufeff".encode())
    assert files["requirements.txt"].isascii()  # pip reads it in the system's encoding


# Of the library, what no notebook of a student loads.
TEACHERS = {
    "grading",
    "people",
    "release",
    "cli",
    "course",
    "deadlines",
    "__main__",
}
TRAVELLING = [
    path
    for path in sorted((ROOT / "course_lib").rglob("*.py"))
    if not TEACHERS & {path.stem, *path.relative_to(ROOT).parts}
]


def what_is_not_there(paths: list[Path], system: str, cache: Path) -> list[str]:
    """Names that the standard library lacks on a system (win32, darwin), without a guard by sys.platform."""
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file=",
        "--python-version",
        "3.11",
        "--platform",
        system,
    ]
    command += [
        "--follow-imports=skip",
        "--disable-error-code=var-annotated",
        "--disable-error-code=valid-type",
    ]
    command += ["--explicit-package-bases", "--cache-dir", str(cache), *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout
    return [line for line in done.stdout.splitlines() if ": error: Module has no attribute" in line]


@pytest.mark.slow
@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_what_travels_uses_nothing_that_a_system_lacks(system: str, tmp_path: Path) -> None:
    assert what_is_not_there(TRAVELLING, system, tmp_path) == []
    use = "os.memfd_create('')\n"
    (tmp_path / "planted.py").write_text(f"import os, sys\n{use}if sys.platform == 'linux':\n    {use}")
    planted = what_is_not_there([tmp_path / "planted.py"], system, tmp_path)
    assert len(planted) == 1


@pytest.mark.parametrize("path", TRAVELLING, ids=lambda path: path.stem)
def test_what_travels_says_in_which_encoding_it_reads_and_writes(path: Path) -> None:
    """Elsewhere the default is not UTF-8."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            binary = any(isinstance(each, ast.Constant) and "b" in str(each.value) for each in node.args[:2])
            if name in ("read_text", "write_text") or (name == "open" and not binary):
                assert "encoding" in {word.arg for word in node.keywords}, (path.name, node.lineno)


def test_kit_tells_how_colab_gets_the_rest(course: Course) -> None:
    alone = opened(kit(course, "mini", "en"))["README.txt"].decode()
    assert f"%pip install {WHEEL}" in alone
    for settings in ({"site": "https://example.org/c"}, {"repository": "https://github.com/owner/c"}):
        published = replace(course, **settings)  # type: ignore[arg-type]
        said = opened(kit(published, "mini", "en"))["README.txt"].decode()
        assert "The notebook's first code cell gets the rest." in said
        assert "%pip" not in said
        assert "\n\n\n\n" not in said + alone


@pytest.mark.parametrize("language", ["ko", "en"])
def test_kit_reads_in_its_language(course: Course, language: str) -> None:
    readme = opened(kit(course, "mini", language))["README.txt"].decode()
    assert ("터미널" in readme) is (language == "ko")
    assert WHEEL in readme
    assert "{" not in readme
    assert max(map(len, readme.splitlines())) <= 110


def test_kit_names_the_book_where_it_is_published(course: Course) -> None:
    published = replace(course, site="https://example.org/course")
    assert "https://example.org/course/\n" in opened(kit(published, "mini", "ko"))["README.txt"].decode()
    assert "https://example.org/course/en/\n" in opened(kit(published, "mini", "en"))["README.txt"].decode()
    assert "http" not in opened(kit(course, "mini", "en"))["README.txt"].decode()


def test_kit_needs_no_repository(course: Course) -> None:
    hosted = replace(course, repository="https://example.org/course")
    assert opened(kit(hosted, "mini", "en"))["requirements.txt"].decode().splitlines()[1] == f"./{WHEEL}"


def test_kit_gives_the_same_bytes_every_time_and_dates_them(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    first = kit(course, "mini", "en")
    assert kit(course, "mini", "en") == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    second = kit(course, "mini", "en")
    assert second != first
    with zipfile.ZipFile(io.BytesIO(second)) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
    assert {entry.date_time for entry in entries} == {(2023, 11, 14, 22, 13, 20)}
    assert {entry.external_attr >> 16 for entry in entries} == {0o100644}


def test_kit_says_what_is_wrong_with_the_date(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(CourseError, match="SOURCE_DATE_EPOCH to 'yesterday'"):
        kit(course, "mini", "en")


def test_write_kits_writes_one_zip_for_each_language(course: Course, tmp_path: Path) -> None:
    paths = write_kits(course, ["mini"], tmp_path / "kits" / "autumn")
    assert [path.name for path in paths] == ["mini-ko.zip", "mini-en.zip"]
    assert paths[1].read_bytes() == kit(course, "mini", "en")


def test_write_kits_refuses_what_was_not_released(course: Course, tmp_path: Path) -> None:
    shutil.rmtree(course.exercises)
    with pytest.raises(CourseError, match="Run: course release mini"):
        write_kits(course, ["mini"], tmp_path / "kits")
    assert not (tmp_path / "kits").exists()


def test_kit_serves_a_student_in_an_empty_folder(course: Course, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(kit(course, "mini", "en"))) as archive:
        archive.extractall(tmp_path)
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--no-index", "--target", "site"]
    subprocess.run([*pip, f"./{WHEEL}"], cwd=tmp_path, check=True)
    code = "import sys; sys.path.insert(0, 'site'); from course_lib.checks import load; load(language='en')"
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert (shown.stdout.count("\n"), shown.stderr) == (1, "")
    assert [task.name for task in read_cases(tmp_path / "cases.npz").tasks] == [
        task.name for task in load_bank(course.solutions / "mini").tasks
    ]
    assert hashlib.sha256((tmp_path / WHEEL).read_bytes()).digest() == hashlib.sha256(wheel()).digest()
