"""Messages between the two rooms: one JSON header and arrays as npy. No pickle, no objects, bounded in size.

What arrives is believed only as far as its bytes reach; whatever is wrong with it is a WireError and nothing else.
"""

from __future__ import annotations

import json
import math
import re
import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import numpy as np

# A header holds outputs of cells; arrays are results of small tasks. JSON takes up to 30 times its text in memory.
MAX_HEADER = 8 * 2**20
MAX_ARRAYS = 64
MAX_BYTES = 64 * 2**20  # of one message's arrays together
NUMERIC = "biuf"

_SIZES = struct.Struct("!II")
_SIZE = struct.Struct("!Q")
_PART = 2**20
_AHEAD = 2**16  # bytes that are taken at once where more than one message may be
_WATCH_SECONDS = 0.1
_GATHER_SECONDS = 0.00025  # to be woken for each message costs more than to read it
# The header that NumPy writes for plain numbers, and no other: no expression of somebody else's is evaluated.
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00(..)\{'descr': '([<>|=][biuf]\d{1,2})', 'fortran_order': (False|True), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n",
    re.DOTALL,
)


class WireError(Exception):
    """What came is no message: cut off, too large, or not data."""


class Silence(WireError):
    """Not all of it went, or came, before the deadline."""


def send(
    channel: socket.socket,
    header: dict[str, Any],
    arrays: list[np.ndarray] | None = None,
    *,
    seconds: float | None = None,
) -> None:
    """Sends one message; WireError where an array is no plain array of numbers or booleans."""
    packed = [_pack(array) for array in arrays or []]
    text = json.dumps(header, ensure_ascii=False).encode("utf-8", errors="replace")
    if len(text) > MAX_HEADER or len(packed) > MAX_ARRAYS or sum(map(len, packed)) > MAX_BYTES:
        raise WireError("the message is too large")
    frames = [_SIZES.pack(len(text), len(packed)), text]
    for data in packed:
        frames += [_SIZE.pack(len(data)), data]
    _write(channel, memoryview(b"".join(frames)), _Deadline(seconds))


def receive(
    channel: socket.socket,
    *,
    seconds: float | None = None,
    watch: Callable[[], None] | None = None,
    unread: bytearray | None = None,
    gather: bool = False,
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The next message, of which all has to come within `seconds`. WireError where it is no message.

    `watch` is called from time to time while it does not come. With `unread`, more may be taken from the channel than
    this message, and is left there for the next; with `gather` such are awaited for a moment.
    """
    incoming = _Incoming(channel, _Deadline(seconds, watch), unread, gather)
    header_size, count = _SIZES.unpack(incoming.read(_SIZES.size))
    if header_size > MAX_HEADER or count > MAX_ARRAYS:
        raise WireError(f"a message of {header_size} bytes with {count} arrays is too large")
    try:
        header = json.loads(incoming.read(header_size))
    except (ValueError, RecursionError) as error:
        raise WireError("the header is not JSON") from error
    if not isinstance(header, dict):
        raise WireError("the header is not an object")
    arrays, left = [], MAX_BYTES
    for _ in range(count):
        (size,) = _SIZE.unpack(incoming.read(_SIZE.size))
        if size > left:
            raise WireError(f"arrays of more than {MAX_BYTES} bytes are too large")
        left -= size
        arrays.append(_unpack(incoming.read(size)))
    return header, arrays


class _Deadline:
    """Of a whole message: bytes that drip in do not put it off."""

    def __init__(self, seconds: float | None, watch: Callable[[], None] | None = None) -> None:
        self.now = time.monotonic()
        self.at = math.inf if seconds is None else self.now + seconds
        self.watch = watch
        self.next = math.inf if watch is None else self.now + _WATCH_SECONDS

    def wait(self, channel: socket.socket, event: int) -> None:
        """Until the channel is ready; Silence after the deadline."""
        poll = select.poll()  # select() fails for descriptors above 1023
        poll.register(channel, event)
        while self.now < self.at:
            left = min(self.at, self.next) - self.now
            ready = poll.poll(None if left == math.inf else max(0.0, left) * 1000)
            self.now = time.monotonic()
            if self.watch is not None and self.now >= self.next:
                self.watch()
                self.next = time.monotonic() + _WATCH_SECONDS
            if ready:
                return
        raise Silence("no answer in time")


def _write(channel: socket.socket, data: memoryview, deadline: _Deadline) -> None:
    while data:
        try:
            sent = channel.send(data[:_PART], socket.MSG_DONTWAIT)
        except BlockingIOError:
            deadline.wait(channel, select.POLLOUT)
            continue
        except OSError as error:
            raise WireError(f"the other side is gone ({error})") from error
        data = data[sent:]


class _Incoming:
    """The bytes of one message, as they come."""

    def __init__(
        self, channel: socket.socket, deadline: _Deadline, unread: bytearray | None, gather: bool
    ) -> None:
        self.channel, self.deadline, self.gather = channel, deadline, gather
        self.data = bytearray() if unread is None else unread
        self.ahead = 0 if unread is None else _AHEAD

    def read(self, size: int) -> bytes:
        """The next so many bytes."""
        while len(self.data) < size:
            try:
                wanted = max(size - len(self.data), self.ahead)
                part = self.channel.recv(min(wanted, _PART), socket.MSG_DONTWAIT)
            except BlockingIOError:
                self.deadline.wait(self.channel, select.POLLIN)
                if self.gather:
                    time.sleep(_GATHER_SECONDS)
                continue
            except OSError as error:
                raise WireError(f"the other side is gone ({error})") from error
            if not part:
                raise WireError("the other side is gone")
            self.data += part
        taken = bytes(self.data[:size])
        del self.data[:size]
        return taken


def _pack(array: np.ndarray) -> bytes:
    if array.dtype.kind not in NUMERIC or array.nbytes > MAX_BYTES:
        raise WireError(f"an array of dtype {array.dtype} and {array.nbytes} bytes is not sent")
    # What np.lib.format writes, in a quarter of its time.
    head = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + array.tobytes()


def _unpack(data: bytes) -> np.ndarray:
    head = _NPY.match(data[:1024])
    if head is None or int.from_bytes(head[1], "little") + 10 != head.end():
        raise WireError("an array has no header of a plain npy file")
    shape = tuple(int(length) for length in head[4].replace(b" ", b"").split(b",") if length)
    count = 1
    for length in shape:
        count *= length
    try:
        dtype = np.dtype(head[2].decode())
        if count * dtype.itemsize != len(data) - head.end():
            raise WireError("an array is not what its header says")
        flat = np.frombuffer(data, dtype=dtype, count=count, offset=head.end())
        return flat.reshape(shape, order="F" if head[3] == b"True" else "C").copy()
    except (TypeError, ValueError) as error:  # a width that no number has, too many axes
        raise WireError(f"an array can't be read ({type(error).__name__})") from error
