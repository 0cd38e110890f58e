"""A term's bundle of the small course: its gates, its files, its manifest, and the same bytes again."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mini import edit, released_course, snapshot

from course_lib.course import Course, CourseError, find_course
from course_lib.release import bundle
from course_lib.release.bundle import verify, write_bundle
from course_lib.release.notebooks import release
from course_lib.release.public_tree import write_public_tree

ROOT = Path(__file__).parents[1]
PAGE = '<html><body><h1 id="one">One</h1><a href="{link}">there</a></body></html>'
REMEDY = re.compile(
    r"(Run: course release|Correct (solutions|book)/, and see: pytest \S+|[A-Z][\w /]+ and try again\.)$"
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = released_course(tmp_path_factory.mktemp("original"))
    (course.root / "course.toml").write_text(
        'language = "en"\ntime_zone = "Asia/Seoul"\nrepository = "https://github.com/owner/course"\n'
        '[due]\nmini = 2027-03-31T23:59:00\n[extensions]\nstudent-007 = { mini = "3 days" }\n',
        encoding="utf-8",
    )
    course = find_course(course.root)
    release(course, "mini")
    site = course.build / "html"
    (site / "en").mkdir(parents=True)
    (course.root / "tests").mkdir()
    for gate in ("bank", "parity"):
        (course.root / "tests" / f"test_{gate}.py").write_text("def test_it():\n    assert True\n")
    (site / "index.html").write_text(PAGE.format(link="en/index.html#one"), encoding="utf-8")
    (site / "en" / "index.html").write_text(PAGE.format(link="https://example.org/"), encoding="utf-8")
    return course


@pytest.fixture(scope="module", autouse=True)
def site_counts_as_built() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "build_pdf", lambda course: {})
        patch.setattr(bundle, "find_browser", lambda: "chromium")
        patch.delenv("SOURCE_DATE_EPOCH", raising=False)
        yield


@pytest.fixture
def course(tmp_path: Path, original: Course) -> Course:
    """The small course, released."""
    shutil.copytree(original.root, tmp_path / "course")
    return find_course(tmp_path / "course")


@pytest.fixture(scope="module")
def bundled(
    original: Course, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[tuple[int, int, str]]]:
    """Its bundle, and how far it said that it was."""
    shown: list[tuple[int, int, str]] = []
    folder = tmp_path_factory.mktemp("bundled") / "bundle"
    write_bundle(original, "2027-spring", folder, lambda *where: shown.append(where))
    return folder, shown


@pytest.fixture
def made(bundled: tuple[Path, object], tmp_path: Path) -> Path:
    """A copy of that bundle."""
    return Path(shutil.copytree(bundled[0], tmp_path / "bundle"))


def test_write_bundle_writes_site_kits_public_tree_and_manifest(made: Path) -> None:
    names = set(snapshot(made))
    assert {
        "manifest.json",
        "site/index.html",
        "students/mini-ko.zip",
        "students/mini-en.zip",
        "instructor/mini-ko.zip",
        "instructor/mini-en.zip",
        "site/.nojekyll",
        "public/README.md",
        "public/.github/workflows/checks.yml",
        "public/exercises/ko/mini/mini.ipynb",
    } <= names
    manifest = json.loads((made / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["term"] == "2027-spring"
    assert manifest["problem_sets"]["mini"] == {
        "points": 7.5,
        "tasks": {"double": 3.0, "mean": 2.5, "why": 2.0},
        "due": "2027-03-31T23:59:00+09:00",
    }
    assert set(manifest["gates"]) == {"staleness", "bank", "parity", "links", "leaks"}
    assert manifest["gates"]["links"] == "2 links on 2 pages"
    assert manifest["gates"]["bank"] == manifest["gates"]["parity"] == "1 tests passed"
    assert set(manifest["files"]) == names - {"manifest.json"}


def test_write_bundle_gives_the_same_bytes_again(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    first = write_bundle(course, "2027-spring", tmp_path / "first")
    shutil.copytree(first.folder, tmp_path / "again")
    (tmp_path / "again" / "site" / "old.html").touch()
    again = write_bundle(course, "2027-spring", tmp_path / "again")  # in the place of the old one
    assert snapshot(first.folder) == snapshot(again.folder)
    assert first.digest == again.digest


def test_write_bundle_shows_how_far_it_is(bundled: tuple[object, list[tuple[int, int, str]]]) -> None:
    _, shown = bundled
    assert [done for done, _, _ in shown] == sorted(done for done, _, _ in shown)
    assert {total for _, total, _ in shown} == {shown[-1][0]}
    assert sum("students/mini-ko.zip" in what for _, _, what in shown) == 1  # the file that is scanned


def test_verify_notices_one_bit_in_any_file(made: Path) -> None:
    for path in sorted(path for path in made.rglob("*") if path.is_file() and path.name != "manifest.json"):
        content = path.read_bytes()
        for place in {0, len(content) // 2, len(content) - 1} if content else ():
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            assert verify(made)[0] == [f"{path.relative_to(made).as_posix()} was altered"]
        path.write_bytes(content)
    assert verify(made)[0] == []


def test_public_tree_names_no_student_and_no_solution(made: Path) -> None:
    public = snapshot(made / "public")
    assert not [name for name in public if "solution" in name or "tasks" in name or name.startswith(".git/")]
    assert b"student-007" not in b"".join(public.values())
    settings = public["course.toml"].decode()
    assert settings.splitlines()[-2:] == ["[due]", "mini = 2027-03-31T23:59:00"]
    assert find_course(made / "public").deadlines.due
    assert "colab.research.google.com/github/owner/course/blob/main/exercises/ko/mini/mini.ipynb" in (
        public["README.md"].decode()
    )


def test_public_tree_is_taken_whole_by_git_and_what_is_made_in_it_is_not(made: Path) -> None:
    public = made / "public"
    names = set(snapshot(public))
    subprocess.run(["git", "init", "-q"], cwd=public, check=True)
    for folder in (
        "_build/html",
        ".venv/bin",
        "exercises/en/mini/.venv",
        "exercises/en/mini/.ipynb_checkpoints",
    ):
        (public / folder).mkdir(parents=True)
        (public / folder / "made.txt").touch()
    others = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(others, cwd=public, capture_output=True, text=True, check=True).stdout
    assert set(filter(None, listed.split("\0"))) == names


def test_public_tree_keeps_its_bytes_where_git_writes_other_line_ends(made: Path, tmp_path: Path) -> None:
    """As Git for Windows is set: else every notebook would count as begun there."""
    git = ["git", "-c", "core.autocrlf=true", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    before = snapshot(made / "public")
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-qm", "x"],
        ["clone", "-q", ".", str(tmp_path / "clone")],
    ):
        subprocess.run([*git, *command], cwd=made / "public", check=True)
    there = {
        name: data for name, data in snapshot(tmp_path / "clone").items() if not name.startswith(".git/")
    }
    assert there == before
    assert (ROOT / ".gitattributes").read_bytes() == before[".gitattributes"]


@pytest.mark.slow
def test_public_tree_of_the_real_course_holds_all_that_its_book_needs(tmp_path: Path) -> None:
    """Built in full, as its README says, it was measured once; here: every file is there, and its library runs."""
    public = tmp_path / "public"
    write_public_tree(find_course(ROOT), public)
    listed = ["git", "ls-files", "-z", "--", "book", "course_lib", "exercises"]
    tracked = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    assert len(tracked) > 100
    assert [name for name in filter(None, tracked) if not (public / name).is_file()] == []
    code = (
        "import course_lib; from course_lib.course import find_course; from course_lib.release import site\n"
        "print(course_lib.__file__, *(edition.language for edition in site.editions_of(find_course())))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=public, env=os.environ | {"PYTHONPATH": str(public)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [str(public / "course_lib" / "__init__.py"), "ko", "en"]


def test_public_tree_has_no_links_without_a_repository(course: Course, tmp_path: Path) -> None:
    without = replace(course, repository=None)
    release(without, "mini")
    write_public_tree(without, tmp_path / "public")
    text = (tmp_path / "public" / "README.md").read_text(encoding="utf-8")
    assert "colab" not in text
    assert "binder" not in text


def test_instructors_kit_holds_the_solved_notebook_of_one_language(made: Path) -> None:
    with zipfile.ZipFile(io.BytesIO((made / "instructor" / "mini-en.zip").read_bytes())) as kit:
        solved = json.loads(kit.read("mini-solved.ipynb"))
        marking = kit.read("marking.md").decode()
    text = "".join(line for cell in solved["cells"] for line in cell["source"])
    assert "return total / x.shape[axis]" in text
    assert "Say why." in text
    assert "왜 그런지" not in text
    assert marking.startswith(
        "# mini: 7.5 points\n\n## why: 2 points, marked by a person\n\n**Model answer.** "
    )
    assert "the model answer" in marking
    assert "that is three times" in marking


@pytest.mark.parametrize("language", ["ko", "en"])
def test_solved_notebook_runs_where_the_kit_was_unpacked(
    made: Path, tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(made / "instructor" / f"mini-{language}.zip") as kit:
        kit.extractall(tmp_path / "kit")
    assert "README.txt" in snapshot(tmp_path / "kit")
    monkeypatch.chdir(tmp_path / "kit")
    solved = json.loads((tmp_path / "kit" / "mini-solved.ipynb").read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    results = []
    for cell in (cell for cell in solved["cells"] if cell["cell_type"] == "code"):
        source = "".join(cell["source"])
        if source.startswith("check("):
            results.append(eval(source, names))
        else:
            exec(source, names)
    assert results == [3.0, 2.5]


def plant_broken_link(course: Course) -> None:
    (course.build / "html" / "index.html").write_text(PAGE.format(link="en/index.html#two"), encoding="utf-8")


def plant_failing_test(course: Course) -> None:
    (course.root / "tests" / "test_bank.py").write_text("def test_it():\n    assert False\n")


def plant_other_languages(course: Course) -> None:
    (course.root / "tests" / "test_parity.py").write_text("def test_it():\n    assert False\n")


def plant_nothing_to_run(course: Course) -> None:
    (course.root / "tests" / "test_bank.py").write_text("")


def plant_no_test(course: Course) -> None:
    (course.root / "tests" / "test_parity.py").unlink()


def plant_leak(course: Course) -> None:
    (course.build / "html" / "notes.txt").write_text("total = x.sum(axis=axis)")


def plant_staleness(course: Course) -> None:
    edit(course.exercises / "en" / "mini" / "mini.ipynb", "Double it.", "Double it!")


@pytest.mark.parametrize(
    ("plant", "sentence"),
    [
        (plant_broken_link, "The gate 'links' does not pass: index.html → en/index.html#two "),
        (plant_failing_test, "The gate 'bank' does not pass: tests/test_bank.py::test_it"),
        (plant_other_languages, "The gate 'parity' does not pass: tests/test_parity.py::test_it"),
        (
            plant_nothing_to_run,
            "The gate 'bank' does not pass: no test was run. Correct solutions/, and see: pytest tests/test_bank.py",
        ),
        (plant_no_test, "The gate 'parity' does not pass: tests/test_parity.py is missing"),
        (plant_leak, r"The gate 'leaks' does not pass: site/notes.txt: a line of mean \(mini\)"),
        (plant_staleness, "The gate 'staleness' does not pass: exercises/en/mini/mini.ipynb is stale"),
    ],
)
def test_write_bundle_names_the_gate_and_writes_nothing(
    course: Course, tmp_path: Path, plant: Callable[[Course], None], sentence: str
) -> None:
    plant(course)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(CourseError, match=sentence) as refused:
        write_bundle(course, "2027-spring", tmp_path / "bundle")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert REMEDY.search(str(refused.value)), refused.value
    assert str(refused.value).count("\n") == 0


def test_write_bundle_that_is_refused_or_stopped_leaves_the_old_one(
    course: Course, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(tmp_path)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(bundle, "write_teacher_kits", stop)
        with pytest.raises(KeyboardInterrupt):
            write_bundle(course, "2027-spring", made)
    assert snapshot(tmp_path) == before
    plant_leak(course)
    with pytest.raises(CourseError, match="leaks"):
        write_bundle(course, "2027-spring", made)
    assert {name: data for name, data in snapshot(tmp_path).items() if "notes.txt" not in name} == before


def test_write_bundle_refuses_other_places_and_other_terms(course: Course, tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="Which term"):
        write_bundle(course, None, tmp_path / "bundle")
    with pytest.raises(CourseError, match="says term '2026-fall', not '2027-spring'"):
        write_bundle(replace(course, term="2026-fall"), "2027-spring", tmp_path / "bundle")
    with pytest.raises(CourseError, match="holds something else than a bundle"):
        write_bundle(course, "2027-spring", course.root)


def test_verify_names_what_is_altered_missing_and_extra(made: Path) -> None:
    found, digest = verify(made)
    assert found == []
    with (made / "students" / "mini-ko.zip").open("ab") as file:
        file.write(b"\0")
    (made / "site" / "index.html").unlink()
    (made / "public" / "more.txt").touch()
    assert verify(made) == (
        [
            "site/index.html is missing",
            "public/more.txt is not in the manifest",
            "students/mini-ko.zip was altered",
        ],
        digest,
    )
    assert verify(made / "students") == verify(made / "students" / "mini-ko.zip")
    assert verify(made / "students" / "mini-ko.zip") == (["students/mini-ko.zip was altered"], digest)
    assert verify(made / "students" / "mini-en.zip") == ([], digest)
    with pytest.raises(CourseError, match=r"mini-fr\.zip does not exist\. Give"):
        verify(made / "students" / "mini-fr.zip")


@pytest.mark.parametrize("text", ["{}", "[]", '{"files": 3}', '{"files": {"site": 3}}', '{"files": {"site'])
def test_verify_calls_a_damaged_manifest_one(made: Path, text: str) -> None:
    (made / "manifest.json").write_text(text)
    with pytest.raises(CourseError, match=r"manifest\.json is damaged, or no manifest .*again\.$"):
        verify(made)
    (made / "manifest.json").unlink()
    for place in (made, made / "students" / "mini-ko.zip"):
        with pytest.raises(CourseError, match=r"^There is no manifest\.json to prove .* against\. Give"):
            verify(place)


def test_verify_names_damage_of_every_kind(made: Path, tmp_path: Path) -> None:
    """What a disk, an unzipping program or a person does to files; nothing outside of the bundle is read."""
    kit, page = made / "students" / "mini-ko.zip", made / "site" / "index.html"
    whole = kit.read_bytes()
    kit.write_bytes(whole[:-1])
    assert verify(made)[0] == ["students/mini-ko.zip was altered"]
    kit.rename(kit.with_name("MINI-KO.zip"))
    assert verify(made)[0] == [
        "students/mini-ko.zip is missing", "students/MINI-KO.zip is not in the manifest",
    ]  # fmt: skip
    kit.with_name("MINI-KO.zip").unlink()
    kit.mkdir()
    assert verify(made)[0] == ["students/mini-ko.zip is missing"]
    kit.rmdir()
    kit.write_bytes(whole)
    page.rename(tmp_path / "index.html")
    page.symlink_to(tmp_path / "index.html")
    assert verify(made)[0] == ["site/index.html was altered"]
