from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mini import hand_in, released_course, snapshot

import course_lib
import course_lib.grading.class_run as class_run
import course_lib.grading.recorder as recorder
import course_lib.grading.run as run
import course_lib.grading.worker as worker
from course_lib.course import Course, CourseError, find_course
from course_lib.grading.class_run import LocalWorkers, cores_of, examine_all
from course_lib.grading.notebook import packed, read_notebook
from course_lib.grading.report import Report
from course_lib.grading.run import grade
from course_lib.grading.worker import Examined, NoRoom, Paper, Unit, begin, examine_unit, paper_of
from course_lib.grading.workspace import nbgrader_at_work, open_workspace, settings
from course_lib.release.notebooks import release

ROOT = Path(__file__).parents[1]
ANSWERS = {
    "right": "def double(x):\n    return 2 * x",
    "wrong": "def double(x):\n    return 3 * x",
    "in-place": "def double(x):\n    x *= 2\n    return x",
    "fails": "def double(x):\n    return y",
    "loops": "def double(x):\n    return np.array([2 * value for value in x])",
    "slow": "import time\ntime.sleep(0.3)\ndef double(x):\n    return x + x",
    "shows": "def double(x):\n    return x + x\nprint(double(np.ones(2)))\ndouble(np.ones(3))",
}
MEAN = "def mean(x, axis=-1):\n    return x.mean(axis=axis)"
LIBRARY_DIGEST = worker.library_digest


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    course = released_course(tmp_path_factory.mktemp("course"))
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


class Inline:
    """Workers in this process: with rooms as ever, but no process to start."""

    elsewhere = False

    def __init__(self, paper: Paper, jobs: int | None = None) -> None:
        begin(paper)
        self.count = 1

    def start(self, count: int) -> None:
        pass

    def close(self) -> None:
        pass

    @contextmanager
    def open(self, count: int | None = None) -> Iterator[Executor]:
        with ThreadPoolExecutor(1) as executor:
            yield executor


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LocalWorkers", Inline)


def marks(workspace: Path) -> dict[str, Any]:
    """Everything of the gradebook that is a mark or belongs to one, by student."""
    from nbgrader.api import Gradebook

    kept: dict[str, Any] = {}
    with Gradebook(f"sqlite:///{workspace / 'gradebook.db'}") as gradebook:
        for submission in gradebook.assignment_submissions("mini"):
            [notebook] = submission.notebooks
            kept[submission.student.id] = {
                "time": submission.timestamp,
                "penalty": notebook.late_submission_penalty,
                "score": notebook.score,
                "grades": sorted(
                    (g.name, g.auto_score, g.manual_score, g.needs_manual_grade) for g in notebook.grades
                ),
                "comments": sorted((c.name, c.auto_comment or "") for c in notebook.comments),
            }
    return kept


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
    for _ in range(50):
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
    assert workers[0].wait(10) == -signal.SIGKILL
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


def test_examine_unit_says_what_an_examiner_stumbles_over(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: object) -> None:
        raise RecursionError("too deep")

    paper = paper_of(course, "mini")
    begin(paper)
    notebook = packed(read_notebook(course.exercises / "en" / "mini" / "mini.ipynb"))
    monkeypatch.setattr(worker, "examine", stumble)
    result = examine_unit(Unit("student-001", notebook, paper.digest))
    assert result.failure == "the notebook could not be examined (RecursionError: too deep)"


def test_examine_unit_refuses_another_library(course: Course) -> None:
    from dataclasses import replace

    paper = replace(paper_of(course, "mini"), library="another")
    begin(paper, elsewhere=True)
    with pytest.raises(NoRoom, match="another version of course_lib"):
        examine_unit(Unit("student-001", "{}", paper.digest))


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("attention.py", True),
        ("checks/judging.py", True),
        ("grading/student_room/server.py", True),
        ("people/export.py", False),
        ("cli/grading.py", False),
    ],
)
def test_library_digest_covers_what_may_change_a_mark(
    name: str, counts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = shutil.copytree(Path(course_lib.__file__).parent, tmp_path / "course_lib")
    monkeypatch.setattr(course_lib, "__file__", str(copied / "__init__.py"))
    digest = LIBRARY_DIGEST.__wrapped__  # it is kept otherwise
    before = digest()
    with (copied / name).open("a") as file:
        file.write("# more")
    assert (digest() != before) is counts


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


# What is recorded


@pytest.mark.parametrize("year", [1970, 2099])
def test_marks_and_penalties_do_not_go_by_the_clock_of_whoever_grades(
    course: Course, tmp_path: Path, inline: None, monkeypatch: pytest.MonkeyPatch, year: int
) -> None:
    """A clock that was set says no more than that times look odd by it."""
    path = hand_in(course, tmp_path / "in", "student-001", double_solution=ANSWERS["right"])
    (path.parent / "timestamp.txt").write_text("2026-03-01 10:00:00 UTC\n")
    right = grade(course, "mini", tmp_path / "in", tmp_path / "w").students[0]
    before = marks(tmp_path / "w")

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(year, 1, 1, tzinfo=tz)

    monkeypatch.setattr(run, "datetime", Clock)
    odd = grade(course, "mini", tmp_path / "in", tmp_path / "w", again=True).students[0]
    assert marks(tmp_path / "w") == before
    assert odd.items == right.items
    assert ("is in the future" if year == 1970 else "more than a year ago") in odd.time_stamp


def test_two_runs_at_once_are_refused(course: Course, handed_in: Path, tmp_path: Path, inline: None) -> None:
    def another(done: int, total: int, failures: int) -> None:
        with pytest.raises(CourseError, match="Another course grade is at work"):
            grade(course, "mini", handed_in, tmp_path)

    grade(course, "mini", handed_in, tmp_path, progress=another)


PENALTY = """
c = get_config()
class Half:
    pass
from nbgrader.plugins import BasePlugin
class HalfAfterAnHour(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return {result}
c.AssignLatePenalties.plugin_class = HalfAfterAnHour
"""


def late_by(course: Course, workspace: Path, folder: Path, **late: float) -> None:
    """Hands in a right answer so late, by the due date that the gradebook has."""
    from nbgrader.api import Gradebook

    due = datetime(2026, 3, 1, 12)
    with Gradebook(f"sqlite:///{workspace / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_assignment("mini", duedate=due)
    path = hand_in(course, folder, "student-001", double_solution=ANSWERS["right"], mean_solution=MEAN)
    (path.parent / "timestamp.txt").write_text(f"{due + timedelta(**late)} UTC\n")


@pytest.mark.parametrize(
    ("result", "seconds", "penalty"),
    [
        ("score / 2", 60.0, 2.75),
        ("None", 60.0, None),
        ("-1", 60.0, 0.0),
        ("1000", 60.0, 5.5),
        ("total_seconds_late", 2.5, 2.5),
        ("score", 0.0, None),
        ("score", -60.0, None),
    ],
)
def test_late_penalties_are_those_of_the_plugin(
    course: Course, tmp_path: Path, inline: None, result: str, seconds: float, penalty: float | None
) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(course.root, workspace, ignore=shutil.ignore_patterns("undisturbed"))
    here = find_course(workspace)
    (workspace / "nbgrader_config.py").write_text(PENALTY.format(result=result))
    late_by(course, workspace, tmp_path / "in", seconds=seconds)
    grade(here, "mini", tmp_path / "in", workspace)
    assert marks(workspace)["student-001"]["penalty"] == penalty


def test_penalties_follow_the_due_date_and_extensions(course: Course, tmp_path: Path, inline: None) -> None:
    from nbgrader.api import Gradebook

    workspace = tmp_path / "workspace"
    shutil.copytree(course.root, workspace, ignore=shutil.ignore_patterns("undisturbed"))
    here = find_course(workspace)
    (workspace / "nbgrader_config.py").write_text(
        "c = get_config()\nc.LateSubmissionPlugin.penalty_method = 'zero'\n"
    )
    late_by(course, workspace, tmp_path / "in", minutes=5)
    grade(here, "mini", tmp_path / "in", workspace)
    assert marks(workspace)["student-001"]["penalty"] == 5.5
    with Gradebook(f"sqlite:///{workspace / 'gradebook.db'}") as gradebook:
        gradebook.grant_extension("mini", "student-001", minutes=10)
    grade(here, "mini", tmp_path / "in", workspace)
    assert marks(workspace)["student-001"]["penalty"] is None
    # handed in the same again, later: the marks stand, time and penalty do not
    (tmp_path / "in" / "student-001" / "mini" / "timestamp.txt").write_text("2026-03-01 13:00:00 UTC\n")
    grade(here, "mini", tmp_path / "in", workspace)
    kept = marks(workspace)["student-001"]
    assert (kept["time"], kept["penalty"]) == (datetime(2026, 3, 1, 13), 5.5)


def test_a_plugin_that_fails_is_named(course: Course, tmp_path: Path, inline: None) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(course.root, workspace, ignore=shutil.ignore_patterns("undisturbed"))
    (workspace / "nbgrader_config.py").write_text(PENALTY.format(result="score / 0"))
    late_by(course, workspace, tmp_path / "in", minutes=5)
    with pytest.raises(
        CourseError, match=r"The plugin HalfAfterAnHour .* at student-001 \(ZeroDivisionError"
    ):
        grade(find_course(workspace), "mini", tmp_path / "in", workspace)


@pytest.mark.parametrize(
    "text", ["2026-03-01 10:00:00 Asia/Seoul", "2026-03-01T10:00:00+09:00", "2026-13-45 99:99"]
)
def test_times_are_read_as_nbgrader_reads_them(
    course: Course, tmp_path: Path, inline: None, text: str
) -> None:
    path = hand_in(course, tmp_path / "in", "student-001", double_solution=ANSWERS["right"])
    (path.parent / "timestamp.txt").write_text(text)
    grade(course, "mini", tmp_path / "in", tmp_path / "w")
    expected = None if "99" in text else datetime(2026, 3, 1, 1)
    assert marks(tmp_path / "w")["student-001"]["time"] == expected


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


def test_a_gradebook_of_db_url_is_used(course: Course, tmp_path: Path, inline: None) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(course.root, workspace, ignore=shutil.ignore_patterns("undisturbed"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    config = workspace / "nbgrader_config.py"
    config.write_text(
        f"c = get_config()\nc.CourseDirectory.db_url = 'sqlite:///{elsewhere / 'gradebook.db'}'\n"
    )
    before = (workspace / "gradebook.db").read_bytes()
    hand_in(course, tmp_path / "in", "student-001", double_solution=ANSWERS["right"])
    grade(find_course(workspace), "mini", tmp_path / "in", workspace)
    assert marks(elsewhere)["student-001"]["score"] == 3.0
    assert (workspace / "gradebook.db").read_bytes() == before


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            "c.CourseDirectory.db_url = 'postgresql+nosuch://localhost/marks'",
            "The gradebook that db_url names",
        ),
        ("c.CourseDirectory.db_url = 'sqlite:////nowhere/at/all.db'", "unable to open database file"),
        ("1 / 0", r"nbgrader_config.py can't be read \(ZeroDivisionError"),
    ],
)
def test_a_gradebook_that_cannot_be_opened_is_named(
    course: Course, tmp_path: Path, handed_in: Path, config: str, sentence: str
) -> None:
    shutil.copytree(course.root, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("undisturbed"))
    (tmp_path / "nbgrader_config.py").write_text(f"c = get_config()\n{config}\n")
    with pytest.raises(CourseError, match=sentence):
        grade(find_course(tmp_path), "mini", handed_in, tmp_path)


def test_what_is_recorded_fits_postgresql(course: Course) -> None:
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.schema import CreateTable

    table = recorder._graded_table()
    made = str(CreateTable(table).compile(dialect=postgresql.dialect()))
    assert "PRIMARY KEY (problem_set, student)" in made
    assert "course_graded" in str(table.insert().compile(dialect=postgresql.dialect()))


# Beside stock nbgrader


def stock_scores(
    course: Course, problem_set: str, handed_in: Path, workspace: Path
) -> dict[str, dict[str, float]]:
    """What nbgrader's own autograde gives: its kernel, its cells, with `mark` as the hidden cell."""
    from nbgrader.api import Gradebook
    from nbgrader.converters import Autograde
    from nbgrader.coursedir import CourseDirectory

    from course_lib.grading.workspace import register

    place = open_workspace(course, workspace)
    register(place, problem_set)
    with nbgrader_at_work(COURSE_ROOT=str(course.root)) as log:
        config = settings(place, problem_set)
        config.CourseDirectory.submitted_directory = str(handed_in)
        Autograde(coursedir=CourseDirectory(config=config), config=config, log=log.logger).start()
    with Gradebook(place.gradebook) as gradebook:
        return {
            submission.student.id: {grade.name: grade.score for grade in submission.notebooks[0].grades}
            for submission in gradebook.assignment_submissions(problem_set)
        }


@pytest.mark.slow
def test_honest_submissions_score_as_in_stock_nbgrader(tmp_path: Path) -> None:
    from course_lib.grading.sample import sample_class, write_sample
    from course_lib.release.notebooks import require_bank

    shutil.copy(ROOT / "course.toml", tmp_path)
    shutil.copytree(ROOT / "solutions" / "ps1", tmp_path / "solutions" / "ps1")
    course = find_course(tmp_path)
    release(course, "ps1")
    students = [
        student
        for student in sample_class(require_bank(course.solutions / "ps1"))
        if student.kind == "notebook"
    ]
    write_sample(students, course.exercises / "ko" / "ps1", tmp_path / "in" / "ps1")
    ours = grade(course, "ps1", tmp_path / "in" / "ps1", tmp_path / "ours")
    stock = stock_scores(course, "ps1", tmp_path / "in" / "ps1", tmp_path / "stock")
    assert len(stock) == len(students) > 10
    assert {
        student.id: {item.id: item.score or 0.0 for item in student.items} for student in ours.students
    } == stock
