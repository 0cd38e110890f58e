"""Outputs of an executed notebook: of students' cells what can do no harm, and those of graded cells."""

from __future__ import annotations

from typing import Any

from course_lib.grading.notebook import new_output
from course_lib.grading.pictures import Pixels
from course_lib.grading.plain import plain_line, plain_text

MAX_CHARACTERS = 2**21  # of a notebook
MAX_OUTPUTS = 1000
_CUT = "\n[output cut off here]\n"


class Outputs:
    """The outputs of one notebook: text and pictures that can't run or load anything, up to a size."""

    def __init__(self, characters: int = MAX_CHARACTERS) -> None:
        self._characters, self._outputs = characters, MAX_OUTPUTS * characters // MAX_CHARACTERS
        self._pixels = Pixels()

    def checked(self, outputs: list[Any], count: int) -> list[Any]:
        """The outputs of a cell that have nbformat's form; whatever else came is left out."""
        kept = []
        for output in outputs[: self._outputs]:
            made = self._made(output, count) if isinstance(output, dict) else None
            if made is None:
                continue
            kept.append(made)
            self._outputs -= 1
            if self._characters <= 0 or self._outputs <= 0:
                self._characters = self._outputs = 0
                return [*kept, new_output("stream", name="stdout", text=_CUT)]
        return kept

    def _made(self, output: dict[str, Any], count: int) -> Any | None:
        kind = output.get("output_type")
        if kind == "stream" and output.get("name") in ("stdout", "stderr"):
            return new_output("stream", name=output["name"], text=self._text(output.get("text")))
        if kind == "error":
            lines = output.get("traceback")
            return new_output(
                "error",
                ename=plain_line(output.get("ename"), 200),
                evalue=self._text(output.get("evalue"), 2000),
                traceback=[self._text(line) for line in lines[:100]] if isinstance(lines, list) else [],
            )
        data = self._data(output.get("data"))
        if kind not in ("display_data", "execute_result") or not data:
            return None
        return new_output(kind, data=data, **({"execution_count": count} if kind == "execute_result" else {}))

    def _data(self, data: Any) -> dict[str, str]:
        """Of a display: its text, and its picture."""
        if not isinstance(data, dict):
            return {}
        shown = {"text/plain": self._text(data["text/plain"])} if "text/plain" in data else {}
        image = data.get("image/png")
        if isinstance(image, str) and len(image) <= self._characters and self._pixels.take(image):
            self._characters -= len(image)
            shown["image/png"] = image
        return shown

    def _text(self, text: Any, most: int = MAX_CHARACTERS) -> str:
        shown = plain_text(text, min(most, self._characters))
        self._characters -= len(shown)
        return shown


def graded_outputs(text: str, points: float, count: int) -> list[Any]:
    """What stock nbgrader's run of the hidden cell would leave: the report, then the points as the cell's value."""
    return [
        new_output("stream", name="stdout", text=text + "\n"),
        new_output("execute_result", data={"text/plain": repr(points)}, execution_count=count),
    ]


def error_output(words: str) -> Any:
    """Stands where a cell was stopped."""
    return new_output("error", ename="Stopped", evalue=words, traceback=[words])
