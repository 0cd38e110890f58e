"""What nbgrader's own commands use in a course: the same intake, the same two rooms, the same pages.

nbgrader_config.py names the exporters and the preprocessor below. nbgrader's kernel never starts, and what it would
take from a submission (files, locked cells, metadata) it takes from the release.
"""

from __future__ import annotations

import tempfile
import weakref
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from nbconvert.exporters import Exporter, NotebookExporter
from nbgrader import preprocessors
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode, default

from course_lib.course import CourseError, read_course
from course_lib.grading import lateness
from course_lib.grading.feedback_page import ItemMark, SubmissionMarks, page
from course_lib.grading.gradebook import mark_of
from course_lib.grading.intake import (
    Missing,
    Submission,
    Unreadable,
    refusal,
    set_aside_no_time,
    stage,
    submissions_in,
)
from course_lib.grading.notebook import packed, read_notebook, unpacked
from course_lib.grading.receipts import Receipt, read_receipts, stamp
from course_lib.grading.rooms import require_walls
from course_lib.grading.stamps import doubt
from course_lib.grading.worker import Unit, begin, end, examine_unit, paper_of


def install(config: Any, course: Path) -> None:
    """Sets in nbgrader's `config` that its `autograde` examines in the rooms of the course."""
    config.RoomExporter.course = config.FeedbackExporter.course = str(course)
    config.Autograde.exporter_class = f"{__name__}.RoomExporter"
    # No --no-execute, no tag and no cell of a submission has a say in what is run.
    config.Autograde.sanitize_preprocessors = [preprocessors.ClearOutput, preprocessors.OverwriteKernelspec]
    config.Autograde.autograde_preprocessors = [
        ExamineInRooms,
        preprocessors.SaveAutoGrades,
        preprocessors.AssignLatePenalties,
        preprocessors.CheckCellMetadata,
    ]

    lateness.install(config, course)
    config.GenerateFeedback.exporter_class = f"{__name__}.FeedbackExporter"
    config.GenerateFeedback.preprocessors = []


class ExaminationFailed(Exception):
    """A notebook could not be examined: why."""


class RoomExporter(NotebookExporter):
    """Stands where nbgrader reads notebooks: gives it those that intake has staged, and holds the rooms open."""

    course = Unicode(help="The course's folder.").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        try:
            require_walls()
            self._take_in(self.parent)
        except CourseError as refusal:
            self.log.error(str(refusal))
            raise NbGraderException(str(refusal)) from refusal

    def from_filename(self, filename: str, resources: Any = None, **kw: Any) -> Any:
        """The notebook in a file; Unreadable, and no marks, where what was handed in is none."""
        where = resources["nbgrader"]
        if where["student"] in self._refused:
            without_marks(where, only_where_none=True)
            raise Unreadable(f"{where['student']}: {self._refused[where['student']]}")
        return super().from_filename(filename, resources=resources, **kw)

    def examine(self, notebook: Any, student: str) -> Any:
        """The executed notebook of a student."""
        examined = examine_unit(Unit(student, packed(notebook), self._paper))
        if examined.failure:
            raise ExaminationFailed(f"{student}: {examined.failure}")
        return unpacked(examined.notebook)

    def _take_in(self, converter: Any) -> None:
        """Stages what was handed in, away from where it lies, and points nbgrader there."""
        directory = converter.coursedir
        course, name = read_course(Path(self.course)), directory.assignment_id
        self.settings = course
        course.require_problem_set(name)
        self._refused: dict[str, str] = {}
        self._scratch = tempfile.TemporaryDirectory()
        self._released = read_notebook(course.released(name))
        with Gradebook(directory.db_url) as gradebook:
            lateness.write_deadlines(gradebook.db, course, name)
            receipts = read_receipts(gradebook, name)
        for submission in submissions_in(Path(directory.root) / directory.submitted_directory, name):
            if fnmatchcase(submission.student, directory.student_id):
                self._stage(submission, receipts.get(submission.student), directory)
        converter.coursedir = _elsewhere(directory, submitted_directory=self._scratch.name)
        converter.init_notebooks()
        paper = paper_of(course, name)
        begin(paper)
        self._paper = paper.digest
        weakref.finalize(self, end, paper.digest)

    def _stage(self, submission: Submission, receipt: Receipt | None, directory: Any) -> None:
        """Stages one submission; one that can't be read is refused, or left out where an earlier one was graded."""
        student, name = submission.student, directory.assignment_id
        target = Path(self._scratch.name) / student / name / f"{name}.ipynb"
        try:
            set_aside_no_time(submission, name)
            handed_in = stage(submission, name, self._released, target)
        except Missing as nothing:
            self.log.warning("%s: %s", student, nothing)
        except Exception as error:
            damage = refusal(error)
            if (_folder(directory, "autograded", student) / f"{name}.ipynb").is_file():
                self.log.error("%s: %s; what was graded before stands", student, damage)
                return
            self._refused[student] = damage
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        else:
            if receipt is not None:
                stamp(target.parent, receipt.line)
            elif against := doubt(handed_in, name, student, self.settings.deadlines, datetime.now(UTC)):
                self.log.warning("%s: %s", student, against)


class ExamineInRooms(NbGraderPreprocessor):  # type: ignore[misc]  # untyped
    """Takes the place of nbgrader's Execute: leaves verdict and points in the graded cells."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The executed notebook; none, and no marks, where it could not be examined."""
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:  # the rows of a student who is new are there only now
            lateness.write_deadlines(gradebook.db, self.parent.settings, where["assignment"])
        try:
            return self.parent.examine(nb, where["student"]), resources
        except ExaminationFailed:
            without_marks(where)
            raise


class FeedbackExporter(Exporter):
    """Stands where nbgrader's generate_feedback makes HTML: one page without script, for its student alone."""

    course = Unicode(help="The course's folder.").tag(config=True)
    output_mimetype = "text/html"

    @default("file_extension")
    def _file_extension_default(self) -> str:
        return ".html"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        self._language = read_course(Path(self.course)).language
        converter: Any = self.parent
        directory = converter.coursedir
        # The exercise's data lies beside the executed notebook, and would be copied to each page.
        converter.coursedir = _elsewhere(directory, ignore=[*directory.ignore, "*.npz"])
        if not directory.groupshared:
            # The files keep their mode on their way through the exchange, so the folder is what is closed.
            feedback = Path(directory.root) / directory.feedback_directory
            feedback.mkdir(mode=0o700, parents=True, exist_ok=True)
            feedback.chmod(0o700)

    def from_notebook_node(self, nb: Any, resources: Any = None, **kw: Any) -> Any:
        """The page of an executed notebook, with the marks that the gradebook has now."""
        _, resources = super().from_notebook_node(nb, resources, **kw)
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:
            marks = marks_of(gradebook, where["assignment"], where["student"])
        return page(
            nb,
            marks,
            problem_set=where["assignment"],
            student=where["student"],
            language=self._language,
        ), resources


def marks_of(gradebook: Any, problem_set: str, student: str) -> SubmissionMarks:
    """The marks of a submission, in the order of the notebook, and the comments on it."""
    notebook = gradebook.find_submission_notebook(problem_set, problem_set, student)
    items = {grade.name: ItemMark(mark_of(grade).final, float(grade.max_score)) for grade in notebook.grades}
    comments = {comment.name: comment.comment or "" for comment in notebook.comments}
    return SubmissionMarks(items, comments, float(notebook.late_submission_penalty or 0.0))


def without_marks(where: dict[str, str], *, only_where_none: bool = False) -> None:
    """Zero for what could not be graded. What a person gave stays, to be looked at again."""
    with Gradebook(where["db_url"]) as gradebook:
        notebook = gradebook.find_submission_notebook(
            where["notebook"], where["assignment"], where["student"]
        )
        for grade in notebook.grades:
            by_hand = grade.manual_score is not None
            if not (only_where_none and (by_hand or grade.auto_score is not None)):
                grade.auto_score, grade.needs_manual_grade = 0.0, by_hand
        gradebook.db.commit()


def _folder(directory: Any, step: str, student: str) -> Path:
    """A student's folder in a step of nbgrader's: "autograded", say."""
    return Path(
        directory.format_path(getattr(directory, f"{step}_directory"), student, directory.assignment_id)
    )


def _elsewhere(directory: Any, **traits: Any) -> Any:
    """The same course directory with some traits set otherwise; the given one may outlive this run."""
    copied = CourseDirectory(parent=directory.parent)
    for name in directory.trait_names(config=True):
        setattr(copied, name, traits.get(name, getattr(directory, name)))
    return copied
