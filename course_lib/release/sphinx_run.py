"""One run of Sphinx over the book, in a process of its own: Sphinx changes global state, and its output goes to a log.

It imports nothing of course_lib, which is the course's own here (`PYTHONPATH`), as the chapters' kernels find it.
"""

from __future__ import annotations

import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jupyter_book.sphinx
import jupyter_cache.executors.utils
import myst_nb.sphinx_ext
import nbclient
from myst_nb.core.execute.base import ExecutionError
from nbclient.exceptions import DeadKernelError
from sphinx.util.console import nocolor

FAILED_CELL = "The cell that failed: "  # followed by JSON, on one line of the log
NOT_STARTED = "Kernel died before replying"  # as jupyter_client says it
CELL = re.compile(r"^-{18,19}\n(.*?)\n-{18,19}$", re.DOTALL | re.MULTILINE)  # as nbclient quotes it
_say_exception = jupyter_book.sphinx.handle_exception


def main(settings: dict[str, Any]) -> int:
    """The exit status; `settings` are the folders and files of `site.run_sphinx`, as texts."""
    nocolor()
    # MyST-NB would put its results beside the pages, and those of English are among the pages of Korean.
    myst_nb.sphinx_ext.OUTPUT_FOLDER = settings["executed"]
    jupyter_cache.executors.utils.executenb = _execute
    jupyter_book.sphinx.handle_exception = _note_failed_cell
    result = jupyter_book.sphinx.build_sphinx(
        settings["source"],
        settings["output"],
        noconfig=True,
        path_config=settings["config"],
        doctreedir=settings["doctrees"],
        builder=settings["builder"],
        confoverrides={"latex_individualpages": False, **settings["overrides"]},
        warningiserror=True,
        keep_going=True,
    )
    return 0 if result == 0 else 1


def _execute(notebook: Any, **options: Any) -> Any:
    """Executes a chapter; a kernel that did not start is started once more.

    Kernels that start side by side, as those of two languages do, may have chosen the same port.
    """
    # What a cell prints comes in pieces, torn anywhere on a busy machine; MyST-NB would begin a line with each of them.
    execute = partial(nbclient.execute, notebook, coalesce_streams=True, **options)
    try:
        return execute()
    except RuntimeError as error:
        if not str(error).startswith(NOT_STARTED):
            raise
        return execute()


def _note_failed_cell(app: Any, arguments: object, error: BaseException, stream: Any) -> None:
    cause = error if isinstance(error, DeadKernelError) else error.__cause__
    if cause is not None and isinstance(error, ExecutionError | DeadKernelError):
        page = Path(app.env.doc2path(app.env.docname))
        print(FAILED_CELL + json.dumps(_failed_cell(page, cause)), file=stream)
    _say_exception(app, arguments, error, stream)


def _failed_cell(page: Path, cause: BaseException) -> dict[str, Any]:
    """The page, the cell's line in it (0 where it isn't known) and first line of code, and what was raised."""
    quoted = CELL.search(str(cause))
    source, text = quoted[1] if quoted else "", page.read_text(encoding="utf-8")
    code = [line.strip() for line in source.splitlines() if line.strip()]
    return {
        "page": str(page),
        "line": text.count("\n", 0, text.index(source)) + 1 if source and source in text else 0,
        "begins": code[0] if code else "",
        "kind": getattr(cause, "ename", type(cause).__name__),
        "text": getattr(cause, "evalue", str(cause).partition("\n")[0]),
    }


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
