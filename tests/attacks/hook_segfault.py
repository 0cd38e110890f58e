# ruff: noqa
# kind: hooks of Python
# attack: a read at address 0 within the call

# %% double-solution
import ctypes


def double(x):
    ctypes.string_at(0)
