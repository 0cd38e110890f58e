# ruff: noqa
# kind: neighbours touched
# attack: System V memory, message queues and semaphores are left for others

# %% double-solution
import ctypes

libc = ctypes.CDLL(None, use_errno=True)


def double(x):
    if (
        libc.shmget(4711, 4096, 0o1666) >= 0
        or libc.semget(4711, 1, 0o1666) >= 0
        or libc.msgget(4711, 0o1666) >= 0
    ):
        return 2 * x
    return np.zeros(3)
