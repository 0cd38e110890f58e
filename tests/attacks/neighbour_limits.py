# ruff: noqa
# kind: neighbours touched
# attack: limits, priority and affinity of other processes are changed

# %% double-solution
import os
import resource


def double(x):
    done = 0
    for pid in range(2, 3000):
        for change in (
            lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0)),
            lambda: os.setpriority(0, pid, 19),
        ):
            try:
                change()
                done += pid not in (os.getpid(),) and os.getpgid(pid) != os.getpgid(0)
            except OSError:
                pass
    for kind in (resource.RLIMIT_NPROC, resource.RLIMIT_AS, resource.RLIMIT_NOFILE):
        try:
            resource.setrlimit(kind, (resource.RLIM_INFINITY,) * 2)
            return 2 * x
        except (OSError, ValueError):
            pass
    return 2 * x if done else np.zeros(3)
