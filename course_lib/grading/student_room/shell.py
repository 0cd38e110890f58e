"""A notebook's cells run as notebook cells: display, figures, magics, top-level await; their outputs kept as data."""

from __future__ import annotations

import re
import sys
from typing import Any

MAX_OUTPUT = 2**21  # characters, all cells of a notebook together

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Shell:
    """IPython's shell, made before the fork, with its outputs collected in nbformat's form."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self.left = MAX_OUTPUT
        self.shell = _new_shell()
        self.shell.enable_gui = lambda gui=None: None  # figures are drawn inline, no window is ever opened
        self.shell.ask_exit = lambda: None
        self.shell.display_pub.publish = self._display
        self.shell.displayhook.write_output_prompt = lambda: None
        self.shell.displayhook.write_format_data = self._result
        self.shell.displayhook.finish_displayhook = lambda: None
        self.shell._showtraceback = self._error
        if "matplotlib" in sys.modules:  # else it sets itself up by MPLBACKEND when a cell imports it
            self.shell.enable_matplotlib("inline")
        self.run("1 + 1")  # what IPython loads with its first cell is loaded here, once for all

    def run(self, source: str) -> tuple[list[dict[str, Any]], int]:
        """Runs one cell; its outputs, and its number."""
        self.outputs = []
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _Stream(self, "stdout"), _Stream(self, "stderr")
        try:
            self.shell.run_cell(source, store_history=True)
        except SystemExit:
            pass
        finally:
            sys.stdout, sys.stderr = before
        return self.outputs, self.shell.execution_count - 1

    def add(self, output: dict[str, Any], size: int) -> None:
        """Keeps an output if there is room for it."""
        if size + 64 > self.left:
            self.cut_off()
        else:
            self.left -= size + 64
            self.outputs.append(output)

    def cut_off(self) -> None:
        """Keeps nothing more of this notebook, and says so once."""
        if self.left > 0:
            self.outputs.append(
                {"output_type": "stream", "name": "stdout", "text": "\n[output cut off here]\n"}
            )
        self.left = 0

    def _display(self, data: Any, metadata: Any = None, **_: object) -> None:
        data = _as_json(data)
        size = sum(len(value) for value in data.values())
        self.add({"output_type": "display_data", "data": data, "metadata": {}}, size)

    def _result(self, data: Any, metadata: Any = None) -> None:
        data = _as_json(data)
        size = sum(len(value) for value in data.values())
        count = self.shell.execution_count
        self.add(
            {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": count}, size
        )

    def _error(self, kind: Any, value: Any, traceback: list[str]) -> None:
        lines = [_ANSI.sub("", line)[:20_000] for line in traceback][-40:]
        name, text = getattr(kind, "__name__", str(kind)), str(value)[:2000]
        self.add(
            {"output_type": "error", "ename": name, "evalue": text, "traceback": lines}, sum(map(len, lines))
        )


def _new_shell() -> Any:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    return InteractiveShell.instance(config=config)


class _Stream:
    """A text stream whose text becomes an output of the running cell."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, shell: Shell, name: str) -> None:
        self.shell = shell
        self.name = name

    def write(self, text: str) -> int:
        text = str(text)
        last = self.shell.outputs[-1] if self.shell.outputs else {}
        kept = text[: max(self.shell.left - 64, 0)]
        if kept and last.get("name") == self.name:
            last["text"] += kept
            self.shell.left -= len(kept)
        elif kept:
            self.shell.add({"output_type": "stream", "name": self.name, "text": kept}, len(kept))
        if len(kept) < len(text):
            self.shell.cut_off()
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise OSError("this stream has no file descriptor")


def _as_json(data: Any) -> dict[str, str]:
    """MIME types and texts; pictures as base64."""
    import base64

    texts = {}
    for kind, value in dict(data).items():
        texts[str(kind)] = base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
    return texts
