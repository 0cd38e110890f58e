"""course_lib as a wheel beside each exercise, and what pip reads there: students install it without a checkout.

Built here rather than by a build tool, because the same sources must give the same bytes within milliseconds.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Iterator
from importlib.metadata import requires
from pathlib import Path

import course_lib
from course_lib.release.archive import packed

# For Macs with an Intel processor, and for Windows on ARM, there is none; what needs no Torch still runs there.
_TORCH = "platform_machine != 'ARM64' and (sys_platform != 'darwin' or platform_machine != 'x86_64')"
_VERSIONS = {"torch": f"torch>=2.6,<3; {_TORCH}"}
WHEEL = f"course_lib-{course_lib.__version__}-py3-none-any.whl"


def put_wheel(folder: Path) -> None:
    """Writes the wheel into an exercise's folder, in the place of any other; one that is up to date stays."""
    content = wheel()
    for other in folder.glob("course_lib-*.whl"):
        if other.name != WHEEL:
            other.unlink()
    if not (folder / WHEEL).is_file() or (folder / WHEEL).read_bytes() != content:
        draft = folder / f".{WHEEL}.{os.getpid()}"
        draft.write_bytes(content)
        os.replace(draft, folder / WHEEL)


def put_wheels(exercises: Path) -> None:
    """Writes the wheel into every exercise's folder below LANGUAGE/."""
    for exercise in sorted(exercises.glob("*/*/")):
        put_wheel(exercise)


def requirements(modules: Iterable[str], library: str = f"./{WHEEL}") -> str:
    """A requirements.txt: course_lib, by default the wheel, what every notebook needs, and the modules of this one.

    course_lib comes first: so pip refuses a Python that is too old at once, not after minutes and for another package.
    """
    needed = [library, "numpy>=2,<3", "array-api-compat>=1.11,<2", "matplotlib>=3.9,<4"]
    needed += [*(_VERSIONS.get(module, module) for module in modules), "jupyterlab>=4,<5"]
    return "# In this folder: pip install -r requirements.txt, then jupyter lab\n" + "\n".join(needed) + "\n"


def wheel() -> bytes:
    """The wheel of the library that is running, without the command `course`, which needs more than students have."""
    info = f"course_lib-{course_lib.__version__}.dist-info"
    members = [*_sources(), (f"{info}/METADATA", _metadata()), (f"{info}/WHEEL", _WHEEL)]
    records = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in members]
    return packed([*members, (f"{info}/RECORD", "".join([*records, f"{info}/RECORD,,\n"]).encode())])


_WHEEL = b"Wheel-Version: 1.0\nGenerator: course release\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _sources() -> Iterator[tuple[str, bytes]]:
    package = Path(course_lib.__file__).parent
    for path in sorted([*package.rglob("*.py"), *package.rglob("py.typed")]):
        yield path.relative_to(package.parent).as_posix(), path.read_bytes()


def _metadata() -> bytes:
    needed = [line for line in requires("course_lib") or [] if "extra ==" not in line]
    lines = ["Metadata-Version: 2.1", "Name: course_lib", f"Version: {course_lib.__version__}"]
    lines += [
        "License: MIT",
        "Requires-Python: >=3.11",
        *(f"Requires-Dist: {line}" for line in sorted(needed)),
    ]
    return ("\n".join(lines) + "\n").encode()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
