"""What a cell prints stands in the book as it was printed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from nbformat.v4 import new_output

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
streams = importlib.import_module("book.theme.streams")
render = importlib.import_module("myst_nb.core.render")


def test_merged_streams_keep_a_line_that_came_in_two_messages() -> None:
    streams.setup(None)
    streams.setup(None)  # a second build in one process
    outputs = [new_output("stream", name="stdout", text=text) for text in ("head", " [0, 1]\n", "next", "\n")]
    (merged,) = render.coalesce_streams([*outputs])
    assert merged["text"] == "head [0, 1]\nnext\n"


def test_joined_leaves_other_outputs_and_their_order() -> None:
    result = new_output("execute_result", {"text/plain": "3"})
    printed, warned = (new_output("stream", name=name, text=name) for name in ("stdout", "stderr"))
    found = streams.joined([warned, result, printed, printed])
    assert [output.get("text") for output in found] == ["stderr", None, "stdoutstdout"]
    assert found[1] is result
    assert printed["text"] == "stdout"
