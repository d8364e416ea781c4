"""The measures of AUCSCHED (6.2) as its tables have them, of what it printed and of our runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from scripts.lab.kit.cache import Metrics

HOUR_S = 3600


class Figures(NamedTuple):
    """A row of tables 5 to 8, over the simulations of a workload version."""

    theoretical_h: float
    utilisation: float
    """%."""
    runtime_h: float
    wait_h: float
    sd_wait_h: float
    fragmentation: float
    sd_fragmentation: float
    slowdown: float
    spread: float
    sd_spread: float


@dataclass(frozen=True)
class Measured:
    """Our row: its figures, of so many seeds, and what deciding took."""

    figures: Figures
    seeds: int
    decision_ms: float
    """CPU a decision."""
    proven: float | None
    """%, of the auctions that went to the solver; None: none did."""


def measured(runs: Sequence[Metrics]) -> Measured:
    """Average the runs of a dispatcher, one a seed, as the paper does (6.2).

    Waits, fragmentation, slowdowns and spread are means over all jobs; deviations are each simulation's, averaged.
    """
    jobs = [one["completed"] for one in runs]

    def each(key: str) -> float:
        return fmean(one[key] for one in runs)

    def over_jobs(key: str) -> float:
        return fmean([one[key] for one in runs], jobs)

    figures = Figures(
        each("theoretical_runtime_s") / HOUR_S, 100 * each("utilisation"), each("makespan_s") / HOUR_S,
        over_jobs("mean_wait_s") / HOUR_S, each("sd_wait_s") / HOUR_S,
        over_jobs("mean_fragmentation"), each("sd_fragmentation"), over_jobs("mean_slowdown"),
        over_jobs("mean_spread"), each("sd_spread"),
    )  # fmt: skip
    decisions = sum(one["decisions"] for one in runs)
    asked = sum(one.get("solver_asked", 0) for one in runs)
    proven = sum(one.get("solver_proven", 0) for one in runs)
    decision_ms = 1e3 * sum(one["decision_cpu_s"] for one in runs) / max(1, decisions)
    return Measured(figures, len(runs), decision_ms, 100 * proven / asked if asked else None)


def over_cases(rows: Sequence[Figures]) -> Figures:
    """Means over workload versions, at least one."""
    return Figures(*(fmean(values) for values in zip(*rows, strict=True)))


def together(rows: Sequence[Measured]) -> Measured:
    """Means of ours over workload versions, at least one; `seeds` are the fewest that one of them has."""
    proven = [one.proven for one in rows if one.proven is not None]
    return Measured(
        over_cases([one.figures for one in rows]),
        min(one.seeds for one in rows),
        fmean(one.decision_ms for one in rows),
        fmean(proven) if proven else None,
    )
