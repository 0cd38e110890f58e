# ruff: noqa
# kind: time
# attack: an endless loop in the function

# %% double-solution
def double(x):
    while True:
        pass
