# ruff: noqa
# kind: processes, descriptors
# attack: as many threads as there can be

# %% double-solution
def double(x):
    return np.zeros(3)


import threading, time

try:
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
except RuntimeError:
    pass
