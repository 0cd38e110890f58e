"""What a cell prints stands as it was printed, however its kernel cut it into messages.

A kernel sends on what was printed a few times a second, in the middle of a line, too. MyST-NB merges the messages, but
ends each with a new line; so they are joined before.
"""

from __future__ import annotations

from functools import wraps

from myst_nb.core import render
from nbformat import NotebookNode
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    merge = render.coalesce_streams
    if hasattr(merge, "__wrapped__"):
        return  # a build before this one, in the same process
    render.coalesce_streams = wraps(merge)(lambda outputs: merge(joined(outputs)))


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs, all messages of a stream in the place of its first."""
    whole: list[NotebookNode] = []
    streams: dict[str, NotebookNode] = {}
    for output in outputs:
        if output["output_type"] != "stream":
            whole.append(output)
        elif output["name"] in streams:
            streams[output["name"]]["text"] += output["text"]
        else:
            streams[output["name"]] = NotebookNode(output)
            whole.append(streams[output["name"]])
    return whole
