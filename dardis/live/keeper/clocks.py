"""The keeper's clocks, in ms."""

from __future__ import annotations

import time


def unix_ms() -> int:
    """Wall-clock time since 1970; it may jump."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME) // 1_000_000


def boot_ms() -> int:
    """Time since the host was started, sleep included; it never jumps, and limits are measured by it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
