"""The only place that reads a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

T = TypeVar("T")

cpu_ns = time.thread_time_ns
"""CPU time of the calling thread, in ns."""


def cpu_timed(work: Callable[[], T]) -> tuple[T, float]:
    """What `work` answers, and its CPU time in the calling thread, in s; nothing may be decided by that."""
    begun = cpu_ns()
    answer = work()
    return answer, (cpu_ns() - begun) / 1e9


def process_cpu_s() -> float:
    """CPU time of all threads of the process, in s."""
    return time.process_time()


def monotonic_s() -> float:
    """Seconds that pass evenly; for showing progress, and for measuring."""
    return time.monotonic()


def unix_now() -> float:
    """The present, in s since 1970."""
    return time.time()


def unix_ms() -> int:
    """Ms since 1970-01-01T00:00Z."""
    return int(unix_now() * 1000)


def utc_now() -> str:
    """The present, as ISO 8601 in UTC, for people."""
    return datetime.now(UTC).isoformat(timespec="seconds")
