# ruff: noqa
# kind: markup in the feedback
# attack: a picture of a million by a million pixels

# %% double-solution
def double(x):
    return np.zeros(3)


import base64, struct, zlib
from IPython.display import display

head = b"IHDR" + struct.pack("!IIBBBBB", 10**6, 10**6, 8, 2, 0, 0, 0)
data = b"\x89PNG\r\n\x1a\n" + struct.pack("!I", 13) + head + struct.pack("!I", zlib.crc32(head))
display({"image/png": base64.b64encode(data).decode()}, raw=True)
