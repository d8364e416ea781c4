"""System calls missing from Python."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import struct
from typing import Final

_C: Final = ctypes.PyDLL(None, use_errno=True)
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NAME: Final = 15
_CLONE3, _CLOSE_RANGE = 435, 436  # the same number on each architecture
_CLOSE, _LAST = ctypes.c_long(_CLOSE_RANGE), 0xFFFFFFFF
_HERE, _NO_REPLACE = -100, 1
_CLONE_INTO_CGROUP: Final = 0x2_0000_0000
_CLOCK_BOOTTIME: Final = 7
_TIMER_FLAGS: Final = os.O_NONBLOCK | os.O_CLOEXEC
_PIDFD_INFO: Final = 3 << 30 | 64 << 16 | 0xFF << 8 | 11
_PIDFD_INFO_EXIT: Final = 1 << 3


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def become_subreaper() -> None:
    """Adopt orphans of child processes."""
    _checked(_C.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def set_process_name(name: bytes) -> None:
    """Set the name of this process, up to 15 bytes."""
    _checked(_C.prctl(_PR_SET_NAME, name, 0, 0, 0))


def fork_into(cgroup: int) -> int:
    """Fork into an open cgroup of version 2; 0 in the child. Raises OSError.

    Only for a single thread: skips Python's fork hooks.
    """
    asked = struct.pack("11Q", _CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, cgroup)
    return _checked(_C.syscall(ctypes.c_long(_CLONE3), asked, ctypes.c_size_t(len(asked))))


def close_files(but: int = 2) -> None:
    """Close all files except standard streams and `but`."""
    for first, last in ((3, but - 1), (but + 1, _LAST)):
        if first <= last and _C.syscall(_CLOSE, ctypes.c_uint(first), ctypes.c_uint(last), ctypes.c_uint(0)) < 0:
            os.closerange(first, min(last + 1, os.sysconf("SC_OPEN_MAX")))


def rename_new(old: bytes, new: bytes) -> None:
    """Rename a file; fails if the new name exists. Raises OSError."""
    if _C.renameat2(_HERE, old, _HERE, new, _NO_REPLACE) < 0:
        number = ctypes.get_errno()
        if number not in {errno.EINVAL, errno.ENOSYS}:
            raise OSError(number, os.strerror(number))
        os.link(old, new)  # file system without this flag
        os.unlink(old)


def boot_timer() -> int:
    """Create a timer file of CLOCK_BOOTTIME."""
    return _checked(_C.timerfd_create(_CLOCK_BOOTTIME, _TIMER_FLAGS))


def set_timer(timer: int, boot_ms: int | None) -> None:
    """Set the timer in ms of CLOCK_BOOTTIME; None: never."""
    due = 0 if boot_ms is None else max(boot_ms, 1)
    absolute = 1
    _checked(_C.timerfd_settime(timer, absolute, struct.pack("4q", 0, 0, due // 1000, due % 1000 * 1_000_000), None))


def exit_status(pidfd: int) -> int | None:
    """Wait status of a dead process; None: not reaped.

    Raises OSError before Linux 6.13; 6.13 and 6.14 always return None.
    """
    asked = bytearray(struct.pack("Q", _PIDFD_INFO_EXIT)) + bytearray(56)
    fcntl.ioctl(pidfd, _PIDFD_INFO, asked)
    (mask,) = struct.unpack_from("Q", asked)
    (status,) = struct.unpack_from("i", asked, 60)
    return int(status) if mask & _PIDFD_INFO_EXIT else None
