"""With this, nbgrader's own commands and formgrader work in the course's folder, after `course release`."""

from pathlib import Path

from course_lib.grading.workspace import set_up

ROOT = Path(__file__).parent
set_up(get_config(), course=ROOT, workspace=ROOT)  # type: ignore[name-defined]  # noqa: F821  # given by traitlets
