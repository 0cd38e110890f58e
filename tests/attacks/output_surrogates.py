# ruff: noqa
# kind: output
# attack: halves of surrogate pairs, NUL and texts that no encoding takes, in outputs, names of errors, lines and arguments

# %% double-solution
import warnings

Odd = type("\ud800Error", (ValueError,), {})


def double(x):
    print("\udcff\x00")
    raise Odd("\ud800\x00")


print("\ud800\udfff", "\x00")
display({"text/plain": "\ud800"}, raw=True)
display({"image/png": "\ud800"}, raw=True)
raise Odd("\ud83d \ud800")
