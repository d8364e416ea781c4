"""What is planned: two workloads cut from one trace, one machine, and scenarios of plant, season and income."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np

from dardis.config.platform_file import load_platform
from dardis.metrics.power import find_cooling
from dardis.model.arrays import Floats, Ints
from dardis.model.platform import Platform
from dardis.model.randomness import stream
from dardis.model.resources import CORES, POWER
from dardis.power.conditions import Conditions
from dardis.power.cooling import Cooling
from dardis.workload.trace_jobs import to_jobs
from dardis.workload.trace_reader import read_trace
from offline.planner.day_problem import ExpectedJob, PlanJobs
from offline.planner.packing import plan_jobs
from offline.site.calendar import DAY_S, HOUR_S
from offline.site.history import jobs_that_fit
from scripts.lab.kit.command import convert
from scripts.lab.kit.thesis import FLAT_PRICE, PARTITION, SUMMER, TRACE, WINTER, Season

SEED: Final = 1
CORE_W: Final = (7.8, 11.11)
"""Least and most W that a core of a job draws."""
INCOMES: Final = {"cheap": 0.013, "expensive": 0.10}
"""EUR that a core-hour earns."""

# A node draws what its jobs draw: thesis chapter 6 has no idle power.
_PLATFORM: Final = """\
name = "curie-fat"
income_eur_per_core_h = 0.013
[[nodes]]
count = 300
prefix = "fat"
resources = {{ cores = 32, memory = "128GiB"{more} }}
power = {{ idle_w = 0, core_w = 9.455, off_w = 0 }}
"""


@dataclass(frozen=True)
class Workload:
    """One load: how it is cut from the trace, whole or its first days, and what the thesis has in its place."""

    name: str
    options: tuple[str, ...]
    theirs: str
    days: int | None = None


LOW: Final = Workload("low", ("--partition", PARTITION), "8,125 jobs in 30 days")
HIGH: Final = Workload("high", ("--partition", PARTITION, "--load", "1.8"), "33,583 jobs in 23 days")
SLICE: Final = Workload("slice", (), "33,583 jobs in 23 days", 2)


@dataclass(frozen=True)
class Scenario:
    """A plant in a season."""

    plant: str
    season: Season

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"{self.plant} {self.season.name}"

    @property
    def cooling(self) -> Cooling:
        """The plant, built for the thesis's machine."""
        return find_cooling(self.plant)


SCENARIOS: Final = tuple(Scenario(plant, season) for plant, season in product(("air", "hybrid"), (SUMMER, WINTER)))


@dataclass(frozen=True)
class Case:
    """A workload on the machine. The first submission is at midnight, day 0 begins with it."""

    workload: Workload
    platform: Platform
    jobs: list[ExpectedJob]
    told: PlanJobs
    """The same jobs for a planner, with the W a core that were drawn for them."""
    left_out: int
    """Jobs wider than the machine."""

    @property
    def first(self) -> int:
        """The first submission."""
        return int(self.told.submit[0])

    @property
    def last(self) -> int:
        """The last submission."""
        return int(self.told.submit[-1])

    @property
    def cores(self) -> Ints:
        """Cores of each whole job."""
        return np.asarray(self.told.units * self.told.request[:, self.platform.kinds.index(CORES)])

    @property
    def load(self) -> float:
        """Core-seconds that are asked for over those that the machine has until the last submission."""
        return float((self.cores * self.told.duration).sum()) / (self.platform.cores * (self.last - self.first))

    def conditions(self, scenario: Scenario, start: int, end: int) -> Conditions:
        """Assumed temperatures and the flat price over `[start, end)`, `start` at a whole hour."""
        edges = np.unique(np.append(np.arange(start, end, HOUR_S, dtype=np.int64), end))
        hours = (edges[:-1] - self.first) // HOUR_S % 24
        temps = np.array([scenario.season.assumed_c(hour) for hour in hours.tolist()])
        return Conditions(edges, temps, np.full(len(temps), FLAT_PRICE), np.zeros(len(temps)))

    def powered(self) -> tuple[Platform, list[ExpectedJob]]:
        """Machine and jobs for the rules that look at power: it is a resource in mW, more than jobs ever take."""
        platform = _platform(f", {POWER} = {round(32 * CORE_W[1] * 1000)}")
        assert set(platform.kinds) == {*self.platform.kinds, POWER}
        a_unit = np.round(1000 * self.told.core_w * self.cores / self.told.units).astype(np.int64).tolist()
        jobs = []
        for job, watts in zip(self.jobs, a_unit, strict=True):
            amounts = dict(zip(self.platform.kinds, job.job.request, strict=True)) | {POWER: watts}
            request = tuple(amounts[kind] for kind in platform.kinds)
            jobs.append(replace(job, job=replace(job.job, request=request)))
        return platform, jobs


def _platform(more: str = "") -> Platform:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "platform.toml"
        path.write_text(_PLATFORM.format(more=more), encoding="utf-8")
        return load_platform(path)


def trace_of(out: Path, workload: Workload) -> Path:
    """The trace of a workload."""
    return out / f"{workload.name}.swf"


def prepare(data: Path, out: Path, workload: Workload) -> None:
    """Cut the trace of a workload."""
    convert(data / "traces" / TRACE, trace_of(out, workload), *workload.options)


def load(out: Path, workload: Workload) -> Case:
    """Read a workload that was prepared."""
    platform = _platform()
    jobs = to_jobs(read_trace(trace_of(out, workload)), platform).jobs
    if workload.days is not None:
        end = jobs[0].submit + workload.days * DAY_S
        jobs = [job for job in jobs if job.submit < end]
    kept = [ExpectedJob.with_known_runtime(job) for job in jobs_that_fit(jobs, platform)]
    told = plan_jobs(kept, platform, kept[0].job.submit)
    watts: Floats = stream(SEED, "thesis 6", "watts").uniform(*CORE_W, len(kept))
    return Case(workload, platform, kept, replace(told, core_w=watts), len(jobs) - len(kept))
