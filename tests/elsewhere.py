"""This machine without what another system lacks: `python elsewhere.py windows|macos` runs commands of `course`.

Standard input is JSON, a list of commands. So is what comes out: which modules do not load, and of each command its
exit code, what it printed and what it said.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import io
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import stat
import sys

# Packages of others look once, when they load, what there is: they are at home on each system.
OTHERS = (
    "IPython alembic.command distributed jupytext matplotlib.figure nbclient nbconvert nbgrader.apps "
    "nbgrader.converters numpy openpyxl rich.progress sqlalchemy"
)
LINUX_ALONE = {
    os: "memfd_create pidfd_open pipe2 sched_getaffinity sched_setaffinity setns setresgid setresuid unshare",
    signal: "pidfd_send_signal sigtimedwait sigwaitinfo",
    socket: "MSG_NOSIGNAL SCM_CREDENTIALS SO_PASSCRED SO_PEERCRED SOCK_CLOEXEC",
    select: "epoll",
}
UNIX_ALONE = {
    os: "chown chroot fchmod fork forkpty getegid geteuid getgid getpgid getuid killpg mkfifo nice setgid "
    "setgroups setpgid setsid setuid statvfs sysconf uname wait3 wait4 O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK",
    signal: "alarm pthread_sigmask setitimer SIGALRM SIGCHLD SIGHUP SIGKILL SIGSTOP SIGUSR1",
    socket: "recv_fds send_fds AF_UNIX CMSG_LEN CMSG_SPACE MSG_DONTWAIT SCM_RIGHTS",
    select: "poll",
}
UNIX_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")


def become(system: str) -> None:
    """Takes away what a system lacks. `sys.platform` alone is left: the standard library asks it at every step."""
    for name in OTHERS.split():
        importlib.import_module(name)
    for lacking in (LINUX_ALONE, *([UNIX_ALONE] if system == "windows" else [])):
        for module, names in lacking.items():
            for name in set(names.split()) & set(dir(module)):
                delattr(module, name)
    if system == "windows":
        sys.modules.update(dict.fromkeys(UNIX_MODULES))  # type: ignore[arg-type]  # so an import fails
        ctypes.CDLL = _WindowsLibrary  # type: ignore[misc]
        shutil._use_fd_functions = False  # type: ignore[attr-defined]
        os.unlink = os.remove = _removed_where_it_may_be_written


_unlink = os.unlink


def _removed_where_it_may_be_written(path: str | os.PathLike[str], **more: int) -> None:
    if not os.lstat(path).st_mode & stat.S_IWUSR:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    _unlink(path, **more)


class _WindowsLibrary(ctypes.CDLL):
    def __init__(self, name: str | None, *arguments: object, **more: object) -> None:
        if name is None:
            raise TypeError("there is no library of the process itself")
        super().__init__(name, *arguments, **more)  # type: ignore[arg-type]


def modules_that_do_not_load() -> list[str]:
    import course_lib

    failed = []
    for module in pkgutil.walk_packages(course_lib.__path__, "course_lib."):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            failed.append(f"{module.name}: {error}")
    return failed


def run(command: list[str]) -> tuple[object, str, str]:
    from course_lib import cli

    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main(command)
    except SystemExit as end:
        return end.code or 0, out.getvalue(), err.getvalue()
    except Exception as error:
        return repr(error), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    become(sys.argv[1])
    result = [modules_that_do_not_load(), [run(command) for command in json.load(sys.stdin)]]
    print(json.dumps(result))
