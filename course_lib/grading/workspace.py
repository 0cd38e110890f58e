"""A grading workspace: the folder with submitted/, autograded/, feedback/ and gradebook.db, as nbgrader lays it out."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from course_lib.course import Course, CourseError
from course_lib.grading.files import write_whole

CODE_STUB = "raise NotImplementedError"
TEXT_STUB = "✎"  # no prose: one gradebook serves notebooks of every language
SECONDS_PER_CELL = 30
COURSE_ID = "default_course"  # nbgrader's own: PostgreSQL refuses a problem set of a course that isn't there

_CONFIG_FILE = """\
# Written by `course grade`: with it, nbgrader's commands and formgrader work in this folder.
from pathlib import Path

from course_lib.grading.workspace import set_up

set_up(get_config(), course=Path({course!r}), workspace=Path(__file__).parent)  # noqa: F821
"""


@dataclass(frozen=True)
class Workspace:
    """Where one class is graded; of `course` it takes the problem sets as they were released."""

    course: Course
    root: Path

    @property
    def submitted(self) -> Path:
        return self.root / "submitted"

    @property
    def gradebook(self) -> str:
        """The address of the gradebook, as nbgrader's models take it: db_url, where nbgrader_config.py sets it."""
        address = self.configuration.CourseDirectory.get("db_url")
        return address if isinstance(address, str) else f"sqlite:///{self.root / 'gradebook.db'}"

    @cached_property
    def configuration(self) -> Any:
        """What the workspace's nbgrader_config.py sets. CourseError where that can't be read."""
        from traitlets.config import Config
        from traitlets.config.loader import PyFileConfigLoader

        path = self.root / "nbgrader_config.py"
        if not path.is_file():
            return Config()
        with nbgrader_at_work():
            try:
                return PyFileConfigLoader(path.name, path=str(self.root)).load_config()
            except Exception as error:  # it is code: anything can come out of it
                raise CourseError(
                    f"{path} can't be read ({type(error).__name__}: {error}). Correct it there."
                ) from error

    def notebook(self, step: str, problem_set: str, student: str) -> Path:
        """A student's notebook in the folder of a step: "autograded", say."""
        return self.root / step / student / problem_set / f"{problem_set}.ipynb"

    def source(self, problem_set: str) -> Path:
        """The folder with the solutions and hidden cells of a released set; CourseError where it was not released."""
        folder = self.course.nbgrader / "source" / problem_set
        if not (folder / f"{problem_set}.ipynb").is_file():
            raise CourseError(
                f"{problem_set} has not been released: {folder} is not there. Run: course release"
            )
        return folder


def open_workspace(course: Course, root: Path) -> Workspace:
    """The workspace in `root`, made when missing, with the configuration that nbgrader's own commands need there."""
    root = root.resolve()
    if root.exists() and not root.is_dir():
        raise CourseError(f"{root} is a file, but marks are kept in a folder. Give a folder.")
    for path in (root, course.root):
        if set(str(path)) & set("[]*?"):
            raise CourseError(
                f"nbgrader takes the signs [ ] * ? in {path} for a pattern. Rename that folder."
            )
    root.mkdir(parents=True, exist_ok=True)
    _require_database(root / "gradebook.db")
    if root != course.root:
        config = _CONFIG_FILE.format(course=str(course.root))
        write_whole(root / "nbgrader_config.py", config.encode())
    return Workspace(course=course, root=root)


def _require_database(path: Path) -> None:
    if path.is_file() and path.read_bytes()[:16] not in (b"", b"SQLite format 3\0"):
        raise CourseError(f"{path} is not an SQLite database. Put a backup in its place, or move it away.")
    for place in (path.parent, path):  # SQLite writes its journal beside the database
        if place.exists() and not os.access(place, os.W_OK):
            raise CourseError(f"{place} cannot be written. Change its permissions.")


def set_up(config: Any, *, course: Path, workspace: Path) -> None:
    """What a folder's nbgrader_config.py does: with it, nbgrader's commands and formgrader work in that folder.

    `nbgrader autograde` examines in the two rooms there, like `course grade`.
    """
    from course_lib.grading import formgrader_page
    from course_lib.grading.nbgrader_plugin import install

    course, workspace = course.resolve(), workspace.resolve()
    os.environ.setdefault("COURSE_ROOT", str(course))  # kernels that nbgrader starts find the bank by it
    _configure(config, root=workspace, derived=course / "_build" / "nbgrader")
    install(config, course)
    formgrader_page.install(config)


def _configure(config: Any, *, root: Path, derived: Path) -> None:
    """Sets in nbgrader's `config` what holds for all of this course: folders, stubs, limits."""
    config.CourseDirectory.root = str(root)
    # nbgrader takes a step's folder for a pattern: below the root, it holds no sign that means something there.
    below = PurePosixPath(derived.relative_to(root).as_posix()) if derived.is_relative_to(root) else derived
    config.CourseDirectory.source_directory = str(below / "source")
    config.CourseDirectory.release_directory = str(below / "release")
    config.ClearSolutions.code_stub = {"python": CODE_STUB}
    config.ClearSolutions.text_stub = TEXT_STUB
    config.Execute.timeout = SECONDS_PER_CELL
    # Else each kernel warns on the terminal.
    config.Execute.extra_arguments = ["--IPKernelApp.log_level=ERROR"]


def settings(workspace: Workspace, problem_set: str) -> Any:
    """nbgrader's configuration to grade a problem set in a workspace."""
    from traitlets.config import Config

    config = Config()
    _configure(config, root=workspace.root, derived=workspace.course.nbgrader)
    config.CourseDirectory.assignment_id = problem_set
    config.CourseDirectory.db_url = workspace.gradebook
    return config


def register(workspace: Workspace, problem_set: str, *, source: Path | None = None) -> None:
    """Records the cells of a problem set in the workspace's gradebook, for nbgrader to grade against.

    They come from the release, or from the folder `source` of one that is about to be.
    """
    source = source or workspace.source(problem_set).parent
    with tempfile.TemporaryDirectory() as scratch:
        generate_release(problem_set, source, Path(scratch), gradebook=workspace.gradebook)


def generate_release(problem_set: str, source: Path, release: Path, *, gradebook: str | None = None) -> None:
    """Runs nbgrader's generate_assignment from `source` into `release` (folders of problem sets).

    With `gradebook`, an address, the cells are recorded there; without, nothing is recorded.
    """
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    config = Config()
    _configure(config, root=source.parent, derived=source.parent)
    config.CourseDirectory.release_directory = str(release)
    config.CourseDirectory.assignment_id = problem_set
    if gradebook is None:
        config.SaveCells.enabled = False
        config.GenerateAssignment.no_database = True
    else:
        config.CourseDirectory.db_url = gradebook
        config.CourseDirectory.course_id = COURSE_ID
    with nbgrader_at_work() as log:
        converter = GenerateAssignment(
            coursedir=CourseDirectory(config=config), config=config, log=log.logger
        )
        _start(converter, log, f"nbgrader could not make the release of {problem_set} from {source}")


def _start(converter: Any, log: NbgraderLog, failure: str) -> None:
    from nbgrader.converters.base import NbGraderException

    try:
        converter.start()
    except NbGraderException as error:
        if "submissions associated" in log.text:
            reason = (
                "the gradebook holds submissions for other cells than the problem set has now; "
                "name the tasks as they were, or give the changed set a new name"
            )
        else:
            reason = log.last_error or str(error)
        raise CourseError(f"{failure}: {reason.rstrip('.')}.{remedy_of(reason)}") from error


def remedy_of(reason: str) -> str:
    """What to do about a failure whose words say that a disk is full; empty for others."""
    full = re.search("disk is full|No space left|quota exceeded", reason)
    return " Make room on the disk; the same command goes on from there." if full else ""


class NbgraderLog(logging.Handler):
    """Everything that nbgrader logs while it works, kept instead of printed."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.logger = logging.Logger("nbgrader", logging.INFO)
        self.logger.addHandler(self)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def last_error(self) -> str:
        """The last line of the first traceback logged: the error itself; empty where there was none."""
        tracebacks = [line for line in self.lines if "Traceback (most recent call last)" in line]
        return tracebacks[0].strip().splitlines()[-1] if tracebacks else ""


@contextmanager
def nbgrader_at_work(**environment: str) -> Iterator[NbgraderLog]:
    """Surroundings in which nbgrader works in this process: its tools on PATH, its own warnings and log kept aside."""
    # nbgrader runs a bare `alembic`, which lies beside the interpreter, be the environment activated or not
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    before, folder = dict(os.environ), Path.cwd()
    os.environ.update(environment, PATH=path)
    log = NbgraderLog()
    models = logging.getLogger("tornado.application")  # where nbgrader's models log, with tracebacks
    propagated, models.propagate = models.propagate, False
    models.addHandler(log)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield log
    finally:
        models.removeHandler(log)
        models.propagate = propagated
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)
