"""Pictures of a submission: those that a browser can draw, and of one notebook not too many."""

from __future__ import annotations

import base64
import io
import json
import struct
import zlib

import pytest
from PIL import Image
from test_feedback import PNG, Seen, code, picture, shown

from course_lib.grading.foreign_notebook import parse_notebook
from course_lib.grading.formgrader_page import harmless
from course_lib.grading.outputs import Outputs
from course_lib.grading.pictures import Pixels, pixels_of


def saved(kind: str, size: tuple[int, int] = (5, 7), **options: object) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, kind, **options)
    return file.getvalue()


def text_of(content: bytes) -> str:
    return base64.b64encode(content).decode()


def head_of_png(width: int, height: int) -> bytes:
    head = b"IHDR" + struct.pack("!IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack("!I", 13) + head + struct.pack("!I", zlib.crc32(head))


def of_size(jpeg: bytes, width: int, height: int) -> bytes:
    """The same JPEG, but for what its head says."""
    place = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:place] + struct.pack("!HH", height, width) + jpeg[place + 4 :]


JPEG = saved("JPEG")
MOVING = {"save_all": True, "append_images": [Image.new("RGB", (5, 7), "blue")]}
EXIF = b"\xff\xe1" + struct.pack("!H", 2 + 6) + b"\xff\xc0\xff\xda\0\0"


@pytest.mark.parametrize(
    "content",
    [
        JPEG,
        saved("JPEG", progressive=True),
        JPEG[:2] + EXIF + JPEG[2:],
        JPEG[:2] + b"\xff\xff\xff" + JPEG[2:],
        saved("JPEG", comment=b"x" * 60_000),
    ],
)
def test_pixels_of_jpegs(content: bytes) -> None:
    assert Image.open(io.BytesIO(content)).size == (5, 7)
    assert pixels_of(text_of(content), "image/jpeg") == 35
    assert pixels_of(text_of(content)) == 0


def test_pixels_of_pngs() -> None:
    assert pixels_of(text_of(saved("PNG"))) == pixels_of(f" {text_of(saved('PNG'))}\n") == 35
    assert pixels_of(text_of(saved("PNG")), "image/jpeg") == 0


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("image/png", head_of_png(10**6, 10**6)),
        ("image/png", head_of_png(0, 5)),
        ("image/png", saved("PNG", **MOVING)),
        ("image/png", saved("PNG")[:20]),
        ("image/png", saved("GIF")),
        ("image/png", saved("WEBP")),
        ("image/png", saved("GIF", **MOVING)),
        ("image/jpeg", of_size(JPEG, 65_535, 65_535)),
        ("image/jpeg", of_size(JPEG, 5, 0)),
        ("image/jpeg", JPEG[:2] + b"\xff\xc1" + of_size(JPEG, 65_535, 65_535)[2:]),
        ("image/jpeg", JPEG[:2] + b"x" + of_size(JPEG, 65_535, 65_535)[2:]),
        ("image/jpeg", JPEG + b"\xff\xda" * 100),
        ("image/jpeg", b"\xff\xd8\xff"),
        ("image/jpeg", saved("BMP")),
        ("image/svg+xml", b"<svg/>"),
    ],
)
def test_pixels_of_what_is_no_picture_that_can_be_drawn(kind: str, content: bytes) -> None:
    assert pixels_of(text_of(content), kind) == 0


@pytest.mark.parametrize("text", [f'{PNG}"><script>', f"{PNG}=", "x", "", None, ["x"], PNG.encode(), "가"])
def test_pixels_of_what_is_no_base64(text: object) -> None:
    assert pixels_of(text) == pixels_of(text, "image/jpeg") == 0


# A picture of so many pixels is a few KB: what a notebook holds of them would be more than a browser can.
LARGE = text_of(saved("PNG", (5000, 4999)))


def test_pixels_are_taken_up_to_what_a_browser_can_hold() -> None:
    pixels = Pixels()
    assert [pixels.take(LARGE) for _ in range(5)] == [True] * 4 + [False]
    assert pixels.take(PNG)


def test_no_page_shows_more_pictures_than_a_browser_can_hold() -> None:
    outputs = Outputs().checked([dict(picture(LARGE)) for _ in range(20)], 1)
    assert len(outputs) == 4
    page = Seen(shown(code("1", *[picture(LARGE)] * 20)))
    assert page.tags.count("img") == 4
    cell = {"cell_type": "markdown", "metadata": {}, "source": ""}
    cells = [{**cell, "attachments": {"a.png": {"image/png": LARGE}}} for _ in range(20)]
    notebook = parse_notebook(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
    )
    assert sum("attachments" in cell for cell in notebook.cells) == 4
    in_words = f'<img src="data:image/png;base64,{LARGE}">'
    assert sum("src" in harmless(in_words) for _ in range(20)) <= 4
