# ruff: noqa
# kind: inputs
# attack: the hidden inputs are the name and the text of an exception

# %% double-solution
def double(x):
    name = " ".join(f"{v:.17g}" for v in x)
    raise type(name, (Exception,), {})(name)
