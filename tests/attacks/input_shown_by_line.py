# ruff: noqa
# kind: inputs
# attack: the hidden inputs are a line of code that the traceback quotes

# %% double-solution
import linecache


def double(x):
    name = double.__code__.co_filename
    line = " ".join(f"{v:.17g}" for v in x) + "\n"
    linecache.cache[name] = (len(line), None, [line] * 100, name)
    raise ValueError
