"""The measures of AUCSCHED (6.2) as its tables have them, of what it printed (`paper.csv`) and of our runs.

The figures of runs are kept (`kept.csv`), since all of them are days of work; who changes their schedules removes rows.
The slowdown of 3.00 of V.2 in table 8 stands in the paper, though waits are as V.1's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from scripts.lab.kit.cache import Metrics
from scripts.lab.kit.page import read_csv, write_csv

HOUR_S = 3600
AUCSCHED, BACKFILLING = "AUCSCHED", "SLURM/BF"
SEEDS: Final = 7
"""Workloads of each version (6.1)."""
KEPT: Final = Path(__file__).with_name("kept.csv")
_WHOLE: Final = ("completed", "decisions", "solver_asked", "solver_proven", "makespan_s")
_KEPT: Final = (
    *_WHOLE[:4], "theoretical_runtime_s", "utilisation", "makespan_s", "mean_wait_s", "sd_wait_s", "mean_fragmentation",
    "sd_fragmentation", "mean_slowdown", "mean_spread", "sd_spread", "decision_cpu_s",
)  # fmt: skip
"""Of metrics.json, as much as the tables are made of."""


def read_kept() -> dict[str, Metrics]:
    """What is kept, by run; what a dispatcher doesn't count is not there."""
    return {
        row.pop("run"): {name: (int if name in _WHOLE else float)(cell) for name, cell in row.items() if cell}
        for row in read_csv(KEPT)
    }


def write_kept(kept: Mapping[str, Metrics]) -> None:
    """Write what is to be kept, by run."""
    write_csv(KEPT, ("run", *_KEPT), ([run, *(kept[run].get(name, "") for name in _KEPT)] for run in sorted(kept)))


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


def _tables() -> dict[str, dict[str, dict[str, Figures]]]:
    tables: dict[str, dict[str, dict[str, Figures]]] = {}
    for row in read_csv(Path(__file__).with_name("paper.csv")):
        table, case, *cells = row.values()
        theoretical, *figures = map(float, cells)
        half = len(figures) // 2
        both = {AUCSCHED: figures[:half], BACKFILLING: figures[half:]}
        tables.setdefault(table, {})[case] = {who: Figures(theoretical, *of) for who, of in both.items()}
    return tables


TABLES: Final = _tables()
"""The paper's, by number, workload version, and who."""


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


def mean_over_versions(rows: Sequence[Measured]) -> Measured:
    """Means of ours over workload versions, at least one; `seeds` are the fewest that one of them has."""
    proven = [one.proven for one in rows if one.proven is not None]
    return Measured(
        over_cases([one.figures for one in rows]),
        min(one.seeds for one in rows),
        fmean(one.decision_ms for one in rows),
        fmean(proven) if proven else None,
    )
