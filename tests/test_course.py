from __future__ import annotations

import stat
from pathlib import Path

import pytest

from course_lib.course import CourseError, find_course, read_course
from course_lib.grading.secret import secret_of


def write_settings(folder: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    (folder / "course.toml").write_bytes(data)
    return folder


def test_find_course_looks_upwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_settings(tmp_path, 'language = "en"')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    monkeypatch.chdir(below)
    assert find_course().root == tmp_path.resolve()
    assert find_course().language == "en"


def test_find_course_prefers_course_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_ROOT", str(write_settings(tmp_path, "")))
    monkeypatch.chdir("/")
    assert find_course().root == tmp_path.resolve()


def test_find_course_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=rf"No course.toml in {tmp_path.resolve()} or any folder above"):
        find_course(tmp_path)


def test_read_course_leaves_out_what_is_unset(tmp_path: Path) -> None:
    course = read_course(write_settings(tmp_path, ""))
    assert (course.language, course.term, course.site) == ("ko", None, None)


def test_read_course_takes_a_byte_order_mark(tmp_path: Path) -> None:
    assert read_course(write_settings(tmp_path, b'\xef\xbb\xbfterm = "2027"')).term == "2027"


@pytest.mark.parametrize("address", ["https://example.org", "http://localhost:8000/~me/a-b_c.git/"])
def test_read_course_takes_addresses(tmp_path: Path, address: str) -> None:
    course = read_course(write_settings(tmp_path, f'site = "{address}"\nrepository = "{address}"'))
    assert (course.site, course.repository) == (address, address)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('language = "ko', "not valid TOML"),
        (b'term = "\xb0\xa1"', "not valid TOML"),
        ('colour = "red"', "sets 'colour', which is unknown"),
        ("term = 3", "term must be a non-empty string, not 3"),
        ('term = ""', "term must be a non-empty string, not ''"),
        ('language = "fr"', "language must be one of ko, en, not 'fr'"),
        ('time_zone = "Mars/Base"', "unknown time_zone 'Mars/Base'"),
        ('repository = "OWNER/REPOSITORY"', "repository must be an address such as"),
        ('repository = "https://example.org/a b"', "not 'https://example.org/a b'"),
        ('repository = "https://example.org/a\\n--pre"', "repository must be an address such as"),
        ('site = "javascript:alert(1)"', "site must be an address such as"),
    ],
)
def test_read_course_names_the_wrong_setting(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    with pytest.raises(CourseError) as caught:
        read_course(write_settings(tmp_path, text))
    assert sentence in str(caught.value)
    assert str(tmp_path / "course.toml") in str(caught.value)


def test_require_problem_set_names_those_that_there_are(tmp_path: Path) -> None:
    for name in ("ps2", "ps1"):
        (tmp_path / "solutions" / name).mkdir(parents=True)
        (tmp_path / "solutions" / name / "tasks.py").touch()
    course = read_course(write_settings(tmp_path, ""))
    assert course.require_problem_set("ps2") == tmp_path / "solutions" / "ps2"
    with pytest.raises(CourseError, match=r"No problem set 'ps9' .*there is: ps1, ps2"):
        course.require_problem_set("ps9")


def test_secret_of_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    course = read_course(write_settings(tmp_path, ""))
    secret = secret_of(course)
    assert len(secret) == 32
    assert secret_of(course) == secret
    assert stat.S_IMODE((tmp_path / ".course" / "secret").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / ".course").iterdir()] == ["secret"]


def test_secret_of_refuses_a_damaged_secret(tmp_path: Path) -> None:
    course = read_course(write_settings(tmp_path, ""))
    secret_of(course)
    (tmp_path / ".course" / "secret").write_bytes(b"short")
    with pytest.raises(CourseError, match="holds 5 bytes, not 32"):
        secret_of(course)
