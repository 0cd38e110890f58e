# ruff: noqa
# kind: time
# attack: threads that keep the process busy for ever

# %% double-solution
def double(x):
    return np.zeros(3)


import threading


def spin():
    while True:
        pass


for _ in range(8):
    threading.Thread(target=spin).start()
