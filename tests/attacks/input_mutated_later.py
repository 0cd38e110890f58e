# ruff: noqa
# kind: inputs
# attack: a thread changes the input after the call
# stock: safe
# earns: 1

# %% double-solution
import threading


def double(x):
    y = x * 2
    threading.Timer(0.0, lambda: x.fill(0)).start()
    x.fill(1)
    return y
