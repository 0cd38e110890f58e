"""What importing the library loads, in an interpreter of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import course_lib

LOADED = """
import json, sys
before = set(sys.modules)
{code}
loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(json.dumps(sorted(loaded - set(sys.stdlib_module_names))))
"""


def loaded_by(code: str) -> set[str]:
    """The top-level packages, outside the standard library, that the code loads."""
    command = [sys.executable, "-c", LOADED.format(code=code)]
    return set(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


# These two are all that it needs; they bring some packages of their own.
NEEDED = "import numpy, array_api_compat.numpy"


def test_import_loads_numpy_and_array_api_compat_alone() -> None:
    assert loaded_by("import course_lib") == loaded_by(NEEDED) | {"course_lib"}


def test_neither_importing_nor_computing_on_numpy_loads_torch_or_matplotlib() -> None:
    code = "import numpy, course_lib; q = numpy.ones((2, 3)); course_lib.attention(q, q, q, causal=True)"
    loaded = loaded_by(f"{code}; course_lib.qk_norm(q, q); course_lib.padding_mask(numpy.array([1]), 3)")
    assert loaded == loaded_by(NEEDED) | {"course_lib"}
    assert not loaded & {"torch", "matplotlib"}


def test_explain_is_at_hand_without_matplotlib() -> None:
    loaded = loaded_by("import course_lib; course_lib.explain")
    assert "course_lib" in loaded
    assert "matplotlib" not in loaded


@pytest.mark.parametrize("name", course_lib.__all__)
def test_every_public_name_is_there_with_its_docstring(name: str) -> None:
    assert getattr(course_lib, name).__doc__


def test_completion_knows_every_public_name_before_its_first_use() -> None:
    code = "import course_lib; assert {*course_lib.__all__} <= {*dir(course_lib)}; print(*dir(course_lib))"
    assert (
        "explain"
        in subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    )


def test_command_with_the_library_alone_says_what_is_missing() -> None:
    code = "import sys; sys.modules['typer'] = None; from course_lib.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "course: This command needs more than the library: typer is missing. In a clone"
    )
    assert done.stderr.count("\n") == 1


def test_a_name_that_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match="module 'course_lib' has no attribute 'attend'"):
        getattr(course_lib, "att" + "end")
