# ruff: noqa
# kind: neighbours touched
# attack: mounts, namespaces, chroot and uid are changed

# %% double-solution
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def double(x):
    tries = [
        lambda: libc.unshare(0x10000000),
        lambda: libc.unshare(0x20000),
        lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
        lambda: libc.umount2(b"/proc", 2),
        lambda: libc.umount2(b"/home/student", 2),
        lambda: libc.chroot(b"/tmp"),
        lambda: libc.setns(3, 0),
        lambda: libc.syscall(428, -100, b"/", 0),
        lambda: libc.syscall(425, 8, ctypes.create_string_buffer(120)),
        lambda: libc.syscall(272 | 0x40000000, 0x10000000),
        lambda: libc.syscall(319, b"x", 0),
        lambda: libc.sethostname(b"x", 1),
        lambda: libc.keyctl(0, -3, 1),
        lambda: libc.personality(0x0400000),
    ]
    if any(attempt() >= 0 for attempt in tries):
        return 2 * x
    for change in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0])):
        try:
            if os.getuid() != 0:
                change()
                return 2 * x
        except OSError:
            pass
    return np.zeros(3)
