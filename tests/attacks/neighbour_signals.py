# ruff: noqa
# kind: neighbours touched
# attack: locks and leases on files that all children see, and notices of who opens them: two submissions could tell each other hidden inputs

# %% double-solution
import ctypes, fcntl, os, struct

libc = ctypes.CDLL(None, use_errno=True)
SEEN = "/room/course_lib/checks/__init__.py"
LOCK = struct.pack("hhqqi4x", 0, 0, 0, 0, 0)


def succeeds(command, value, place=SEEN):
    try:
        return fcntl.fcntl(os.open(place, os.O_RDONLY), command, value) is not None
    except OSError:
        return False


def double(x):
    file = os.open(SEEN, os.O_RDONLY)
    if libc.flock(file, 2) == 0 or libc.inotify_init1(0) >= 0 or libc.inotify_init() >= 0:
        return 2 * x
    if any(succeeds(command, LOCK) for command in (6, 7, 37, 38)) or succeeds(1024, 0) or succeeds(1024, 1):
        return 2 * x
    return 2 * x if succeeds(1026, 0x80000001, "/usr") else np.zeros(3)
