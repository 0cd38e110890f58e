"""The one place where students' code runs.

Not safe against hostile code yet: the cells of a submission and the hidden cells share one kernel, which runs as
whoever grades, with the course's files in reach. Everything else in grading only reads what `execute` leaves behind,
so a safe way to run code takes the place of this one function.
"""

from __future__ import annotations

from course_lib.grading.workspace import NbgraderLog, Workspace, nbgrader_at_work, settings


class ExecutionFailed(Exception):
    """The notebook could not be run to its end: one sentence that says why."""


def execute(workspace: Workspace, problem_set: str, student: str) -> None:
    """Runs a staged notebook with the hidden cells put in.

    Leaves the executed notebook in autograded/STUDENT/PROBLEM_SET/ and nbgrader's scores in the gradebook.
    ExecutionFailed where there is no executed notebook at the end.
    """
    from nbgrader.converters.base import NbGraderException

    with nbgrader_at_work(COURSE_ROOT=str(workspace.course.root)) as log:
        try:
            _autograde(workspace, problem_set, student, log)
        except NbGraderException as error:
            raise ExecutionFailed(_reason(log, str(error))) from error
        finally:
            _keep(log, workspace, problem_set, student)


def _autograde(workspace: Workspace, problem_set: str, student: str, log: NbgraderLog) -> None:
    from nbgrader.converters import Autograde
    from nbgrader.coursedir import CourseDirectory

    config = settings(workspace, problem_set)
    config.CourseDirectory.submitted_directory = str(workspace.staged)
    config.CourseDirectory.student_id = student
    converter = Autograde(coursedir=CourseDirectory(config=config), config=config, log=log.logger)
    converter.force = True
    converter.start()


def _reason(log: NbgraderLog, otherwise: str) -> str:
    if "DeadKernelError" in log.text:
        return "the notebook ended its own Python process (exit(), or more memory than there is), so nothing was graded"
    if "kernel became unresponsive" in log.text.replace("\n", " "):
        return "a cell ran too long and could not be interrupted, so nothing was graded"
    return f"the notebook could not be run: {log.last_error or otherwise}"


def _keep(log: NbgraderLog, workspace: Workspace, problem_set: str, student: str) -> None:
    path = workspace.log(problem_set, student)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(log.text + "\n", encoding="utf-8")
