"""Only module that reads a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

T = TypeVar("T")

cpu_ns = time.thread_time_ns
"""CPU time of the calling thread, in ns."""


def cpu_timed(work: Callable[[], T]) -> tuple[T, float]:
    """Result of `work` and its CPU time in s, for records only."""
    begun = cpu_ns()
    answer = work()
    return answer, (cpu_ns() - begun) / 1e9


def process_cpu_s() -> float:
    """CPU time of all threads of the process, in s."""
    return time.process_time()


def monotonic_s() -> float:
    """Steady clock in s."""
    return time.monotonic()


def steady_s() -> float:
    """Steady clock in s that also goes on while the machine sleeps, where the system has one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def unix_now() -> float:
    """Seconds since 1970."""
    return time.time()


def unix_ms() -> int:
    """Milliseconds since 1970."""
    return int(unix_now() * 1000)


def utc_now() -> str:
    """Present time in UTC as ISO 8601, for display."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def local_now() -> datetime:
    """Present local time, without its zone."""
    return datetime.now(UTC).astimezone().replace(tzinfo=None)
