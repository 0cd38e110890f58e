"""What crosses between the rooms: whatever bytes come, a message or a WireError, within the caps."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from course_lib.grading.student_room import wire

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def received(data: bytes, *, seconds: float = 5.0) -> tuple[dict[str, Any], list[np.ndarray]]:
    """What is made of these bytes, after which the other side hangs up."""
    ours, theirs = socket.socketpair()
    with ours:

        def write() -> None:
            with theirs, contextlib.suppress(OSError):  # nobody reads to the end of what is too large
                theirs.sendall(data)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            return wire.receive(ours, seconds=seconds)
        finally:
            ours.close()
            writer.join()


def message(header: bytes, *arrays: bytes) -> bytes:
    parts = [struct.pack("!II", len(header), len(arrays)), header]
    return b"".join(parts + [struct.pack("!Q", len(array)) + array for array in arrays])


def npy(head: bytes, data: bytes = b"") -> bytes:
    head = head.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


@pytest.mark.parametrize("dtype", ["f8", ">f8", "f4", "f2", "i1", "u8", "?", np.longdouble])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 5), (2, 3, 5), (1,) * 20])
def test_arrays_arrive_as_they_were_sent(pair: Pair, dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    wire.send(pair[0], {"a": "é\ud800"}, [array, np.array(array, order="F"), array[..., None].T])
    header, [first, second, third] = wire.receive(pair[1], seconds=5)
    assert header == {"a": "é?"}
    for got, expected in ((first, array), (second, array), (third, array[..., None].T)):
        assert (got.dtype, got.shape) == (array.dtype, expected.shape)
        assert np.array_equal(got, expected)
        assert got.flags.writeable


@pytest.mark.parametrize("dtype", ["O", "c16", "U3", "S3", "M8[s]", "f8,i4", "V8"])
def test_what_is_no_number_is_not_sent(pair: Pair, dtype: str) -> None:
    with pytest.raises(wire.WireError):
        wire.send(pair[0], {}, [np.zeros(3, dtype=dtype)])


def test_too_much_is_not_sent(pair: Pair) -> None:
    for header, arrays in (
        ({}, [np.broadcast_to(np.float64(1), (10**9, 10**9))]),
        ({}, [np.zeros(wire.MAX_BYTES // 16 + 1)] * 2),
        ({}, [np.zeros(1)] * (wire.MAX_ARRAYS + 1)),
        ({"text": "x" * wire.MAX_HEADER}, []),
    ):
        with pytest.raises(wire.WireError):
            wire.send(pair[0], header, arrays)


HEAD = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
@example(b"")
def test_any_bytes_are_a_message_or_a_wire_error(data: bytes) -> None:
    try:
        header, _ = received(data)
    except wire.WireError:
        return
    assert isinstance(header, dict)


@settings(max_examples=300, deadline=None)
@given(st.binary(min_size=1, max_size=8), st.integers(0, 200))
def test_a_damaged_message_is_a_message_or_a_wire_error(damage: bytes, place: int) -> None:
    whole = bytearray(message(b'{"a": 1}', npy(HEAD, bytes(16)), npy(HEAD, bytes(16))))
    whole[place : place + len(damage)] = damage
    try:
        _, arrays = received(bytes(whole))
    except wire.WireError:
        return
    assert all(array.dtype.kind in wire.NUMERIC for array in arrays)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="{}()[]'\",:<>|=fiubOVU0123456789 -eTrualsdcpho_n", max_size=110))
def test_any_npy_header_is_an_array_or_a_wire_error(text: str) -> None:
    with contextlib.suppress(wire.WireError):
        received(message(b"{}", npy(text.encode(), bytes(16))))


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("!II", wire.MAX_HEADER + 1, 0),
        struct.pack("!II", 2, wire.MAX_ARRAYS + 1) + b"{}",
        message(b"{}") + b"",
        message(b"[1]"),
        message(b"7"),
        message(b"\xff"),
        message(b"[" * 100_000),
        message(b'{"a": ' * 50_000),
        message(b"9" * 10_000),
        struct.pack("!II", 2, 1) + b"{}" + struct.pack("!Q", wire.MAX_BYTES + 1),
        struct.pack("!II", 2, 1) + b"{}" + struct.pack("!Q", 2**64 - 1),
        message(b"{}", b""),
        message(b"{}", b"\x93NUMPY\x01\x00"),
        message(b"{}", npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", bytes(16))),
        message(b"{}", npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", bytes(16))),
        message(b"{}", npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -2), }", bytes(16))),
        message(b"{}", npy(b"{'descr': '<f9', 'fortran_order': False, 'shape': (2,), }", bytes(18))),
        message(
            b"{}",
            npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1," * 70 + b"), }", bytes(8)),
        ),
        message(b"{}", npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999999, 9), }")),
        message(b"{}", npy(b"__import__('os').system('true')", bytes(16))),
    ],
)
def test_what_is_no_message_is_a_wire_error(data: bytes) -> None:
    if data == message(b"{}"):
        assert received(data) == ({}, [])
        return
    with pytest.raises(wire.WireError):
        received(data)


def test_claims_cost_no_memory() -> None:
    heads = [
        struct.pack("!II", wire.MAX_HEADER, wire.MAX_ARRAYS),
        struct.pack("!II", 2, wire.MAX_ARRAYS) + b"{}" + struct.pack("!Q", wire.MAX_BYTES),
    ]
    tracemalloc.start()
    try:
        for head in heads:
            with pytest.raises(wire.WireError):
                received(head)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_arrays_of_one_message_are_capped_together() -> None:
    with pytest.raises(wire.WireError, match="too large"):
        received(message(b"{}", *[npy(HEAD, bytes(16))] * 3, bytes(wire.MAX_BYTES)))


def test_json_that_grows_stays_below_a_bound() -> None:
    header = json.dumps({"a": [{}] * (wire.MAX_HEADER // 4 - 8)}).encode()
    tracemalloc.start()
    try:
        received(message(header))
        assert tracemalloc.get_traced_memory()[1] < 40 * wire.MAX_HEADER
    finally:
        tracemalloc.stop()


def test_bytes_that_drip_in_do_not_put_off_the_deadline(pair: Pair) -> None:
    def drip() -> None:
        pair[1].sendall(struct.pack("!II", wire.MAX_HEADER, 0))
        with contextlib.suppress(OSError):
            while True:
                pair[1].send(b" ")

    dripping = threading.Thread(target=drip)
    dripping.start()
    with pytest.raises(wire.Silence):  # and not a WireError, when so many blanks have come as were announced
        wire.receive(pair[0], seconds=0.3)
    pair[0].close()
    dripping.join()


def test_who_reads_nothing_does_not_hold_the_sender(pair: Pair) -> None:
    with pytest.raises(wire.Silence):
        wire.send(pair[0], {}, [np.zeros(2**20)], seconds=0.3)


def test_the_watch_looks_while_nothing_comes(pair: Pair) -> None:
    seen = []

    def look() -> None:
        seen.append(1)
        if len(seen) == 3:
            raise StopIteration

    with pytest.raises(StopIteration):
        wire.receive(pair[0], seconds=60, watch=look)


def test_messages_that_follow_are_gathered_and_the_last_is_not_waited_for(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pair
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        wire.send(theirs, {"number": 2}, [np.arange(3)])

    monkeypatch.setattr(wire.time, "sleep", nap)
    threading.Timer(0.05, wire.send, (theirs, {"number": 1})).start()
    unread = bytearray()
    assert wire.receive(ours, seconds=5, unread=unread, gather=True)[0] == {"number": 1}
    assert unread  # the second came with it
    header, [array] = wire.receive(ours, seconds=5, unread=unread)
    assert (header, array.tolist(), unread) == ({"number": 2}, [0, 1, 2], bytearray())
    threading.Timer(0.05, wire.send, (theirs, {"number": 3})).start()
    assert wire.receive(ours, seconds=5, unread=unread)[0] == {"number": 3}
    assert len(naps) == 1


def test_the_other_side_may_be_gone(pair: Pair) -> None:
    pair[1].close()
    with pytest.raises(wire.WireError, match="gone"):
        wire.receive(pair[0], seconds=1)
    with pytest.raises(wire.WireError, match="gone"):
        wire.send(pair[0], {}, seconds=1)
