"""course_lib as a wheel beside each exercise: students install it where there is no checkout.

Built here rather than by a build tool, because the same sources must give the same bytes within milliseconds.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import course_lib

WHEEL = f"course_lib-{course_lib.__version__}-py3-none-any.whl"
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip file can hold


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


def wheel() -> bytes:
    """The wheel of the library that is running, without the command `course`, which needs more than students have."""
    records, buffer = [], io.BytesIO()
    info = f"course_lib-{course_lib.__version__}.dist-info"
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in [*_sources(), (f"{info}/METADATA", _metadata()), (f"{info}/WHEEL", _WHEEL)]:
            _add(archive, name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            records.append(f"{name},sha256={digest},{len(content)}\n")
        _add(archive, f"{info}/RECORD", "".join([*records, f"{info}/RECORD,,\n"]).encode())
    return buffer.getvalue()


_WHEEL = b"Wheel-Version: 1.0\nGenerator: course release\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _sources() -> Iterator[tuple[str, bytes]]:
    package = Path(course_lib.__file__).parent
    for path in sorted([*package.rglob("*.py"), *package.rglob("py.typed")]):
        yield path.relative_to(package.parent).as_posix(), path.read_bytes()


def _metadata() -> bytes:
    needed = [line for line in requires("course_lib") or [] if "extra ==" not in line]
    lines = ["Metadata-Version: 2.1", "Name: course_lib", f"Version: {course_lib.__version__}"]
    lines += ["License: MIT", *(f"Requires-Dist: {line}" for line in sorted(needed))]
    return ("\n".join(lines) + "\n").encode()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, LONG_AGO)
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
