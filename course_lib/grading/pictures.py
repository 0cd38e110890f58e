"""Pictures from a submission: only such as a browser can draw, and of one notebook no more than it can hold."""

from __future__ import annotations

import base64
import binascii
import re
import struct

KINDS = ("image/png", "image/jpeg")
_MOST_IN_ONE = 25_000_000
_MOST_IN_ALL = 100_000_000  # a browser takes four bytes for each
_MOST_SCANS = 64  # of a JPEG, each of which paints it anew
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*", re.ASCII)
# Markers of a JPEG without a length; those that begin a frame, with its size; and the one that begins a scan.
_ALONE = {0x01, *range(0xD0, 0xD9)}
_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_SCAN = 0xDA


class Pixels:
    """What the pictures of one notebook may still take."""

    def __init__(self) -> None:
        self.left = _MOST_IN_ALL

    def take(self, data: object, kind: str = "image/png") -> bool:
        """Whether one more picture may be shown."""
        pixels = pixels_of(data, kind)
        if not 0 < pixels <= self.left:
            return False
        self.left -= pixels
        return True


def pixels_of(data: object, kind: str = "image/png") -> int:
    """The pixels of a still picture in base64, if it is of this kind and of a size that can be drawn; else 0."""
    if not isinstance(data, str) or not _BASE64.fullmatch(data):
        return 0
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
        width, height = _size_of_png(content) if kind == "image/png" else _size_of_jpeg(content)
    except (binascii.Error, struct.error, IndexError):
        return 0
    return width * height if width * height <= _MOST_IN_ONE else 0


def _size_of_png(content: bytes) -> tuple[int, int]:
    """Width and height; 0 where it is no PNG, or one that moves."""
    if content[:8] != b"\x89PNG\r\n\x1a\n" or content[12:16] != b"IHDR":
        return 0, 0
    if b"acTL" in content[: content.find(b"IDAT")]:
        return 0, 0
    width, height = struct.unpack("!II", content[16:24])
    return width, height


def _size_of_jpeg(content: bytes) -> tuple[int, int]:
    """Width and height; 0 where it is no JPEG, or its head is not as browsers read it."""
    if content[:2] != b"\xff\xd8" or content.count(bytes([0xFF, _SCAN])) > _MOST_SCANS:
        return 0, 0
    place = 2
    while content[place] == 0xFF:
        marker = content[place + 1]
        if marker in _FRAME:
            height, width = struct.unpack("!HH", content[place + 5 : place + 9])
            return width, height
        if marker in _ALONE or marker == _SCAN:
            break
        # A marker may have more of its first byte before it.
        place += 1 if marker == 0xFF else 2 + struct.unpack("!H", content[place + 2 : place + 4])[0]
    return 0, 0
