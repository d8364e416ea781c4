"""The only place that reads a clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime

cpu_ns = time.thread_time_ns
"""CPU time of the calling thread, in ns."""


def process_cpu_s() -> float:
    """CPU time of all threads of the process, in s."""
    return time.process_time()


def monotonic_s() -> float:
    """Seconds that pass evenly; for showing progress, and for measuring."""
    return time.monotonic()


def utc_now() -> str:
    """The present, as ISO 8601 in UTC, for people."""
    return datetime.now(UTC).isoformat(timespec="seconds")
