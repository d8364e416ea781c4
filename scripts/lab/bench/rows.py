"""One line of the benchmark's table."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from dataclasses import dataclass

from scripts.lab.bench.measure import Cost
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


def row_of(
    comparison: str, program: str, jobs: int, costs: Sequence[Cost], ratio: Spread | None = None, ratio_of: str = "",
    goal: str = "", notes: dict[str, float] | None = None,
) -> Row:  # fmt: skip
    """Sum up the runs of a program."""
    spent, peak = (Spread.of([getattr(cost, what) for cost in costs]) for what in ("cpu_s", "peak_mib"))
    return Row(comparison, program, jobs, spent, peak, ratio, ratio_of, goal, notes)


def over(above: Sequence[Cost], below: Sequence[Cost]) -> Spread:
    """CPU time over CPU time, turn by turn."""
    return Spread.of([a.cpu_s / b.cpu_s for a, b in zip(above, below, strict=True)])


def own_peak() -> Spread:
    """The memory of this process at its largest so far, MiB."""
    return Spread.of([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024])
