# ruff: noqa
# kind: neighbours touched
# attack: the times of devices that all children see are set: two submissions could tell each other hidden inputs

# %% double-solution
import os


def double(x):
    for name in ("null", "zero", "full", "random", "urandom"):
        before = os.stat(f"/dev/{name}")
        try:
            os.utime(f"/dev/{name}")
            return 2 * x
        except OSError:
            pass
        os.pread(os.open(f"/dev/{name}", os.O_RDONLY), 1, 0)
        if os.stat(f"/dev/{name}").st_atime_ns != before.st_atime_ns:
            return 2 * x
    return np.zeros(3)
