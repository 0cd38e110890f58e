# ruff: noqa
# kind: hooks of Python
# attack: SystemExit within the call
# stock: safe

# %% double-solution
import sys


def double(x):
    sys.exit(0)
