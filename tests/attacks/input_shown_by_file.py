# ruff: noqa
# kind: inputs
# attack: the hidden inputs are left in files, pipes and shared memory for a later cell

# %% double-solution
import mmap
import os
import threading
import time

PLACE = mmap.mmap(-1, 4096)


def double(x):
    text = " ".join(v.hex() for v in x).encode()
    PLACE.seek(0)
    PLACE.write(text)
    open("/tmp/seen", "ab").write(text)
    return np.zeros(3)


# %% mean-solution
time.sleep(1)
print(PLACE[:], os.path.exists("/tmp/seen") and open("/tmp/seen").read())


def mean(x, axis=-1):
    return x.sum(axis=axis) / x.shape[axis]
