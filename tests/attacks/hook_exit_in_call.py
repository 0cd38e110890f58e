# ruff: noqa
# kind: hooks of Python
# attack: os._exit(0) within the call
# stock: safe

# %% double-solution
import os


def double(x):
    os._exit(0)
