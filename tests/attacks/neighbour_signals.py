# ruff: noqa
# kind: neighbours touched
# attack: locks on files that all children see, and notices of who opens them: two submissions could tell each other hidden inputs

# %% double-solution
import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)


def double(x):
    file = os.open("/room/course_lib/checks.py", os.O_RDONLY)
    if libc.flock(file, 2) == 0 or libc.inotify_init1(0) >= 0 or libc.inotify_init() >= 0:
        return 2 * x
    return np.zeros(3)
