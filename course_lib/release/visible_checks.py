"""Runs the visible checks of every notebook that somebody has begun: `python visible_checks.py`, in the public tree.

A file of its own, with nothing of this package: it is copied into the public tree, for the workflow there and for
whoever wants to know before a push. `--begun` only lists the folders whose notebook is no longer as it was handed out.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

EXERCISES = Path("exercises")
HANDED_OUT = EXERCISES / "handed-out.sha256"  # in the format of sha256sum


def main(arguments: list[str]) -> int:
    """Prints how each begun notebook stands; 1 where a check of one fails."""
    begun = begun_notebooks()
    if "--begun" in arguments:
        for notebook in begun:
            print(notebook.parent.as_posix())
        return 0
    failed = [notebook for notebook in begun if not passes(notebook)]
    print(f"Begun: {len(begun)}; of these, all checks pass in {len(begun) - len(failed)}.")
    return 1 if failed else 0


def begun_notebooks() -> list[Path]:
    """Those that differ from what was handed out."""
    lines = HANDED_OUT.read_text(encoding="utf-8").splitlines()
    untouched = {tuple(line.split("  ", 1)) for line in lines}
    notebooks = sorted(EXERCISES.glob("*/*/*.ipynb"))
    return [path for path in notebooks if (_digest(path), path.as_posix()) not in untouched]


def passes(notebook: Path) -> bool:
    """Whether all checks of a notebook pass; prints those that don't."""
    from nbgrader.validator import Validator

    try:
        found: dict[str, list[dict[str, Any]]] = Validator().validate(str(notebook))
    except Exception as error:  # a notebook that can't be read or run: the others are checked all the same
        print(f"✗ {notebook.as_posix()}: {type(error).__name__}: {error}")
        return False
    if not found:
        print(f"✓ {notebook.as_posix()}")
    for kind, cells in found.items():
        for cell in cells:
            print(f"✗ {notebook.as_posix()}: {kind}: {cell['source'].splitlines()[-1]}")
    return not found


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
