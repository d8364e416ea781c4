"""Heuristic answers and the fluid bound.

Schedule-or-postpone (PCP'19, section 2.2) and list schedules, nodes by best fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import ceil, inf
from operator import or_
from typing import NamedTuple

import numpy as np

from dardis.dispatch.cp.decision_problem import DecisionProblem, Placement, RunningJobPart, WaitingJob
from dardis.kernels import schedule_or_postpone
from dardis.kernels.job_queue import LATEST, START, STARTED, UNBOUND, Rules
from dardis.kernels.job_table import JobTable
from dardis.kernels.placer import Placer
from dardis.kernels.profile import DONE, NodeProfiles
from dardis.model.arrays import Floats, Ints
from dardis.model.choices import NodeChoice
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER
from dardis.model.offer_rows import NODE_CHOICES


@dataclass(frozen=True)
class NodePlan:
    """Starts in s from now, and placements."""

    starts: Ints
    where: list[Placement]
    order: tuple[int, ...]

    def only(self, jobs: Sequence[int]) -> NodePlan:
        """Plan of some jobs, renumbered."""
        place_of = {job: place for place, job in enumerate(jobs)}
        where = [self.where[job] for job in jobs]
        return NodePlan(
            self.starts[np.array(jobs, dtype=np.int64)],
            where,
            tuple(place_of[job] for job in self.order if job in place_of),
        )


class ProblemMachine:
    """Nodes with running jobs and blocks, for waiting jobs."""

    def __init__(
        self, problem: DecisionProblem, jobs: Sequence[WaitingJob], running: Sequence[RunningJobPart] | None = None
    ) -> None:
        # The problem already lists closures as blocks.
        platform = replace(problem.platform, maintenance=()) if problem.platform.maintenance else problem.platform
        count = platform.node_count
        self._now = problem.now
        self._nodes = NodeProfiles(platform, 0, count, None)
        self._reserve_uses(problem, problem.running if running is None else running)
        hours = platform.hours if problem.keeps_hours else {}
        self._table = JobTable(platform.sets, [*hours.values()])
        number = {queue: place for place, queue in enumerate(hours, 1)}
        slots = [self._enter(one, number.get(one.job.queue, 0)) for one in jobs]
        self._slots = np.array(slots, dtype=np.int64)
        # Kernels need durations only: deadlines forbid nothing here.
        self._table.queue.table[self._slots, LATEST] = FOREVER
        choice = NODE_CHOICES[NodeChoice.BEST_FIT]
        rules = Rules(False, False, 0, UNBOUND, False, problem.distinct, choice, 0)
        self._placer = Placer(self._nodes, rules, len(platform.kinds), max(1, len(jobs)))

    def _enter(self, waiting: WaitingJob, hours: int) -> int:
        if waiting.job.requests:
            return self._table.add_shaped(waiting.job, waiting.orders, 0, hours)
        return self._table.add(waiting.job, waiting.duration, hours=hours)

    def _placement_of(self, slot: int) -> Placement:
        if self._table.jobs[slot].requests:
            return self._table.parts_of(slot)
        return 0, (self._table.nodes_of(slot),)

    def _reserve_uses(self, problem: DecisionProblem, running: Sequence[RunningJobPart]) -> None:
        # Kernels need an end for each entry: by `never` all planned jobs have ended.
        now, never = problem.now, problem.horizon + max((one.duration for one in problem.waiting), default=0) + 1
        blocked = [block for block in problem.blocked if block.end > now and block.start < never]
        held = [job for job in running if job.end > now]
        kinds = len(problem.platform.kinds)
        sizes = [len(job.nodes) for job in held]
        of_jobs = np.array([job.job.request for job in held], dtype=np.int64).reshape(-1, kinds)
        units = np.concatenate([np.zeros(0, np.int64), *(job.units for job in held)])
        of_blocks = np.array([block.amounts for block in blocked], dtype=np.int64).reshape(-1, kinds)
        amounts = np.concatenate([units[:, None] * np.repeat(of_jobs, sizes, axis=0), of_blocks])
        node = [*(job.nodes for job in held), np.array([block.node for block in blocked], dtype=np.int64)]
        start = [np.full(len(units), now), np.array([max(block.start, now) for block in blocked], dtype=np.int64)]
        ends = np.repeat(np.array([job.end for job in held], dtype=np.int64), sizes)
        end = [ends, np.array([min(block.end, never) for block in blocked], dtype=np.int64)]
        nodes, starts, until = np.concatenate(node), np.concatenate(start), np.concatenate(end)
        done = 0
        while True:
            done = schedule_or_postpone.take_all(self._nodes.profiles, nodes, starts, until, amounts, done)
            if done == len(nodes):
                return
            self._nodes.grow()

    def earliest(self, last: int = FOREVER) -> Ints:
        """Earliest start of each job beside running jobs and blocks only, in s from now; FOREVER if after `last`.

        `last`: on the trace's clock. Some parts may find no nodes.
        """
        found = np.empty(len(self._slots), dtype=np.int64)
        kernel = schedule_or_postpone.earliest_starts
        if self._placer.run(kernel, self._table.queue, self._now, self._slots, found, last) != DONE:
            raise ProtocolError("the search for earliest starts does not end")
        return np.where(found == FOREVER, FOREVER, found - self._now)

    def free(self) -> list[tuple[Ints, Ints]]:
        """Times in s from now, and free amounts (steps, kinds), by node."""
        rows, now = self._nodes.profiles, self._now
        found = []
        for low, size in zip(rows.head.tolist(), rows.size.tolist(), strict=True):
            first = low + max(0, int(np.searchsorted(rows.time[low : low + size], now, side="right")) - 1)
            time, value = rows.time[first : low + size], rows.value[first : low + size]
            found.append((np.maximum(time - now, 0), value))
        return found

    def start_or_postpone(self, order: Sequence[int]) -> NodePlan | None:
        """Schedule or postpone jobs by `order`; None: infeasible.

        Call only once: jobs keep the nodes.
        """
        slots = self._slots[np.array(order, dtype=np.int64)]
        freer = np.arange(len(self._nodes.member))
        walk = np.array([self._now, 0, len(freer)], dtype=np.int64)
        placer, queue = self._placer, self._table.queue
        return self._plan(slots, placer.run(schedule_or_postpone.start_or_postpone, queue, slots, freer, walk))

    def start_in_turn(self, order: Sequence[int]) -> NodePlan | None:
        """Start jobs as early as possible by `order`; see `place`."""
        slots = self._slots[np.array(order, dtype=np.int64)]
        return self._plan(
            slots, self._placer.run(schedule_or_postpone.place_in_order, self._table.queue, slots, self._now)
        )

    def _plan(self, slots: Ints, answer: int) -> NodePlan | None:
        queue, room = self._table.queue, self._placer.room
        if answer != DONE:
            raise ProtocolError("no nodes are found for a job that fits")
        started = room.started[: room.state[STARTED]].tolist()
        if len(started) < len(slots):
            return None
        place_of = {slot: place for place, slot in enumerate(self._slots.tolist())}
        return NodePlan(
            queue.table[self._slots, START] - self._now,
            [self._placement_of(slot) for slot in self._slots.tolist()],
            tuple(place_of[slot] for slot in started),
        )


class JobWork(NamedTuple):
    """Demand and capacity; times in s from now."""

    duration: Ints
    """(jobs,)"""
    need: Ints
    """(jobs, kinds)"""
    time: Ints
    free: Ints
    """`free[i]` (kinds,) holds from `time[i]` on."""


def least_of_groups(
    least: Callable[[Ints, JobWork], float],
    jobs: Sequence[WaitingJob],
    groups: Sequence[int],
    first: Ints,
    free_of: Callable[[int], tuple[Ints, Ints]],
) -> float:
    """Highest bound over sets of node groups, from the jobs confined to each.

    `least`: an `Objective.least`; `groups`: eligible groups by job, as bits; `free_of`: time and free capacity of
    groups.
    """
    duration = np.array([waiting.least_duration for waiting in jobs], dtype=np.int64)
    need = np.array([waiting.least_amounts for waiting in jobs], dtype=np.int64)
    found = []
    for bits in {*groups, reduce(or_, groups)} if groups else ():
        inside = np.array([of_job & ~bits == 0 for of_job in groups])
        found.append(least(first, JobWork(duration, np.where(inside[:, None], need, 0), *free_of(bits))))
    return max(found, default=-inf)


def least_weighted_starts(weight: Floats, first: Ints, work: JobWork) -> float:
    """Lower bound of the sum of `weight · start`, for starts from `first` on."""
    alone = weight * first
    found = [float(alone.sum())]
    for kind in range(work.need.shape[1]):
        asks = work.need[:, kind] > 0
        of_kind = _of_kind(weight[asks], work.duration[asks], work.need[asks, kind], work.time, work.free[:, kind])
        found.append(of_kind + float(alone[~asks].sum()))
    return max(found)


def least_end(work: JobWork) -> int:
    """Lower bound of the end of all work."""
    found = [0]
    for kind in range(work.need.shape[1]):
        all_of_it = np.array([(work.duration * work.need[:, kind]).sum()], dtype=np.float64)
        if all_of_it[0] > 0 and work.free[-1, kind] > 0:
            done = _completion_times(all_of_it, work.time, work.free[:, kind])[0]
            found.append(ceil(float(done[0]) * (1 - 1e-12)))
    return max(found)


def _of_kind(weight: Floats, duration: Ints, need: Ints, time: Ints, free: Ints) -> float:
    if not len(need) or free[-1] <= 0:
        return 0.0
    amount = duration.astype(np.float64) * need
    order = np.argsort(-weight / amount, kind="stable")
    _, moment = _completion_times(np.concatenate([[0.0], np.cumsum(amount[order])]), time, free)
    busy = np.diff(moment) / amount[order]
    # No job starts before now, however small the weight.
    least = float((weight[order] * (busy - duration[order] / 2)).sum())
    return max(least * (1 - 1e-12), 0.0)


def _completion_times(amount: Floats, time: Ints, free: Ints) -> tuple[Floats, Floats]:
    edges = np.append(time, FOREVER).astype(np.float64)
    # Work and moment grow linearly and quadratically within each step.
    done = np.concatenate([[0.0], np.cumsum(np.diff(edges[:-1]) * free[:-1])])
    begins = np.concatenate([[0.0], np.cumsum((edges[1:-1] ** 2 - edges[:-2] ** 2) / 2 * free[:-1])])
    # Work done as a step without capacity begins counts as done then, not at its end.
    step = np.clip(np.searchsorted(done, amount, side="left") - 1, 0, len(free) - 1)
    rate = np.maximum(free[step], 1)
    at = np.where(free[step] > 0, edges[step] + (amount - done[step]) / rate, edges[step])
    return at, begins[step] + (at**2 - edges[step] ** 2) / 2 * free[step]
