"""The end of the leases, in shared memory and in a file that outlives all processes, and the keeper's clocks in ms."""

from __future__ import annotations

import mmap
import os
import struct
import time
from typing import Final

_WORDS: Final = struct.calcsize("3Q")


class Lease:
    """How long runs with a lease may live. All of a keeper's have the same end.

    To move it is one write to memory: it waits for no disk, holds against the death of whoever wrote it, and is never
    seen half done. No restart of the host is outlived.
    """

    def __init__(self, path: str, boot: str) -> None:
        """What a file says, if that was written under this boot; else nothing has a lease yet. Raises OSError."""
        mark = boot.encode()
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.pread(file, len(mark) + 1, _WORDS) != mark:
                os.ftruncate(file, 0)
                os.pwrite(file, bytes(_WORDS) + mark, 0)
            held = mmap.mmap(file, _WORDS + len(mark))
        finally:
            os.close(file)
        self._words = memoryview(held)[:_WORDS].cast("Q")

    @property
    def end_ms(self) -> int:
        """When they are over, ms of CLOCK_BOOTTIME."""
        return self._words[0]

    def renew(self, end_ms: int) -> None:
        """Let them last until then, if they don't already."""
        self._words[0] = max(self._words[0], end_ms)

    @property
    def guard(self) -> tuple[int, int]:
        """The number and the start of the process that watches over them; zeros: none has."""
        return self._words[1], self._words[2]

    @guard.setter
    def guard(self, process: tuple[int, int]) -> None:
        self._words[1], self._words[2] = process


def unix_ms() -> int:
    """Wall-clock time since 1970; it may jump."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME) // 1_000_000


def boot_ms() -> int:
    """Time since the host was started, sleep included; it never jumps, and limits are measured by it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
