"""End of the leases in shared memory, and clocks."""

from __future__ import annotations

import mmap
import os
import struct
import time
from typing import Final

_WORDS: Final = struct.calcsize("3Q")


class Lease:
    """Common end of a supervisor's leases.

    Renewals are atomic memory writes. A host restart resets the lease.
    """

    def __init__(self, path: str, boot: str) -> None:
        """Open the file; reset a lease of another boot. Raises OSError."""
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
        """End of the leases, ms of CLOCK_BOOTTIME."""
        return self._words[0]

    def renew(self, end_ms: int) -> None:
        """Extend the leases to `end_ms`; never shorten."""
        self._words[0] = max(self._words[0], end_ms)

    @property
    def watchdog(self) -> tuple[int, int]:
        """Process ID and start of the watchdog; zeros: none."""
        return self._words[1], self._words[2]

    @watchdog.setter
    def watchdog(self, process: tuple[int, int]) -> None:
        self._words[1], self._words[2] = process


def unix_ms() -> int:
    """Unix time; may jump."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME) // 1_000_000


def boot_ms() -> int:
    """Time since boot, sleep included; never jumps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
