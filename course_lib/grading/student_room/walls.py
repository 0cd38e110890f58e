"""The walls around one submission, put up by its own process before any of the student's code is read.

Kernel facilities without a well-kept Python interface are called through libc: namespaces (no network, no neighbours,
own tmpfs), a dropped uid, limits, and a seccomp filter that keeps the process from undoing any of it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sys
from functools import cache

from .place import DEVICES, Limits, places_below_tmp

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38


def fork_apart(own_processes: int) -> int:
    """Like os.fork, but the child is the first process of a PID namespace of its own.

    `own_processes` is a descriptor of the caller's namespace, to which its next children belong again.
    """
    _call("unshare", CLONE_NEWPID)
    try:
        pid = os.fork()
    except OSError:
        _call("setns", own_processes, CLONE_NEWPID)
        raise
    if pid:
        _call("setns", own_processes, CLONE_NEWPID)
    return pid


def enter_namespaces(limits: Limits, home: str) -> None:
    """IPC and mounts of its own. It has no network either: the warm parent has none, and no socket can be made."""
    ordinary = os.geteuid() != 0
    uid, gid = os.geteuid(), os.getegid()
    _call("unshare", CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | (CLONE_NEWUSER if ordinary else 0))
    if ordinary:
        _call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # else /proc/self belongs to root
        _map_to_itself(uid, gid)
    _mount_own(limits, home)


def _mount_own(limits: Limits, home: str) -> None:
    """Empty folders to write into, each of a limited size, and nothing of /proc."""
    _call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    size = f"size={limits.disk},nr_inodes=4096,mode=0777".encode()
    for place in (home, "/tmp", "/dev/shm"):
        if os.path.isdir(place):
            _call("mount", b"tmpfs", place.encode(), b"tmpfs", MS_NOSUID | MS_NODEV, size)
    for folder, place in places_below_tmp().items():
        os.makedirs(folder, mode=0o755)
        _call("mount", place.encode(), folder.encode(), None, MS_BIND | MS_REC, None)
    # Nothing of the parent shows: not its memory, environment or open files.
    _call("mount", b"tmpfs", b"/proc", b"tmpfs", MS_NOSUID | MS_NODEV, b"size=4k,mode=0555")


def close_in(limits: Limits, home: str) -> None:
    """The rest, in the first process of the namespaces: limits, uid, no way back."""
    os.chdir(home)
    limit(limits)
    if os.geteuid() == 0:
        os.setgroups([])
        # A uid that nobody has: processes are counted by uid, and neighbours must not count as its own.
        nobody = 2**30 + int.from_bytes(os.urandom(3), "big")
        os.setresgid(nobody, nobody, nobody)
        os.setresuid(nobody, nobody, nobody)
    _drop_capabilities()
    _call("prctl", PR_SET_PDEATHSIG, 9, 0, 0, 0)  # a change of uid clears it
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _forbid_system_calls()


def prepare() -> None:
    """In the warm parent: keeps processes of its uid from reading its memory, and makes once what each child needs."""
    if platform.machine() in _FORBIDDEN:
        _filter()
    for device in DEVICES:  # the machine's own: their times would be the same for all children
        _call(
            "mount", None, f"/dev/{device}".encode(), None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, None
        )
    _call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)


def limit(limits: Limits) -> None:
    """Sets the limits that a process may not lift again."""
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.disk),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        *([(resource.RLIMIT_SIGPENDING, limits.signals)] if sys.platform == "linux" else []),
    ):
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _drop_capabilities() -> None:
    """All of them: in a user namespace of its own, a process has every one at first."""
    version_3, this_process = 0x20080522, 0
    _call("capset", struct.pack("Ii", version_3, this_process), bytes(24))


def _map_to_itself(uid: int, gid: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


# What an exercise never needs and an escape would, what holds memory that no limit counts (rules of Landlock, contexts
# of asynchronous reads), what moves a process to a neighbour's core or before others, and what two children can signal
# to each other by (locks on files that both see, who opens them and what of them was read; an address, which a socket
# of a pair may take, also by an option): numbers by machine.
_FORBIDDEN = {
    "x86_64": {
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "mount": 165, "umount2": 166,
        "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308, "bpf": 321, "perf_event_open": 298,
        "keyctl": 250, "add_key": 248, "request_key": 249, "userfaultfd": 323, "io_uring_setup": 425,
        "io_uring_enter": 426, "io_uring_register": 427, "kexec_load": 246, "kexec_file_load": 320,
        "init_module": 175, "finit_module": 313, "reboot": 169, "swapon": 167, "personality": 135,
        "open_by_handle_at": 304, "name_to_handle_at": 303, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
        "fspick": 433, "move_mount": 429, "open_tree": 428, "mount_setattr": 442, "open_tree_attr": 467,
        "statmount": 457, "listmount": 458, "pidfd_getfd": 438, "pidfd_send_signal": 424, "kcmp": 312,
        "socket": 41, "quotactl": 179, "quotactl_fd": 443, "acct": 163, "syslog": 103, "memfd_create": 319,
        "memfd_secret": 447, "shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240, "modify_ldt": 154,
        "vmsplice": 278, "move_pages": 279, "migrate_pages": 256, "io_setup": 206, "landlock_create_ruleset": 444,
        "landlock_add_rule": 445, "landlock_restrict_self": 446, "fanotify_init": 300, "setpriority": 141,
        "ioprio_set": 251, "sched_setaffinity": 203, "sched_setscheduler": 144, "sched_setparam": 142,
        "sched_setattr": 314, "flock": 73, "inotify_init": 253, "inotify_init1": 294, "bind": 49, "connect": 42,
        "listen": 50, "accept": 43, "accept4": 288, "setsockopt": 54, "mincore": 27, "cachestat": 451,
    },
    "aarch64": {
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "mount": 40, "umount2": 39,
        "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268, "bpf": 280, "perf_event_open": 241,
        "keyctl": 219, "add_key": 217, "request_key": 218, "userfaultfd": 282, "io_uring_setup": 425,
        "io_uring_enter": 426, "io_uring_register": 427, "kexec_load": 104, "kexec_file_load": 294,
        "init_module": 105, "finit_module": 273, "reboot": 142, "swapon": 224, "personality": 92,
        "open_by_handle_at": 265, "name_to_handle_at": 264, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
        "fspick": 433, "move_mount": 429, "open_tree": 428, "mount_setattr": 442, "open_tree_attr": 467,
        "statmount": 457, "listmount": 458, "pidfd_getfd": 438, "pidfd_send_signal": 424, "kcmp": 272,
        "socket": 198, "quotactl": 60, "quotactl_fd": 443, "acct": 89, "syslog": 116, "memfd_create": 279,
        "memfd_secret": 447, "shmget": 194, "semget": 190, "msgget": 186, "mq_open": 180,
        "vmsplice": 75, "move_pages": 239, "migrate_pages": 238, "io_setup": 0, "landlock_create_ruleset": 444,
        "landlock_add_rule": 445, "landlock_restrict_self": 446, "fanotify_init": 262, "setpriority": 140,
        "ioprio_set": 30, "sched_setaffinity": 122, "sched_setscheduler": 119, "sched_setparam": 118,
        "sched_setattr": 274, "flock": 32, "inotify_init1": 26, "bind": 200, "connect": 203, "listen": 201,
        "accept": 202, "accept4": 242, "setsockopt": 208, "mincore": 232, "cachestat": 451,
    },
}  # fmt: skip
# What is said to be done and is not: it keeps the disk busy that whoever grades writes to, or empties its cache.
_IN_VAIN = {
    "x86_64": {
        "sync": 162, "syncfs": 306, "fsync": 74, "fdatasync": 75, "sync_file_range": 277, "msync": 26,
        "fadvise64": 221,
    },
    "aarch64": {
        "sync": 81, "syncfs": 267, "fsync": 82, "fdatasync": 83, "sync_file_range": 84, "msync": 227, "fadvise64": 223,
    },
}  # fmt: skip
_NEW_NAMESPACES = (
    CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | 0x02000000
)
_LOCKS = (6, 7, 37, 38)  # F_SETLK, F_SETLKW and those of open files: locks hold memory, too
_LEASE, _NOTICE, _CORE_OF_ITS_OWN, _HUGE_PAGES = 1024, 1026, 62, 0x40000
# BPF: load a word, compare it, look at its bits, answer.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
# Which argument is looked at, how, and for what it is refused. A pid other than 0 is another process.
_BY_ARGUMENT = {
    "clone": (0, _ANY_BIT, (_NEW_NAMESPACES,)),
    "prlimit64": (0, _ANY_BIT, (0xFFFFFFFF,)),
    "fcntl": (1, _EQUAL, (*_LOCKS, _LEASE, _NOTICE)),
    "prctl": (0, _EQUAL, (_CORE_OF_ITS_OWN,)),
    "mmap": (3, _ANY_BIT, (_HUGE_PAGES,)),  # of what is kept for others
    "socketpair": (0, _AT_LEAST, (2,)),  # all but AF_UNIX, 1
}
_LOOKED_AT = {
    "x86_64": {"clone": 56, "prlimit64": 302, "fcntl": 72, "prctl": 157, "mmap": 9, "socketpair": 53},
    "aarch64": {"clone": 220, "prlimit64": 261, "fcntl": 25, "prctl": 167, "mmap": 222, "socketpair": 199},
}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE3 = 435
_UNKNOWN = 470  # the first number that nobody has looked at here; x32's, which alias others, are above it
_ALLOW, _DONE, _EPERM, _ENOSYS, _KILL = 0x7FFF0000, 0x00050000, 0x00050001, 0x00050026, 0x80000000


def _forbid_system_calls() -> None:
    """A seccomp filter: the calls above fail with EPERM, here and in every process that starts from here."""
    program = _filter()
    code = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxQ", len(program) // _LINE.size, ctypes.addressof(code))
    _call("prctl", PR_SET_SECCOMP, 2, ctypes.create_string_buffer(filter_, len(filter_)), 0, 0)


_LINE = struct.Struct("HBBI")
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16  # offsets in what a filter sees


@cache
def _filter() -> bytes:
    """The program of the filter for this machine."""
    machine = platform.machine()
    if machine not in _FORBIDDEN:
        raise OSError(f"no list of system calls for {machine}")
    lines = [*_only_known_numbers(_AUDIT_ARCH[machine])]
    for numbers, answer in ((_FORBIDDEN[machine], _EPERM), (_IN_VAIN[machine], _DONE)):
        for number in numbers.values():
            lines += [(_EQUAL, 0, 1, number), (_ANSWER, 0, 0, answer)]
    for name, number in _LOOKED_AT[machine].items():
        lines += _by_argument(number, *_BY_ARGUMENT[name])
    return b"".join(_LINE.pack(*line) for line in [*lines, (_ANSWER, 0, 0, _ALLOW)])


def _by_argument(
    number: int, argument: int, test: int, values: tuple[int, ...]
) -> list[tuple[int, int, int, int]]:
    """Lines that refuse a call for what the lower half of one of its arguments is, and allow it else."""
    lines = [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument)]
    for value in values:
        lines += [(test, 0, 1, value), (_ANSWER, 0, 0, _EPERM)]
    lines += [(_ANSWER, 0, 0, _ALLOW)]
    return [(_EQUAL, 0, len(lines), number), *lines]


def _only_known_numbers(architecture: int) -> list[tuple[int, int, int, int]]:
    """The filter's head: another architecture ends the process, and what is not known is not there."""
    return [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, architecture),
        (_ANSWER, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _UNKNOWN),
        (_ANSWER, 0, 0, _ENOSYS),
        (_EQUAL, 0, 1, _CLONE3),  # its flags lie in memory: libc falls back to clone
        (_ANSWER, 0, 0, _ENOSYS),
    ]


def _call(name: str, *arguments: object) -> None:
    converted = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments]
    if getattr(_libc, name)(*converted) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
