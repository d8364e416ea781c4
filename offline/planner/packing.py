"""The jobs of a problem on its real nodes, beside what runs already: nothing on it ever holds more than it has."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dardis.kernels import profile, queue, rebuild, search
from dardis.kernels.day_profit import DayProfit
from dardis.kernels.placer import Placer
from dardis.kernels.profiles import NodeProfiles
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME
from dardis.model.offer_rows import BEST_FIT
from dardis.model.placements import Placements, indexes_of, offsets_of
from offline.planner.problem import Plan, Problem

GRAIN_S = 900
"""Between the times where something changes, starts are looked at this often."""


class Packing:
    """Places jobs (by place in the problem's arrays); times in s of the trace's clock."""

    def __init__(self, problem: Problem, seed: int = 1) -> None:
        """Lay out the machine with what runs, no job placed yet."""
        platform, jobs, running = problem.platform, problem.jobs, problem.running
        self._now = problem.conditions.start
        self._nodes = NodeProfiles(platform, 0, platform.node_count, None)
        for nodes, units, request, begin, end in running.held(platform, self._now):
            if not self._nodes.reserve(nodes, units, request, begin, end, NO_TIME):
                raise ValueError(f"nodes {nodes.tolist()} do not hold what runs on them")
        self.soonest: Ints = np.maximum(jobs.earliest, self._now)
        most = np.minimum(jobs.units, platform.node_count)
        count, kinds = jobs.request.shape
        held_most = int(most.sum()) + 1
        self._queue = queue.make_queue(count, kinds)._replace(
            hold_node=np.zeros(held_most, np.int64), hold_units=np.zeros(held_most, np.int64)
        )
        table = self._queue.table
        table[:, queue.NUMBER], table[:, queue.SUBMIT] = jobs.number, jobs.submit
        table[:, queue.SPAN], table[:, queue.UNITS] = jobs.duration, jobs.units
        table[:, queue.GROUPS] = [platform.sets.code(bits) for bits in jobs.groups.tolist()]
        table[:, queue.LATEST] = np.where(jobs.latest == NO_TIME, FOREVER, jobs.latest)
        table[:, queue.START], table[:, queue.HOLD] = NO_TIME, np.cumsum(most) - most
        table[:, queue.REQUEST :] = jobs.request
        rules = queue.Rules(True, True, 0, queue.UNBOUND, False, False, BEST_FIT, seed)
        self._placer = Placer(self._nodes, rules, kinds)

    @property
    def start(self) -> Ints:
        """The starts of all jobs, `NO_TIME` where one is not placed; a copy."""
        return self._queue.table[:, queue.START].copy()

    def placed(self) -> Placements:
        """The nodes of all jobs; of one that is not placed, none."""
        held, low = self._queue.table[:, queue.HELD], self._queue.table[:, queue.HOLD]
        place = indexes_of(low, held)
        return Placements(offsets_of(held), self._queue.hold_node[place], self._queue.hold_units[place])

    def put(self, job: int, first: int | None = None) -> int:
        """Place a job at its earliest free start, not before `first`; return it. ValueError when no node holds it."""
        placer, soonest = self._placer, int(self.soonest[job])
        first = soonest if first is None else max(first, soonest)
        if not placer.find(self._queue, job, queue.UNBOUND, first, FOREVER, self._now):
            raise ValueError(f"job {self._queue.table[job, queue.NUMBER]} is too large for the machine")
        start = int(placer.room.result[1])
        placer.change(search.take, self._queue, job, start, self._now)
        return start

    def keep_all(self, plan: Plan, jobs: Iterable[int]) -> None:
        """Place jobs where they are in a plan of the same problem."""
        table = self._queue.table
        for job in jobs:
            nodes, units = plan.placed.of(job)
            low = table[job, queue.HOLD]
            table[job, queue.HELD] = len(nodes)
            self._queue.hold_node[low : low + len(nodes)] = nodes
            self._queue.hold_units[low : low + len(nodes)] = units
            if self._placer.change(search.take, self._queue, job, int(plan.start[job]), self._now) != profile.DONE:
                raise ValueError(f"job {table[job, queue.NUMBER]} does not fit where the plan has it")

    def rebuild(self, profit: DayProfit, groups: list[Ints]) -> float:
        """Tear out each group of placed jobs and put its jobs, in their order, where they are worth most.

        What gets worse is put back as it was. Returns the profit gained, by `profit`, which is kept up to date.
        """
        sizes = [len(group) for group in groups]
        offsets = offsets_of(sizes)
        slots = np.concatenate([np.zeros(0, dtype=np.int64), *groups])
        most, room = max(sizes, default=0), len(self._queue.hold_node)
        torn = rebuild.Torn(*(np.zeros(size, dtype=np.int64) for size in (most, most, room, room)))
        work = rebuild.Groups(offsets, slots, np.zeros(4, dtype=np.int64), np.zeros(2))
        done = self._placer.run(rebuild.rebuild, self._queue, profit, GRAIN_S, self._now, work, torn)
        if done != profile.DONE:
            raise ValueError("a job that was placed is too large for the machine")
        return float(work.gains[rebuild.TOTAL])
