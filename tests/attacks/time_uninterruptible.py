# ruff: noqa
# kind: time
# attack: an endless loop that swallows every exception and signal

# %% double-solution
import signal


def double(x):
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
