# ruff: noqa
# kind: parent killed
# attack: SIGKILL to the own process group and to everybody

# %% double-solution
def double(x):
    return np.zeros(3)


import os

for kill, target in ((os.kill, 0), (os.kill, -1), (os.killpg, 0), (os.killpg, os.getpgid(0))):
    try:
        kill(target, 9)
    except OSError:
        pass
