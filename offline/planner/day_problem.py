"""One day to plan as arrays: jobs, machine, conditions; and what a plan is. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dardis.model.arrays import Floats, Ints, Sets
from dardis.model.job import Actual, Job
from dardis.model.placements import Placements
from dardis.model.platform import Platform
from dardis.power.conditions import Conditions, Tariff
from dardis.power.cooling import Cooling


@dataclass(frozen=True, slots=True)
class Expected:
    """A job to plan: what it asks for, and for how many seconds it is expected to run if it is not cut."""

    asked: Job
    runtime: int

    @classmethod
    def as_it_runs(cls, job: Actual) -> Expected:
        """A job of which everything is known: a past one, or one of a trace that was forecast."""
        return cls(job.asked, job.runtime)

    @property
    def duration(self) -> int:
        """How long it is expected to occupy its nodes: its runtime, cut at its walltime."""
        return min(self.runtime, self.asked.walltime)


@dataclass(frozen=True)
class PlanJobs:
    """Jobs to plan, arrays of shape (jobs,) in (submit, number) order; times in s of the trace's clock.

    `duration` is how long a job is expected to run (thesis: d_i from the forecast). `request` (jobs, kinds) is what one
    unit takes, `groups` the bit set of node groups that may run it. `core_w` is what each of its cores adds to its
    node's power, `income` what a core-hour of it earns. `latest` is the last start that is allowed (`NO_TIME`: any).
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
class Running:
    """What already runs when the day begins and stays as it is.

    Arrays of shape (jobs,), `request` (jobs, kinds); `finish` is when it is expected to end.
    """

    number: Ints
    submit: Ints
    start: Ints
    finish: Ints
    request: Ints
    core_w: Floats
    income: Floats
    placed: Placements

    def held(self, platform: Platform, now: int) -> Iterator[tuple[Ints, Ints, Ints, int, int]]:
        """What its jobs hold from `now` on: nodes, units on each, what a unit takes, begin and end.

        Where a node is in maintenance, and so closed to all, nothing is held.
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
class Problem:
    """A day `[conditions.start, conditions.end)` to plan. Only what is run and spent in it counts (thesis eq. 6.3).

    A job may start at any time from `earliest` to `horizon` (or never within the day, then it earns nothing in it).
    """

    platform: Platform
    conditions: Conditions
    cooling: Cooling
    tariff: Tariff
    jobs: PlanJobs
    running: Running
    horizon: int


class StoppedBy(StrEnum):
    """Why a search ended."""

    DONE = "done"
    """All of its iterations were made."""
    OPTIMAL = "optimal"
    TIME = "time"
    """The guard fired: another run may get further."""
    USER = "user"


@dataclass(frozen=True)
class Plan:
    """Where and when every job of a problem runs, on real nodes, in the order of the jobs.

    `start` may lie after the day: then the job waits for another day and has nodes all the same.
    """

    start: Ints
    placed: Placements
    profit: float
    """By `dardis.power.account`, all nodes on, of these jobs and those that run already."""
    search: str
    stopped_by: StoppedBy = StoppedBy.DONE
    bound: float | None = None
    """No plan has more profit; None where that isn't proven."""
