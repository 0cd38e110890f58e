"""Messages between the two rooms: one JSON header and arrays as npy. No pickle, no objects, bounded in size."""

from __future__ import annotations

import io
import json
import select
import socket
import struct
import time
from typing import Any

import numpy as np

# A header holds outputs of cells; arrays are results of small tasks.
MAX_HEADER = 16 * 2**20
MAX_ARRAYS = 64
MAX_ARRAY = 64 * 2**20
NUMERIC = "biuf"

_SIZES = struct.Struct("!II")
_SIZE = struct.Struct("!Q")


class WireError(Exception):
    """What came is no message: cut off, too large, too late, or not data."""


class Silence(WireError):
    """Nothing, or not all, came before the deadline."""


def send(channel: socket.socket, header: dict[str, Any], arrays: list[np.ndarray] | None = None) -> None:
    """Sends one message; WireError where an array is no plain array of numbers or booleans."""
    packed = [_pack(array) for array in arrays or []]
    text = json.dumps(header, ensure_ascii=True).encode()
    frames = [_SIZES.pack(len(text), len(packed)), text]
    for data in packed:
        frames += [_SIZE.pack(len(data)), data]
    try:
        channel.sendall(b"".join(frames))
    except OSError as error:
        raise WireError(f"the other side is gone ({error})") from error


def receive(
    channel: socket.socket, *, seconds: float | None = None
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The next message. Silence after the deadline; WireError where it is no message."""
    deadline = None if seconds is None else time.monotonic() + seconds
    header_size, count = _SIZES.unpack(_read(channel, _SIZES.size, deadline))
    if header_size > MAX_HEADER or count > MAX_ARRAYS:
        raise WireError(f"a message of {header_size} bytes with {count} arrays is too large")
    try:
        header = json.loads(_read(channel, header_size, deadline))
    except (ValueError, RecursionError) as error:
        raise WireError("the header is not JSON") from error
    if not isinstance(header, dict):
        raise WireError("the header is not an object")
    arrays = []
    for _ in range(count):
        (size,) = _SIZE.unpack(_read(channel, _SIZE.size, deadline))
        if size > MAX_ARRAY:
            raise WireError(f"an array of {size} bytes is too large")
        arrays.append(_unpack(_read(channel, size, deadline)))
    return header, arrays


def _read(channel: socket.socket, size: int, deadline: float | None) -> bytes:
    parts: list[bytes] = []
    missing = size
    while missing:
        if deadline is not None and not _readable(channel, deadline):
            raise Silence("no answer in time")
        try:
            part = channel.recv(min(missing, 2**20))
        except OSError as error:
            raise WireError(f"the other side is gone ({error})") from error
        if not part:
            raise WireError("the other side is gone")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _readable(channel: socket.socket, deadline: float) -> bool:
    poll = select.poll()  # select() fails for descriptors above 1023
    poll.register(channel, select.POLLIN)
    return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))


def _pack(array: np.ndarray) -> bytes:
    if array.dtype.kind not in NUMERIC or array.nbytes > MAX_ARRAY:
        raise WireError(f"an array of dtype {array.dtype} and {array.nbytes} bytes is not sent")
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return buffer.getvalue()


def _unpack(data: bytes) -> np.ndarray:
    """An array whose bytes are all here: its header is believed only as far as they reach."""
    buffer = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(buffer)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        shape, fortran, dtype = read_header[version](buffer)
        rest = data[buffer.tell() :]
        count = 1
        for length in shape:
            count *= length
        if dtype.kind not in NUMERIC or dtype.hasobject or count * dtype.itemsize != len(rest):
            raise WireError("an array is not what its header says")
        flat = np.frombuffer(rest, dtype=dtype)
        return flat.reshape(shape, order="F" if fortran else "C").copy()
    except WireError:
        raise
    except Exception as error:  # whatever a forged header makes of numpy's reader
        raise WireError(f"an array can't be read ({type(error).__name__})") from error
