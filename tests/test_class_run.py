"""A class run gives the same marks whoever examines, and whatever happens on the way."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from graded_class import ANSWERS, Inline, marks
from mini import MEAN, hand_in, snapshot

import course_lib.grading.class_run as class_run
import course_lib.grading.run as run
import course_lib.grading.worker as worker
from course_lib.course import Course, CourseError
from course_lib.grading.class_run import LocalWorkers, cores_of, examine_all
from course_lib.grading.notebook import packed, read_notebook
from course_lib.grading.report import Report
from course_lib.grading.run import grade
from course_lib.grading.worker import Examined, Unit, paper_of
from course_lib.grading.workspace import nbgrader_at_work, open_workspace, settings

LIBRARY_DIGEST = worker.library_digest


@pytest.fixture(scope="module")
def course(course: Course) -> Iterator[Course]:
    with pytest.MonkeyPatch.context() as patch:
        # The library counts as unchanged, whatever somebody edits while tests run.
        patch.setattr(worker, "library_digest", lambda: "")
        yield course
    worker.end()


@pytest.fixture(scope="module")
def handed_in(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of 14 in which everything differs, with one file that is none and one empty folder."""
    folder = tmp_path_factory.mktemp("handed-in")
    for number, (kind, answer) in enumerate([*ANSWERS.items()] * 2):
        answers = {"double_solution": answer}
        if number % 3:
            answers["mean_solution"] = MEAN
        if number % 2:
            answers["why"] = "Because."
        path = hand_in(course, folder, f"student-{number:03}-{kind}", **answers)
        if number % 4 == 0:
            (path.parent / "timestamp.txt").write_text(f"2026-03-0{1 + number % 7} 10:00:00.5 UTC\n")
    hand_in(course, folder, "student-900").write_text("{")
    (folder / "student-901").mkdir()
    return folder


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LocalWorkers", Inline)


@pytest.fixture(scope="module")
def undisturbed(course: Course, handed_in: Path) -> tuple[Report, dict[str, Any], dict[str, bytes]]:
    """The report, the marks and the files that a run gives with two workers and no trouble."""
    workspace = course.root / "undisturbed"
    report = grade(course, "mini", handed_in, workspace, jobs=2)
    return report, marks(workspace), snapshot(workspace / "autograded")


Undisturbed = tuple[Report, dict[str, Any], dict[str, bytes]]


def assert_same(workspace: Path, report: Report, undisturbed: Undisturbed) -> None:
    assert report == undisturbed[0]
    assert marks(workspace) == undisturbed[1]
    assert snapshot(workspace / "autograded") == undisturbed[2]


# The same marks, whoever examines and whatever happens


def test_grade_gives_the_marks_that_answers_earn(undisturbed: Undisturbed) -> None:
    scores = {student.id[12:]: student.items[0].score for student in undisturbed[0].students}
    right = {"right": 3.0, "loops": 3.0, "slow": 3.0, "shows": 3.0}
    assert scores == {**right, "wrong": 1.0, "in-place": 1.0, "fails": 0.0, "": 0.0}
    assert {student.status for student in undisturbed[0].students} == {
        "graded", "needs_marking", "unreadable", "missing",
    }  # fmt: skip
    comments = dict(undisturbed[1]["student-000-right"]["comments"])
    assert comments == {"double-solution": "", "mean-solution": "No response.", "why": "No response."}


def test_grade_gives_the_same_with_one_worker(
    course: Course, handed_in: Path, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    assert_same(tmp_path, grade(course, "mini", handed_in, tmp_path, jobs=1), undisturbed)


def test_a_worker_that_is_killed_loses_nothing(
    course: Course, handed_in: Path, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    others = {child.pid for child in multiprocessing.active_children()}
    killed = []

    def kill_one(done: int, total: int, failures: int) -> None:
        workers = [child.pid for child in multiprocessing.active_children() if child.pid not in others]
        if done >= 2 and not killed:
            killed.append(workers[0])
            os.kill(workers[0], signal.SIGKILL)

    report = grade(course, "mini", handed_in, tmp_path, jobs=2, progress=kill_one)
    assert killed
    assert_same(tmp_path, report, undisturbed)


class Fragile(Executor):
    """An executor that a unit of the student "deadly" breaks, for all who are under way."""

    def __init__(self) -> None:
        self.broken = False

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        [unit] = arguments
        if self.broken:
            raise BrokenExecutor
        self.broken = unit.student == "deadly"
        future: Future[Any] = Future()
        if self.broken:
            future.set_exception(BrokenExecutor())
        else:
            future.set_result(Examined(unit.student, "done"))
        return future


class FragileWorkers:
    count, elsewhere = 1, False

    @contextmanager
    def open(self, count: int | None = None) -> Iterator[Executor]:
        yield Fragile()


def test_examine_all_gives_up_only_on_the_one_that_loses_its_worker() -> None:
    units = [Unit(student, "", "") for student in ("a", "b", "deadly", "c", "d", "e", "f")]
    results = {result.student: result for result in examine_all(units, FragileWorkers())}
    assert results.keys() == {unit.student for unit in units}
    assert [student for student, result in results.items() if result.failure] == ["deadly"]
    assert "lost again and again" in results["deadly"].failure


def test_grade_tries_again_what_failed(
    course: Course, handed_in: Path, undisturbed: Undisturbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    inline: None,
) -> None:  # fmt: skip
    def lose_all(units: Iterator[Unit], workers: Any) -> Iterator[Examined]:
        for unit in units:
            yield Examined(unit.student, failure="lost")

    with monkeypatch.context() as patch:
        patch.setattr(run, "examine_all", lose_all)
        report = grade(course, "mini", handed_in, tmp_path)
    assert {student.status for student in report.students} == {"failed", "unreadable", "missing"}
    assert snapshot(tmp_path / "autograded") == {}
    assert sum(student["score"] for student in marks(tmp_path).values()) == 0
    report = grade(course, "mini", handed_in, tmp_path)
    assert report.students[0].before == {"double": 0.0, "mean": 0.0, "why": 0.0}
    assert marks(tmp_path) == undisturbed[1]


def test_grade_a_second_time_changes_nothing_and_starts_no_worker(
    course: Course, handed_in: Path, undisturbed: Undisturbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a worker was started")

    workspace = course.root / "undisturbed"
    before = {name: content for name, content in snapshot(workspace).items() if not name.endswith(".lock")}
    monkeypatch.setattr(run, "LocalWorkers", refuse)
    assert grade(course, "mini", handed_in, workspace) == undisturbed[0]
    assert {
        name: content for name, content in snapshot(workspace).items() if not name.endswith(".lock")
    } == before


KILL = """
import os, sys
from pathlib import Path
import course_lib.grading.run as run, course_lib.grading.worker as worker, course_lib.grading.recorder as recorder
from course_lib.course import find_course

def main():
    course, submitted, workspace, point = find_course(Path(sys.argv[1])), *map(Path, sys.argv[2:4]), sys.argv[4]
    worker.library_digest = lambda: ""
    run.BATCH = 3
    name, count = point.split(":")
    left = int(count)

    def killing(function):
        def call(*arguments, **named):
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), 9)
            return function(*arguments, **named)
        return call

    if name == "write":
        recorder.write_whole = killing(recorder.write_whole)
    if name == "finish":
        recorder.Writing.finish = killing(recorder.Writing.finish)
    if name == "commit":
        from sqlalchemy.orm import Session
        Session.commit = killing(Session.commit)
    if name == "execute":
        from sqlalchemy.orm import Session
        Session.execute = killing(Session.execute)
    progress = killing(run.silent) if name == "progress" else run.silent
    run.grade(course, "mini", submitted, workspace, jobs=2, progress=progress)

if __name__ == "__main__":
    main()
"""
POINTS = ["progress:0", "progress:4", "write:2", "write:9", "finish:1", "execute:30", "commit:5", "commit:7"]


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_is_killed_goes_on_where_it_was(
    course: Course, handed_in: Path, undisturbed: Undisturbed, tmp_path: Path, point: str
) -> None:
    script = tmp_path / "kill.py"
    script.write_text(KILL)
    workspace = tmp_path / "workspace"
    command = [sys.executable, str(script), str(course.root), str(handed_in), str(workspace), point]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    finished = set(marks(workspace))
    assert len(finished) < len(undisturbed[1])
    assert {student: kept for student, kept in undisturbed[1].items() if student in finished} == marks(
        workspace
    )
    assert_same(workspace, grade(course, "mini", handed_in, workspace, jobs=2), undisturbed)


@pytest.mark.slow
def test_a_killed_run_leaves_no_process_behind(course: Course, handed_in: Path, tmp_path: Path) -> None:
    script = tmp_path / "kill.py"
    script.write_text(KILL)
    mark = f"course-test-{os.getpid()}"
    command = [
        sys.executable,
        str(script),
        str(course.root),
        str(handed_in),
        str(tmp_path / "w"),
        "progress:3",
    ]
    subprocess.run(command, check=False, env={**os.environ, "COURSE_TEST": mark})
    for _ in range(600):
        left = [path for path in Path("/proc").glob("[0-9]*/environ") if _holds(path, f"COURSE_TEST={mark}")]
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(left)


def _holds(path: Path, text: str) -> bool:
    try:
        return text.encode() in path.read_bytes()
    except OSError:
        return False


# Dask


@pytest.fixture
def scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler on loopback and two workers, each its own process."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(worker, "library_digest", LIBRARY_DIGEST)  # the workers compare it with theirs
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "dask"]
    processes = [
        subprocess.Popen(
            [
                *dask,
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(file),
            ],
            **quiet,
        )
    ]
    try:
        while not file.exists():
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        dask_worker = [*dask, "worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        for name in ("one", "two"):
            place = [
                "--local-directory",
                str(tmp_path / name),
                "--host",
                "127.0.0.1",
                "--death-timeout",
                "60",
            ]
            processes.append(subprocess.Popen([*dask_worker, *place], **quiet))
        _wait_for_workers(address, 2)
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait(20)


def _wait_for_workers(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # distributed's own
def test_grade_on_a_dask_cluster_gives_the_same(
    course: Course, handed_in: Path, undisturbed: Undisturbed, tmp_path: Path, scheduler: Any
) -> None:
    report = grade(course, "mini", handed_in, tmp_path / "workspace", scheduler=scheduler[0])
    assert_same(tmp_path / "workspace", report, undisturbed)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_dask_worker_that_is_lost_loses_nothing(
    course: Course, handed_in: Path, undisturbed: Undisturbed, tmp_path: Path, scheduler: Any
) -> None:
    address, workers = scheduler

    def kill_one(done: int, total: int, failures: int) -> None:
        if done >= 3:
            workers[0].kill()

    report = grade(course, "mini", handed_in, tmp_path / "workspace", scheduler=address, progress=kill_one)
    assert workers[0].wait(60) == -signal.SIGKILL
    assert_same(tmp_path / "workspace", report, undisturbed)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # distributed's own
def test_a_scheduler_that_is_lost_ends_a_run_with_a_sentence(
    course: Course, handed_in: Path, undisturbed: Undisturbed, tmp_path: Path, scheduler: Any,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from distributed import Client

    address, _ = scheduler
    with Client(address, set_as_default=False) as client:
        pid = client.run_on_scheduler(os.getpid)
    workspace = tmp_path / "workspace"

    def kill(done: int, *_: Any) -> None:
        if done == 3:
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(CourseError, match="The connection to the Dask scheduler is lost"):
        grade(course, "mini", handed_in, workspace, scheduler=address, progress=kill)
    assert "Traceback" not in capfd.readouterr().err
    assert_same(workspace, grade(course, "mini", handed_in, workspace), undisturbed)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_grade_says_where_no_scheduler_answers(course: Course, handed_in: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(CourseError, match=r"No Dask scheduler answers at tcp://127.0.0.1:9"):
        grade(course, "mini", handed_in, tmp_path, scheduler="tcp://127.0.0.1:9")


def test_grade_says_how_to_get_dask(
    course: Course, handed_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CourseError, match="pip install distributed"):
        grade(course, "mini", handed_in, tmp_path, scheduler="tcp://127.0.0.1:9")


# Workers


def test_local_workers_leave_the_environment_as_it_was(course: Course) -> None:
    before = dict(os.environ)
    workers = LocalWorkers(paper_of(course, "mini"), 1)
    with workers.open() as executor:
        assert executor.submit(os.getenv, "OMP_NUM_THREADS").result() == "1"
    assert dict(os.environ) == before


def test_workers_keep_to_a_core_each_where_all_cores_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_run, "available_cores", lambda: [3, 5, 11])
    assert cores_of(3) == [3, 5, 11]
    assert cores_of(5) == [3, 5, 11, 3, 5]
    assert cores_of(2) == [None, None]
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    assert cores_of(3) == [None] * 3


def test_a_worker_and_its_room_keep_to_one_core(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = max(os.sched_getaffinity(0))
    monkeypatch.setattr(class_run, "available_cores", lambda: [core])
    paper = paper_of(course, "mini")
    asks = "import os\nprint('cores', sorted(os.sched_getaffinity(0)))\n" + ANSWERS["right"]
    notebook = packed(read_notebook(hand_in(course, tmp_path, "student-001", double_solution=asks)))
    [examined] = examine_all([Unit("student-001", notebook, paper.digest)], LocalWorkers(paper, 1))
    assert f"cores [{core}]" in examined.notebook


# The workspace


def test_two_runs_at_once_are_refused(course: Course, handed_in: Path, tmp_path: Path, inline: None) -> None:
    def another(done: int, total: int, failures: int) -> None:
        with pytest.raises(CourseError, match="Another course grade is at work"):
            grade(course, "mini", handed_in, tmp_path)

    grade(course, "mini", handed_in, tmp_path, progress=another)


def test_formgrader_finds_everybody_graded(course: Course, handed_in: Path, undisturbed: Undisturbed) -> None:
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    place = open_workspace(course, course.root / "undisturbed")
    with nbgrader_at_work():
        config = settings(place, "mini")
        api = NbGraderAPI(CourseDirectory(config=config), config=config)
        assert api.get_autograded_students("mini") == set(undisturbed[1])
        rows = {row["student"]: row for row in api.get_submissions("mini")}
    assert rows["student-000-right"]["autograded"]
    assert rows["student-000-right"]["score"] == undisturbed[1]["student-000-right"]["score"]


def test_autograded_holds_what_nbgrader_puts_there(course: Course, undisturbed: Undisturbed) -> None:
    folder = course.root / "undisturbed" / "autograded" / "student-000-right" / "mini"
    assert sorted(path.name for path in folder.iterdir()) == ["cases.npz", "mini.ipynb", "timestamp.txt"]
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o444}
    released = course.nbgrader / "release" / "mini" / "cases.npz"
    assert (folder / "cases.npz").read_bytes() == released.read_bytes()
