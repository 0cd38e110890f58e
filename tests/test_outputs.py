"""Outputs that are kept of a submission's cells: of nbformat's form, harmless, and up to a size."""

from __future__ import annotations

from typing import Any

import pytest

from course_lib.grading.outputs import MAX_CHARACTERS, MAX_OUTPUTS, Outputs, error_output, graded_outputs

CUT = "\n[output cut off here]\n"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # one pixel


def stream(text: Any, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def display(**data: Any) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "data": {name.replace("_", "/"): value for name, value in data.items()},
    }


@pytest.mark.parametrize(
    "output",
    [
        7,
        None,
        {},
        {"output_type": "stream", "name": "stdin", "text": "x"},
        {"output_type": "update_display_data", "data": {"text/plain": "x"}},
        {"output_type": "surprise", "name": "stdout", "text": "x"},
        display(text_html="<script>"),
        {"output_type": "display_data", "data": ["text/plain"]},
    ],
    ids=str,
)
def test_checked_leaves_out_what_has_another_form(output: Any) -> None:
    assert [one.text for one in Outputs().checked([output, stream("kept")], 1)] == ["kept"]


def test_checked_keeps_each_kind_and_no_more_than_its_fields() -> None:
    error = {
        "output_type": "error",
        "ename": "E\nx",
        "evalue": "why",
        "traceback": ["a\x1b[31m", "b"],
        "more": 1,
    }
    result = {
        "output_type": "execute_result",
        "data": {"text/plain": "3", "text/html": "<b>"},
        "execution_count": 9,
    }
    kept = Outputs().checked([stream("out", "stderr"), error, result, display(image_png=PNG)], 4)
    assert kept == [
        {"output_type": "stream", "name": "stderr", "text": "out"},
        {"output_type": "error", "ename": "E x", "evalue": "why", "traceback": ["a", "b"]},
        {"output_type": "execute_result", "metadata": {}, "data": {"text/plain": "3"}, "execution_count": 4},
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": PNG}},
    ]


@pytest.mark.parametrize("text", [7, None, ["a"]])
def test_checked_takes_no_text_from_what_is_none(text: Any) -> None:
    assert [one.text for one in Outputs().checked([stream(text)], 1)] == [""]
    no_lines = {"output_type": "error", "ename": text, "evalue": text, "traceback": "a"}
    [kept] = Outputs().checked([no_lines], 1)
    assert (kept.ename, kept.evalue, kept.traceback) == ("", "", [])


def test_checked_cuts_off_at_the_characters_of_a_notebook() -> None:
    outputs = Outputs()
    [first] = outputs.checked([stream("x" * (MAX_CHARACTERS - 5))], 1)
    assert len(first.text) == MAX_CHARACTERS - 5
    assert [one.text for one in outputs.checked([stream("y" * 9), stream("z")], 2)] == ["y" * 5, CUT]
    assert outputs.checked([stream("z")], 3) == []


def test_checked_counts_pictures_and_errors_as_characters() -> None:
    picture, error = Outputs(), Outputs()
    picture.checked([display(image_png=PNG)], 1)
    error.checked([{"output_type": "error", "ename": "E", "evalue": "abc", "traceback": ["defg"]}], 1)
    for outputs, used in ((picture, len(PNG)), (error, 7)):
        kept = outputs.checked([stream("x" * MAX_CHARACTERS)], 2)
        assert [len(one.text) for one in kept] == [MAX_CHARACTERS - used, len(CUT)]


def test_checked_leaves_out_a_picture_for_which_nothing_is_left() -> None:
    for left, shown in ((len("figure") + len(PNG), 2), (len("figure") + len(PNG) - 1, 1)):
        used = stream("x" * (MAX_CHARACTERS - left))
        kept = Outputs().checked([used, display(text_plain="figure", image_png=PNG)], 1)
        assert len(kept[1].data) == shown


def test_checked_keeps_so_many_outputs_of_a_notebook() -> None:
    outputs = Outputs()
    assert len(outputs.checked([stream("x")] * (MAX_OUTPUTS - 1), 1)) == MAX_OUTPUTS - 1
    assert [one.text for one in outputs.checked([stream("x")] * 9, 2)] == ["x", CUT]
    assert outputs.checked([stream("x")], 3) == []


def test_checked_shows_the_first_lines_of_a_traceback_and_the_beginning_of_an_error() -> None:
    error = {"output_type": "error", "ename": "E" * 500, "evalue": "v" * 5000, "traceback": ["t"] * 500}
    [kept] = Outputs().checked([error], 1)
    assert (len(kept.ename), len(kept.evalue), len(kept.traceback)) == (200, 2000, 100)


def test_outputs_of_our_own_have_nbformats_form() -> None:
    said, points = graded_outputs("all right", 2.5, 7)
    assert (said.text, points.data, points.execution_count) == ("all right\n", {"text/plain": "2.5"}, 7)
    stopped = error_output("Stopped after 4 s.")
    assert (stopped.ename, stopped.evalue, stopped.traceback) == (
        "Stopped",
        "Stopped after 4 s.",
        ["Stopped after 4 s."],
    )
