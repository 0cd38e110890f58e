# ruff: noqa
# kind: processes left behind
# attack: double fork, own session, no parent-death signal, all signals ignored

# %% double-solution
def double(x):
    return np.zeros(3)


import ctypes, os, signal, time

if os.fork() == 0:
    os.setsid()
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    for number in range(1, 32):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
    if os.fork() == 0:
        while True:
            time.sleep(1)
    os._exit(0)
os.wait()
