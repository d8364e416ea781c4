"""Day's planning problem as arrays, and the plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dardis.model.arrays import Floats, Ints, Sets
from dardis.model.job import ActualJob, Job
from dardis.model.placements import Placements
from dardis.model.platform import Platform
from dardis.power.conditions import Conditions, Tariff
from dardis.power.cooling import Cooling


@dataclass(frozen=True, slots=True)
class ExpectedJob:
    """Job with its expected runtime before any cut."""

    job: Job
    runtime: int

    @classmethod
    def with_known_runtime(cls, job: ActualJob) -> ExpectedJob:
        """Job with a known runtime: a past or forecast job."""
        return cls(job.job, job.runtime)

    @property
    def duration(self) -> int:
        """Expected runtime, cut at the walltime."""
        return min(self.runtime, self.job.walltime)


@dataclass(frozen=True)
class PlanJobs:
    """Jobs to plan, arrays (jobs,) in (submit, number) order; times in s of the trace's clock.

    `duration`: expected runtime (thesis: forecast d_i). `request` (jobs, kinds): resources of a unit. `groups`: bit set
    of usable node groups. `core_w`: power added by a core. `income`: of a core-hour. `latest`: last allowed start
    (`NO_TIME`: any).
    """

    number: Ints
    submit: Ints
    earliest: Ints
    latest: Ints
    duration: Ints
    units: Ints
    request: Ints
    groups: Sets
    core_w: Floats
    income: Floats


@dataclass(frozen=True)
class RunningJobs:
    """Jobs running at the day's beginning.

    Arrays (jobs,), `request` (jobs, kinds); `finish`: expected end.
    """

    number: Ints
    submit: Ints
    start: Ints
    finish: Ints
    request: Ints
    core_w: Floats
    income: Floats
    placed: Placements

    def holdings(self, platform: Platform, now: int) -> Iterator[tuple[Ints, Ints, Ints, int, int]]:
        """Yield holdings from `now` on: nodes, units, resources of a unit, begin and end.

        Nodes in maintenance hold nothing.
        """
        for job, finish in enumerate(self.finish.tolist()):
            nodes, units = (column.astype(np.int64) for column in self.placed.of(job))
            places: dict[tuple[int, int], list[int]] = {}
            for place, node in enumerate(nodes.tolist()):
                for span in platform.open_spans(node, now, finish):
                    places.setdefault(span, []).append(place)
            for (begin, end), some in places.items():
                yield nodes[some], units[some], self.request[job], begin, end


@dataclass(frozen=True)
class DayProblem:
    """Day to plan. Only work and costs in the day count (thesis eq. 6.3).

    Jobs may start from `earliest` to `horizon`.
    """

    platform: Platform
    conditions: Conditions
    cooling: Cooling
    tariff: Tariff
    jobs: PlanJobs
    running: RunningJobs
    horizon: int


class StoppedBy(StrEnum):
    """Reason for a search's end."""

    DONE = "done"
    """All iterations are complete."""
    OPTIMAL = "optimal"
    TIME = "time"
    """The time limit fired."""
    USER = "user"


@dataclass(frozen=True)
class Plan:
    """Starts and real nodes of a problem's jobs, in order.

    Starts after the day mean waiting (with nodes, too).
    """

    start: Ints
    placed: Placements
    profit: float
    """By `dardis.power.account`, with running jobs and all nodes on."""
    search: str
    stopped_by: StoppedBy = StoppedBy.DONE
    bound: float | None = None
    """Upper bound on profit; None if unproven."""
