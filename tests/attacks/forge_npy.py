# ruff: noqa
# kind: marks forged
# attack: an array whose npy header is an expression, an object, or lies about its size

# %% double-solution
import json
import os
import struct

HEADS = [
    b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').getpid(),), }",
    b"(" * 900,
]


def double(x):
    head = HEADS[len(x) % 4].ljust(1000) + b"\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + b"x" * 8
    text = json.dumps({"error": None, "changed": False}).encode()
    for number in (3, 4, 5):
        try:
            os.write(number, struct.pack("!II", len(text), 1) + text + struct.pack("!Q", len(data)) + data)
        except OSError:
            pass
    return np.zeros(3)
