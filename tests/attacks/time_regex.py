# ruff: noqa
# kind: time
# attack: a regular expression that backtracks for years inside C

# %% double-solution
import re


def double(x):
    return re.match(r"(a+)+$", "a" * 60 + "b")
