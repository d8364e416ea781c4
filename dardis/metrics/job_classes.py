"""Waits by job width and requested walltime."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from dardis.metrics.catalogue import OF_LINE, columns_of
from dardis.metrics.job_metrics import bounded_slowdown, footprints
from dardis.model.arrays import Floats, Ints
from dardis.model.csv_table import WHOLE, WORD, Column, CsvTable, FilledTable
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule

WIDTH: Final = "width"
WALLTIME: Final = "walltime"
_WALLTIMES: Final = (
    (600, "≤ 10 min"), (3600, "10 min–1 h"), (4 * 3600, "1–4 h"), (12 * 3600, "4–12 h"), (86400, "12 h–1 d"),
)  # fmt: skip
_MORE: Final = "> 1 d"
_MEANS: Final = ("mean_wait_s", "mean_bounded_slowdown", "mean_fragmentation", "mean_spread")
CLASSES: Final = CsvTable(
    "who_pays.csv",
    *OF_LINE,
    Column("runs", WHOLE, "runs that ended well"),
    Column("by", WORD, "`width` (cores of the job, by powers of two) or `walltime` (requested)"),
    Column("class", WORD, "cores of its jobs such as `5–8`, or their walltimes"),
    Column("jobs", WHOLE, "jobs of the class that ran, of all these runs"),
    *columns_of(_MEANS),
)


@dataclass(frozen=True)
class JobClass:
    """Sums over jobs of one class."""

    by: str
    """WIDTH (cores, by powers of two) or WALLTIME (requested)."""
    place: int
    jobs: int
    wait_s: int
    slowdown: float
    fragmentation: int
    spread: float

    @property
    def name(self) -> str:
        """Label, such as `1`, `3–4` or a range of walltimes."""
        if self.by == WALLTIME:
            return _WALLTIMES[self.place][1] if self.place < len(_WALLTIMES) else _MORE
        high = 1 << self.place
        return str(high) if high <= 2 else f"{high // 2 + 1}–{high}"

    @property
    def mean_wait_s(self) -> float:
        """Mean wait in s."""
        return self.wait_s / self.jobs

    @property
    def mean_bounded_slowdown(self) -> float:
        """Mean bounded slowdown."""
        return self.slowdown / self.jobs

    @property
    def mean_fragmentation(self) -> float:
        """Mean number of contiguous node blocks."""
        return self.fragmentation / self.jobs

    @property
    def mean_spread(self) -> float:
        """Mean spread."""
        return self.spread / self.jobs


def job_classes(schedule: Schedule) -> list[JobClass]:
    """Non-empty classes, by width, then by walltime."""
    ran = schedule.ran
    wait = (schedule.start - schedule.submit)[ran]
    taken = footprints(schedule)
    borne = (
        wait, bounded_slowdown(wait, (schedule.finish - schedule.start)[ran]),
        taken.fragmentation[ran], taken.spread[ran],
    )  # fmt: skip
    cores = schedule.requested_total(CORES)[ran]
    places = {
        WIDTH: np.searchsorted(1 << np.arange(62), cores),
        WALLTIME: np.searchsorted([longest for longest, _ in _WALLTIMES], schedule.walltime[ran]),
    }
    return [found for by, place in places.items() for found in _classes(by, place, borne)]


def _classes(by: str, place: Ints, borne: tuple[Ints, Floats, Ints, Floats]) -> Iterator[JobClass]:
    for index in np.unique(place).tolist():
        mine = place == index
        yield JobClass(by, index, int(mine.sum()), *(of_jobs[mine].sum().item() for of_jobs in borne))


def merge_classes(runs: Iterable[list[JobClass]]) -> list[JobClass]:
    """Merge classes of several runs."""
    total: dict[tuple[str, int], JobClass] = {}
    for run in runs:
        for one in run:
            known = total.get((one.by, one.place))
            total[one.by, one.place] = one if known is None else _merge_pair(known, one)
    return sorted(total.values(), key=lambda one: (one.by == WALLTIME, one.place))


def _merge_pair(a: JobClass, b: JobClass) -> JobClass:
    sums = (a.jobs + b.jobs, a.wait_s + b.wait_s, a.slowdown + b.slowdown)
    return JobClass(a.by, a.place, *sums, a.fragmentation + b.fragmentation, a.spread + b.spread)


ClassRows: TypeAlias = list[tuple[str, str, int, list[JobClass]]]
"""Trace, dispatcher, runs, merged classes."""


def classes_table(found: ClassRows) -> FilledTable:
    """Build `who_pays.csv`."""
    rows = (
        (trace, dispatcher, runs, one.by, one.name, one.jobs, *(getattr(one, name) for name in _MEANS))
        for trace, dispatcher, runs, classes in found
        for one in classes
    )
    return FilledTable(CLASSES, rows)
