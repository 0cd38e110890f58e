"""The command `course`, also as `python -m course_lib`; with the library alone it says what is missing."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command; exit status 1 and one sentence where the packages that it needs are not installed."""
    try:
        from course_lib.cli import main as course
    except ModuleNotFoundError as missing:
        sys.exit(
            f"course: This command needs more than the library: {missing.name} is missing. "
            "In a clone of the module, run make, or: pip install '.[course]'"
        )
    course()


if __name__ == "__main__":
    main()
