# ruff: noqa
# kind: parent killed
# attack: SIGKILL, SIGSTOP and SIGTERM to the parent and to every pid

# %% double-solution
def double(x):
    return np.zeros(3)


import os, signal

for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
    for pid in (os.getppid(), 0, -1, 1, 2, *range(3, 400)):
        if pid not in (os.getpid(), os.getpgid(0)) and not (pid in (0, 1) and os.getpid() == 1):
            try:
                os.kill(pid, number)
            except OSError:
                pass
