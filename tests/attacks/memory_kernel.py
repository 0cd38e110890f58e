# ruff: noqa
# kind: memory
# attack: locks, rules, timers, signals and contexts without number, all of which the kernel keeps

# %% double-solution
import ctypes, fcntl, os, platform, signal, struct

libc = ctypes.CDLL(None, use_errno=True)
IO_SETUP, TIMER, QUEUE = {"x86_64": (206, 222, 129), "aarch64": (0, 107, 138)}[platform.machine()]


def how_many(make):
    number = 0
    while number < 1000 and make(number):
        number += 1
    return number


def locks(number, command=37):
    try:
        return fcntl.fcntl(FILE, command, struct.pack("hhqqi4x", 1, 0, 2 * number, 1, 0))
    except OSError:
        return False


def rules(number):
    ruleset = libc.syscall(444, struct.pack("QQ", 0, 3), 16, 0)
    return ruleset >= 0 and libc.syscall(445, ruleset, 2, struct.pack("QQ", 1, number), 0) == 0


def timers(number):
    return libc.syscall(TIMER, 1, 0, ctypes.byref(ctypes.c_int(0))) == 0


def signals(number):
    return libc.syscall(QUEUE, os.getpid(), 40, struct.pack("iii", 40, 0, -1).ljust(128, b"\0")) == 0


def contexts(number):
    return libc.syscall(IO_SETUP, 1, ctypes.byref(ctypes.c_ulong(0))) == 0


FILE = os.open("/tmp/locked", os.O_RDWR | os.O_CREAT)
signal.pthread_sigmask(signal.SIG_BLOCK, {40})


def double(x):
    most = max(map(how_many, (locks, lambda n: locks(n, 6), rules, timers, signals, contexts)))
    return 2 * x if most >= 1000 else np.zeros(3)
