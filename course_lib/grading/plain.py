"""Text from the student's room, made harmless for terminals and pages."""

from __future__ import annotations

import builtins
import re

# Sequences that move a terminal's cursor, change its colours or its title, and what is left of cut ones.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)|\x9b[0-?]*[@-~]?"
)
# Controls but tab and line end, signs without width or that turn the direction, halves of surrogate pairs.
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_BLANK = re.compile(r"^[^\S\n]+$", re.MULTILINE)
# Names beyond Python's own that say something to who reads them. Any other could carry what is to stay hidden.
_ERRORS = {
    *(name for name, thing in vars(builtins).items() if isinstance(thing, type) and issubclass(thing, BaseException)),
    "AxisError", "LinAlgError", "UFuncTypeError", "_UFuncNoLoopError", "_UFuncBinaryResolutionError", "ForbiddenCall",
    "NoGradient", "NotCallable", "NotDefined", "OutOfMemoryError", "WrongSignature",
}  # fmt: skip
_TYPES = {
    *(name for name, thing in vars(builtins).items() if isinstance(thing, type) and name.islower()),
    "NoneType", "None", "function", "builtin_function_or_method", "module", "ndarray", "matrix", "Tensor", "generator",
    *(f"ndarray(dtype={kind})" for kind in ("bytes", "complex64", "complex128", "datetime64", "object", "str", "void")),
}  # fmt: skip


def plain_text(text: object, most: int) -> str:
    """At most so many characters of a text, without escape sequences, control and direction characters; else empty."""
    if not isinstance(text, str):
        return ""
    return _UNSHOWN.sub("", _ESCAPES.sub("", text[: 2 * most]))[:most]


def without_blanks(code: str) -> str:
    """Code whose blank lines hold nothing: Pygments takes the square of their number where they hold spaces."""
    return _BLANK.sub("", code)


def plain_line(text: object, most: int) -> str:
    """The same on one line."""
    return " ".join(plain_text(text, most).split())


def printable(text: str) -> str:
    """Somebody's words within a sentence: one line, not too long, with a sign for each that can't be shown."""
    line = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return line if len(line) <= 200 else f"{line[:200]}…"


def error_name(name: object) -> str:
    """The name of an exception that is known, or "Exception"."""
    return name if isinstance(name, str) and name in _ERRORS else "Exception"


def type_name(name: object) -> str:
    """The name of a type that is known, or "object"."""
    return name if isinstance(name, str) and name in _TYPES else "object"
