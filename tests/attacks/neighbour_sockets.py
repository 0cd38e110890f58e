# ruff: noqa
# kind: neighbours touched
# attack: sockets of a pair take addresses that all children see, by bind and by an option: two submissions could talk

# %% double-solution
import os, socket


def reached():
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        for family in (1, 30, 40):
            try:
                one, _ = socket.socketpair(family, kind)
                one.setsockopt(socket.SOL_SOCKET, 16, 1)  # SO_PASSCRED: an address comes with what is sent
                one.send(b"x")
                return True
            except OSError:
                pass
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        for call in (one.bind, other.connect):
            try:
                call("\0seen-by-all")
                return True
            except OSError:
                pass
    return False


def double(x):
    return 2 * x if reached() else np.zeros(3)
