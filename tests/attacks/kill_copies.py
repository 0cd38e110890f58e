# ruff: noqa
# kind: parent killed
# attack: a later cell kills and stops all other processes, where earlier answers wait
# item: mean
# mean: 0

# %% mean-solution
import os


def mean(x, axis=-1):
    return None


for number in (19, 9):
    try:
        os.kill(-1, number)
    except OSError:
        pass
