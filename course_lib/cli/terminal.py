"""What commands print with: tables, bars, paths as somebody would type them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table


def table(title: str, *columns: str) -> Table:
    """An empty table in the style of all commands."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for column in columns:
        numeric = column in ("score", "after lateness", "predicted")
        narrow = numeric or column in ("student", "handed in", "status")
        # "fold": rich would cut a wrapped line of wide characters short
        table.add_column(column, justify="right" if numeric else "left", no_wrap=narrow, overflow="fold")
    return table


def shown(path: Path) -> str:
    """The path as somebody would type it here."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def console() -> Console:
    """The terminal; where there is none (a log, a pipe), lines as wide as they need."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=160)


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on stderr while something takes its time; nothing where nobody watches."""
    stderr = Console(stderr=True)
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total, who: progress.update(
            task, completed=done, total=total, description=f"{what} {who}"
        )


def say_where(places: list[tuple[str, str]]) -> None:
    """Prints what can be opened now, and where it lies."""
    print("Open:")
    for name, place in places:
        print(f"  {name:10} {place}")
