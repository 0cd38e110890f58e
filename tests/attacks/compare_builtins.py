# ruff: noqa
# kind: comparison patched
# attack: all(), any() and bool() are true
# stock: safe
# mean: 0
# why: mean runs in the process whose any() and all() are broken

# %% double-solution
def double(x):
    return np.zeros(3)


import builtins

builtins.all = lambda *a: True
builtins.any = lambda *a: True
