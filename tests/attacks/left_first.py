# ruff: noqa
# kind: processes left behind
# attack: the first process itself gives up its parent-death signal and ignores hang-ups

# %% double-solution
def double(x):
    return np.zeros(3)


import ctypes, os, signal, threading, time

ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
threading.Thread(target=time.sleep, args=(600,)).start()
os.close(3)
while True:
    time.sleep(1)
