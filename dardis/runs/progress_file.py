"""How a run tells the process that started it how far it is: two numbers in a small file, written now and then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dardis.engine.clock import monotonic_s

PERIOD_S = 0.3


def teller(path: Path) -> Callable[[int, int], None]:
    """A function to tell progress to (jobs settled, jobs in all), which writes it to the file."""
    told = monotonic_s() - PERIOD_S

    def tell(settled: int, total: int) -> None:
        nonlocal told
        now = monotonic_s()
        if now - told >= PERIOD_S:
            told = now
            path.write_text(f"{settled} {total}\n", encoding="utf-8")

    return tell


def read(path: Path) -> tuple[int, int] | None:
    """Jobs settled and jobs in all; None while nobody knows."""
    try:
        settled, total = map(int, path.read_text(encoding="utf-8").split())
    except (OSError, ValueError):  # not begun, or read in the middle of being written
        return None
    return settled, total
