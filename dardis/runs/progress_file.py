"""Run's progress, in a file for its parent process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dardis.engine.clock import monotonic_s

PERIOD_S = 0.3


def progress_writer(path: Path) -> Callable[[int, int], None]:
    """Function to write progress (settled, total) to the file."""
    told = monotonic_s() - PERIOD_S

    def tell(settled: int, total: int) -> None:
        nonlocal told
        now = monotonic_s()
        if now - told >= PERIOD_S:
            told = now
            path.write_text(f"{settled} {total}\n", encoding="utf-8")

    return tell


def read_progress(path: Path) -> tuple[int, int] | None:
    """Settled and total jobs, or None if unknown."""
    try:
        settled, total = map(int, path.read_text(encoding="utf-8").split())
    except (OSError, ValueError):  # not begun, or partly written
        return None
    return settled, total
