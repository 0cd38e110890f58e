"""What the builders in tests/submissions/ work with: a student who writes into DIR/STUDENT/mini/."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mini import DOUBLE, MEAN, cell_of

from course_lib.course import Course
from course_lib.grading.notebook import new_cell, new_notebook, read_notebook, text_of


@dataclass
class Case:
    """One hand-in; by default the student has the case's name."""

    course: Course
    submitted: Path
    student: str

    @property
    def folder(self) -> Path:
        return self.submitted / self.student / "mini"

    def released(self) -> Any:
        return read_notebook(self.course.exercises / "en" / "mini" / "mini.ipynb")

    def answered(self, *, double: str = DOUBLE, mean: str = MEAN, why: str = "Because.") -> Any:
        notebook = self.released()
        for name, source in (("double-solution", double), ("mean-solution", mean), ("why", why)):
            cell_of(notebook, name).source = source
        return notebook

    def cell(self, notebook: Any, name: str) -> Any:
        return cell_of(notebook, name)

    def name_of(self, cell: Any) -> str:
        return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))

    def copied(self, notebook: Any, name: str, *, source: str) -> Any:
        """A copy of a cell as Jupyter makes it: with its metadata, under a new id."""
        cell = copy.deepcopy(cell_of(notebook, name))
        cell.update(id=f"{cell.id}-copy", source=source)
        return cell

    def code(self, source: str) -> Any:
        return new_cell("code", f"mine-{abs(hash(source)) % 10**9}", source, {})

    def plain(self, source: str) -> Any:
        return new_notebook([self.code(source)], {})

    def retype(self, notebook: Any, name: str, kind: str) -> None:
        """Makes a cell one of another kind."""
        cell = cell_of(notebook, name)
        cell.cell_type = kind
        for key in ("outputs", "execution_count", "attachments"):
            cell.pop(key, None)
        if kind == "code":
            cell.update(outputs=[], execution_count=None)

    def json_of(self, notebook: Any) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(json.dumps(notebook))
        return content

    def bytes_of(self, notebook: Any) -> bytes:
        return text_of(notebook).encode()

    def write(self, notebook: Any, *, name: str = "mini.ipynb") -> None:
        self.write_bytes(self.bytes_of(notebook), name=name)

    def write_json(self, content: Any) -> None:
        self.write_bytes(json.dumps(content).encode())

    def write_bytes(self, content: bytes, *, name: str = "mini.ipynb") -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)
