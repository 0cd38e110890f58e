# ruff: noqa
# kind: neighbours touched
# attack: the process goes to the cores of its neighbours, before them in the queue, or wants a core to itself

# %% double-solution
import ctypes, os, platform, threading

libc = ctypes.CDLL(None, use_errno=True)
IOPRIO_SET = {"x86_64": 251, "aarch64": 30}[platform.machine()]
EVERY_CORE = range(os.cpu_count() or 1)


def succeeds(change):
    try:
        return change() not in (-1, False)
    except OSError:
        return False


def changes(pid):
    yield lambda: os.sched_setaffinity(pid, EVERY_CORE)
    yield lambda: os.sched_setaffinity(pid, {0})
    for policy in (os.SCHED_BATCH, os.SCHED_IDLE, os.SCHED_FIFO, os.SCHED_RR):
        yield lambda policy=policy: os.sched_setscheduler(pid, policy, os.sched_param(policy in (1, 2)))
    yield lambda: os.sched_setparam(pid, os.sched_param(0))
    yield lambda: os.setpriority(os.PRIO_PROCESS, pid, 1)
    yield lambda: libc.syscall(IOPRIO_SET, 1, pid, 2 << 13)
    yield lambda: libc.prctl(62, 1, pid, 0, 0)


def double(x):
    pids = (0, os.getpid(), threading.get_native_id(), os.getppid())
    return 2 * x if any(succeeds(change) for pid in pids for change in changes(pid)) else np.zeros(3)
