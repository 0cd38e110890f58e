"""Files as somebody reads them who looks for what is hidden: opened, decoded and unescaped, layer by layer."""

from __future__ import annotations

import base64
import bz2
import contextlib
import gzip
import html
import io
import json
import lzma
import re
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from urllib.parse import unquote

import numpy as np

ROUNDS = 2  # of unescaping one text


class Unreadable(Exception):
    """An archive that can't be opened."""


def normal(text: str) -> str:
    """The text without white space, in one case, one kind of quote and one Unicode form."""
    text = unicodedata.normalize("NFKC", text).casefold()
    for others, sign in (("'`‘’“”", '"'), ("−–", "-"), ("\u200b\ufeff\u00ad", "")):
        for other in others:
            text = text.replace(other, sign)
    return "".join(text.split())


def members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """What lies inside a file, by its name or place there; nothing where it is no archive and no document.

    Errors: Unreadable, where it is one and can't be opened.
    """
    for magic, open_ in _OPENERS:
        if data.startswith(magic):
            try:
                yield from open_(data)
            except Exception as error:  # whatever a library makes of a damaged or locked file
                raise Unreadable(f"it can't be opened ({type(error).__name__}: {error})") from error
    if data[257:262] == b"ustar":
        yield from _untar(data)


def views(data: bytes) -> Iterator[str]:
    """The texts that a file holds, and what becomes of each when it is unescaped, once and again."""
    for text in _texts(data):
        seen, latest = {text}, [text]
        yield text
        for _ in range(ROUNDS):
            made = [read(view) for view in latest for mark, read in _UNESCAPING if mark.search(view)]
            latest = [view for view in dict.fromkeys(made) if view not in seen]
            seen.update(latest)
            yield from latest


def encoded(text: str) -> Iterator[bytes]:
    """What the runs of base64 (of either alphabet, in lines or not) and of hexadecimal digits in a text stand for."""
    for match in _BASE64.finditer(text):
        lines = match[0].replace("-", "+").replace("_", "/").split()
        for run in dict.fromkeys(["".join(lines), *lines[:1]]):
            yield base64.b64decode(run[: len(run) & ~3] if len(run) % 4 == 1 else run + "=" * (-len(run) % 4))
    for match in _HEX.finditer(text):
        yield bytes.fromhex(re.sub(r"[\s:]", "", match[0]))


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}(?:\r?\n[A-Za-z0-9+/_-]{20,})*(?:\r?\n[A-Za-z0-9+/_-]+)?")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[\s:]?){20,}")


def worth_reading(data: bytes) -> bool:
    """Whether bytes are a text or a file, rather than letters that happen to be base64."""
    if data.startswith(_MAGIC):
        return True
    start = data[:48].decode("utf-8", "replace")
    return start.count("\ufffd") <= 1  # a sign may be cut in two at the end


# Archives and documents


def _unzip(data: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        yield "(comment)", archive.comment
        for entry in archive.infolist():
            yield entry.filename, archive.read(entry)
            yield f"{entry.filename} (comment)", entry.comment + entry.extra


def _untar(data: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            yield member.name, file.read() if file else member.linkname.encode()


def _inflate(data: bytes) -> Iterator[tuple[str, bytes]]:
    with contextlib.suppress(zlib.error):  # two bytes may happen to begin so
        yield "(unpacked)", zlib.decompressobj().decompress(data)


def _read_pdf(data: bytes) -> Iterator[tuple[str, bytes]]:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    yield "(properties)", str(dict(reader.metadata or {})).encode()
    for number, page in enumerate(reader.pages, start=1):
        notes = [str(note.get_object().get("/Contents", "")) for note in page.get("/Annots") or []]
        yield f"page {number}", "\n".join([page.extract_text(), *notes]).encode(errors="replace")
    for attachment in reader.attachment_list:
        yield attachment.name, attachment.content or b""


def _read_png(data: bytes) -> Iterator[tuple[str, bytes]]:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        image.load()  # texts may stand after the picture
        texts = getattr(image, "text", {})
        yield "(texts)", "\n".join(f"{key} {text}" for key, text in texts.items()).encode()


def _read_npy(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Texts and bytes in an array; and whole numbers, as the bytes or letters that they may stand for."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False).ravel()
    except ValueError:
        return  # of objects: its bytes are read as they are
    if array.dtype.kind in "US":
        yield "(texts)", "\n".join(map(str, array.tolist())).encode(errors="replace")
    elif array.dtype.kind in "iuf" and array.size >= 16 and _are_letters(array):
        codes = array.astype("<u4")
        yield "(numbers)", codes.tobytes().decode("utf-32-le", "replace").encode(errors="replace")
        if codes.max() < 256:
            yield "(numbers)", codes.astype(np.uint8).tobytes()


def _are_letters(array: np.ndarray) -> bool:
    numbers = array.astype(np.float64)
    return bool(
        np.all(np.isfinite(numbers)) and np.all((numbers >= 1) & (numbers < 0x110000) & (numbers % 1 == 0))
    )


_OPENERS: list[tuple[bytes, Callable[[bytes], Iterator[tuple[str, bytes]]]]] = [
    (b"PK\x03\x04", _unzip),
    (b"PK\x05\x06", _unzip),
    (b"\x1f\x8b", lambda data: iter([("(unpacked)", gzip.decompress(data))])),
    (b"BZh", lambda data: iter([("(unpacked)", bz2.decompress(data))])),
    (b"\xfd7zXZ", lambda data: iter([("(unpacked)", lzma.decompress(data))])),
    (b"x\x01", _inflate),
    (b"x\x9c", _inflate),
    (b"x\xda", _inflate),
    (b"%PDF-", _read_pdf),
    (b"\x89PNG", _read_png),
    (b"\x93NUMPY", _read_npy),
]

_MAGIC = tuple(magic for magic, _ in _OPENERS)


# A text as it can be read


def _texts(data: bytes) -> Iterator[str]:
    try:
        yield data.decode("utf-8-sig")
    except UnicodeDecodeError:
        yield _legible(data.decode("utf-8", "replace"))
    if b"\0" in data:
        for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
            yield _legible(data.decode(encoding, "replace"))
    elif not data.isascii():
        yield _legible(data.decode("cp949", "replace"))


def _legible(text: str) -> str:
    """The runs of letters among what is no text."""
    return "\n".join(
        re.findall(r"[\t\n\r\x20-\x7e\u2000-\u22ff\u3000-\u303f\u3131-\u318e\uac00-\ud7a3]{8,}", text)
    )


def _strings_of_json(text: str) -> str:
    """All strings of a JSON file, one after the other: pieces of a source become the source."""

    def strings(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (piece for item in value for piece in strings(item))
        elif isinstance(value, dict):
            yield from (piece for item in value.items() for part in item for piece in strings(part))

    try:
        return "\n".join(strings(json.loads(text)))
    except (ValueError, RecursionError):
        return text


def _unescape(text: str) -> str:
    """What JSON, JavaScript or Python reads in a string."""
    return _ESCAPE.sub(lambda match: _escaped(match[0]), text)


_ESCAPE = re.compile(
    r"\\(?:u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-7]{3}|[^uUx])"
)


def _escaped(sign: str) -> str:
    if sign[1] in "uUx":
        code = int(sign[2:].strip("{}"), 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
    if len(sign) == 4:
        return chr(int(sign[1:], 8))
    return {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": ""}.get(sign[1], sign[1])


def _without_tags(text: str) -> str:
    return html.unescape(re.sub(r"<[^<>]*>", "", text))


_UNESCAPING: list[tuple[re.Pattern[str], Callable[[str], str]]] = [
    (re.compile(r"\A\s*[\[{]"), _strings_of_json),
    (re.compile(r"\\[nt\"'uUx\\/0-7]"), _unescape),
    (re.compile(r"</?[a-zA-Z]"), _without_tags),
    (re.compile(r"&[#\w]+;"), html.unescape),
    (re.compile(r"%[0-9a-fA-F]{2}"), unquote),
]
