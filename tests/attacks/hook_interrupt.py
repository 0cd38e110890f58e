# ruff: noqa
# kind: hooks of Python
# attack: KeyboardInterrupt and GeneratorExit within the call
# stock: safe

# %% double-solution
def double(x):
    raise (KeyboardInterrupt if len(x) else GeneratorExit)
