"""The lock on a folder that a command works in: one process holds it at a time, and it ends with that process."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from dardis.model.errors import InputError

LOCK_FILE: Final = ".dardis-lock"
"""A file in the folder, since a folder itself can't be locked on every file system. One that is left is harmless."""
_NO_LOCKS: Final = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})
"""What a file system says that knows no locks."""


@contextmanager
def locked(folder: Path, place: object, name: str = LOCK_FILE) -> Iterator[None]:
    """Hold the lock of a folder that exists; its file is gone when the block ends.

    Locks of different names do not hinder each other. Raises InputError, which names `place`, when somebody else holds
    it, and OSError where its file can't be made.
    """
    path = folder / name
    lock = _taken(path, place)
    try:
        yield
    finally:
        try:
            # While it is held, so that nobody has taken it whose file this would be.
            if _is_at(path, lock):
                with suppress(OSError):
                    path.unlink()
        finally:
            os.close(lock)


def _taken(path: Path, place: object) -> int:
    """The open file that is locked, and to be found at `path`."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            by = os.read(lock, 200).decode("utf-8", errors="replace").strip()
            os.close(lock)
            found = "is being written by another dardis" + (f" ({by})" if by else "")
            raise InputError(place, found, "it to end, or another folder") from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                os.close(lock)
                raise
            _warn(f"{place}: its file system has no locks ({error.strerror}): let no other dardis write there")
            held = False
        if not held or _is_at(path, lock):
            with suppress(OSError):  # on a full disk: it only says who holds it
                os.ftruncate(lock, 0)
                os.write(lock, f"process {os.getpid()} on {os.uname().nodename}\n".encode())
            return lock
        os.close(lock)  # whoever held it has removed its file meanwhile


def _is_at(path: Path, lock: int) -> bool:
    """Whether `path` names the file that is open."""
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(lock))
    except OSError:
        return False


def _warn(line: str) -> None:
    print(f"dardis: warning: {line}", file=sys.stderr, flush=True)  # noqa: T201 (warnings go to standard error)
