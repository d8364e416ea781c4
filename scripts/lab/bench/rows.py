"""One line of the benchmark's table."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.lab.kit.spread import Spread


@dataclass(frozen=True, slots=True)
class Row:
    """One program on one workload. `ratio` is named by `ratio_of`, taken turn by turn; `notes` are further figures."""

    comparison: str
    program: str
    jobs: int
    cpu_s: Spread
    peak_mib: Spread
    ratio: Spread | None = None
    ratio_of: str = ""
    goal: str = ""
    notes: dict[str, float] | None = None
