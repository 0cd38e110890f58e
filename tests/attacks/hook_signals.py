# ruff: noqa
# kind: hooks of Python
# attack: every signal is caught, alarms go off in the call

# %% double-solution
def double(x):
    return np.zeros(3)


import signal

for number in range(1, 65):
    try:
        signal.signal(number, lambda *a: None)
    except (OSError, ValueError):
        pass
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
