"""Large neighbourhood search (Shaw, 1998) with all jobs known, and lower bound on waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from dardis.kernels import node_search
from dardis.kernels.day_profit import add_use, relaxed_starts
from dardis.kernels.job_queue import HELD, HOLD, UNBOUND, Rules
from dardis.kernels.job_table import JobTable
from dardis.kernels.placer import Placer
from dardis.kernels.profile import DONE, NodeProfiles
from dardis.model.arrays import Floats, Ints
from dardis.model.choices import NodeChoice
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, NO_TIME, ActualJob
from dardis.model.offer_rows import NODE_CHOICES
from dardis.model.placements import Placements, offsets_of
from dardis.model.platform import Platform
from dardis.model.randomness import stream
from dardis.model.step_function import sum_of_columns

MOST_OUT: Final = 24
"""Most jobs removed beside the chosen job."""
TRIES_A_JOB: Final = 10
NODES_ASKED: Final = 500_000_000
"""Limit of node visits, about."""

Progress = Callable[[int, int], None]
"""Called with (done, total)."""
Where = tuple[Ints, Ints]


class ImprovingSchedule:
    """Legal schedule of jobs with known durations."""

    def __init__(self, jobs: Sequence[ActualJob], platform: Platform, start: Ints, placed: Placements) -> None:
        """Start from a schedule; ProtocolError if illegal."""
        self._earliest = np.array([job.earliest for job in jobs], dtype=np.int64)
        self._span = np.array([job.duration for job in jobs], dtype=np.int64)
        self._area = self._span * np.array([job.job.units * max(job.job.request) for job in jobs])
        self.start = np.zeros(len(jobs), dtype=np.int64)
        kinds = len(platform.kinds)
        self._table = JobTable(platform.sets)
        self._slots = [self._table.add(job.job, job.duration) for job in jobs]
        self._table.queue.table[self._slots, HELD] = 0
        rules = Rules(False, False, 0, UNBOUND, False, False, NODE_CHOICES[NodeChoice.BEST_FIT], 0)
        self._placer = Placer(NodeProfiles(platform, 0, platform.node_count, None), rules, kinds)
        for job, moment in enumerate(start.tolist()):
            span = slice(placed.offsets[job], placed.offsets[job + 1])
            self._put_back(job, moment, (placed.nodes[span].astype(np.int64), placed.units[span].astype(np.int64)))

    @property
    def total(self) -> int:
        """Sum of starts in s."""
        return int(self.start.sum())

    @property
    def placed(self) -> Placements:
        """Nodes of all jobs."""
        where = [self._table.nodes_of(slot) for slot in self._slots]
        offsets = offsets_of(np.array([len(nodes) for nodes, _ in where], dtype=np.int64))
        return Placements(offsets, *(np.concatenate(column) for column in zip(*where, strict=True)))

    def improve(self, tries: int, seed: int, progress: Progress | None = None) -> None:
        """Start each job as early as possible, then try `tries` orders."""
        for job in np.lexsort((self._earliest, self.start)).tolist():
            self._take_out(job)
            self._put_in(job)
        chance = stream(seed, "clairvoyant")
        for done in range(tries):
            waiting = np.flatnonzero(self.start > self._earliest)
            if not len(waiting):
                break
            self._try(int(chance.choice(waiting)), chance)
            if progress is not None:
                progress(done + 1, tries)

    def _try(self, job: int, chance: np.random.Generator) -> None:
        end = self.start[job] + self._span[job]
        beside = np.flatnonzero((self.start < end) & (self.start + self._span > self._earliest[job]))
        beside = beside[beside != job]
        if not len(beside):
            return
        count = min(len(beside), int(chance.integers(1, MOST_OUT + 1)))
        some = np.concatenate([[job], chance.choice(beside, count, replace=False)])
        before = self.start[some]
        where = [self._take_out(one) for one in some.tolist()]
        if chance.random() < 0.5:
            order = np.concatenate([[0], 1 + np.argsort(before[1:], kind="stable")])
        else:
            order = np.argsort(self._area[some] * chance.exponential(size=len(some)), kind="stable")
        left, placed = int(before.sum()), []
        for one in some[order].tolist():
            self._put_in(one)
            placed.append(one)
            left -= int(self.start[one])
            if left < 0:
                break
        if left < 0:
            for one in placed:
                self._take_out(one)
            for one, moment, there in zip(some.tolist(), before.tolist(), where, strict=True):
                self._put_back(one, moment, there)

    def _take_out(self, job: int) -> Where:
        slot = self._slots[job]
        where = self._table.nodes_of(slot)
        self._report_progress(self._placer.change(node_search.release_job, self._table.queue, slot, NO_TIME))
        return where

    def _put_in(self, job: int) -> None:
        slot, queue, placer = self._slots[job], self._table.queue, self._placer
        if not placer.find(queue, slot, UNBOUND, int(self._earliest[job]), FOREVER, NO_TIME):
            raise ProtocolError("no nodes are found for a job that fits")
        self.start[job] = moment = int(placer.room.result[1])
        self._report_progress(placer.change(node_search.take, queue, slot, moment, NO_TIME))

    def _put_back(self, job: int, moment: int, where: Where) -> None:
        slot, queue = self._slots[job], self._table.queue
        (nodes, units), low = where, queue.table[self._slots[job], HOLD]
        queue.hold_node[low : low + len(nodes)], queue.hold_units[low : low + len(nodes)] = nodes, units
        queue.table[slot, HELD] = len(nodes)
        self.start[job] = moment
        self._report_progress(self._placer.change(node_search.take, queue, slot, moment, NO_TIME))

    @staticmethod
    def _report_progress(done: int) -> None:
        if done != DONE:
            raise ProtocolError("a job does not fit on its planned nodes")


def tries_for(jobs: int, nodes: int) -> int:
    """Useful number of tries."""
    return min(TRIES_A_JOB * jobs, NODES_ASKED // (nodes * MOST_OUT))


STEPS_S: Final = (14_400, 7_200, 3_600, 1_800, 900, 450)
"""Of prices; each is a multiple of the next."""
MOST_STEPS: Final = 100_000
"""Most steps; shorter steps are skipped."""
TRIES: Final = 400
"""Price updates per step length."""
_PATIENCE: Final = 15
"""Updates without gain before steps shrink."""
_SHORTER: Final = 0.7
_SHORTEST: Final = 1e-4
_ROUNDING: Final = 1e-9
"""Share subtracted from the bound, far above rounding errors."""


@dataclass(frozen=True)
class SharedDemand:
    """Jobs and shared resources; times in s from `begin`.

    A resource is a kind on all nodes of some groups, needed by jobs limited to these.
    """

    begin: int
    earliest: Floats
    span: Floats
    need: Floats
    """(jobs, resources)."""
    time: list[Ints]
    """By resource: times from which `free` applies, from before `begin` on."""
    free: list[Ints]

    @classmethod
    def of_jobs(cls, jobs: Sequence[ActualJob], platform: Platform) -> SharedDemand:
        """From jobs that all fit the machine."""
        begin = min(job.earliest for job in jobs)
        rows = NodeProfiles(platform, 0, platform.node_count, None).profiles
        spans = [slice(head, head + size) for head, size in zip(rows.head.tolist(), rows.size.tolist(), strict=True)]
        bits = [job.job.groups & platform.all_groups for job in jobs]
        amounts = np.array([job.job.request for job in jobs], dtype=np.int64)
        amounts *= np.array([job.job.units for job in jobs])[:, None]
        need, time, free = [], [], []
        for some, kind in product(sorted({*bits}), range(len(platform.kinds))):
            asks = np.where([one & ~some == 0 for one in bits], amounts[:, kind], 0)
            nodes = np.flatnonzero(platform.sets.nodes(some))
            times, values = sum_of_columns([(rows.time[spans[n]], rows.value[spans[n]]) for n in nodes.tolist()])
            if asks.sum() > values[:, kind].min():
                need.append(asks)
                time.append(times)
                free.append(values[:, kind])
        return cls(
            begin,
            np.array([job.earliest - begin for job in jobs], dtype=np.float64),
            np.array([job.duration for job in jobs], dtype=np.float64),
            np.array(need, dtype=np.float64).reshape(-1, len(jobs)).T.copy(),
            time,
            free,
        )

    def capacity_by_step(self, step: int, steps: int) -> Floats:
        """Capacity by step, unit times s, (steps, resources)."""
        edges = self.begin + step * np.arange(steps + 1, dtype=np.int64)
        columns = []
        for time, free in zip(self.time, self.free, strict=True):
            moments = np.unique(np.concatenate([edges, time[(time > edges[0]) & (time < edges[-1])]]))
            have = free[np.searchsorted(time, moments[:-1], side="right") - 1] * np.diff(moments)
            until = np.concatenate([[0], np.cumsum(have)])
            columns.append(np.diff(until[np.searchsorted(moments, edges)]))
        return np.array(columns, dtype=np.float64).reshape(-1, steps).T.copy()


def least_wait(
    demand: SharedDemand,
    weight: Floats,
    reached: float,
    until: int,
    steps_s: Sequence[int] = STEPS_S,
    progress: Progress | None = None,
) -> float:
    """Lower bound of the sum of `weight · (start - earliest)`, in s.

    `reached` (a schedule's sum) and `until` (its end, s from begin) only guide the search.
    """
    if not demand.need.shape[1]:
        return 0.0
    best, prices, before = 0.0, np.zeros((0, demand.need.shape[1])), 0
    lengths = [step for step in steps_s if until <= step * MOST_STEPS] or [-(-until // MOST_STEPS)]
    for place, step in enumerate(lengths):
        steps = -(-until // step)
        start = np.zeros((steps, demand.need.shape[1]))
        if before:
            finer = np.repeat(prices, before // step, axis=0)[:steps]
            start[: len(finer)] = finer
        found, prices = _raised(demand, weight, reached, step, start, 0.3 if before else 1.0)
        best, before = max(best, found), step
        if progress is not None:
            progress(place + 1, len(lengths))
    return best


def _raised(
    demand: SharedDemand, weight: Floats, reached: float, step: int, prices: Floats, length: float
) -> tuple[float, Floats]:
    there = demand.capacity_by_step(step, len(prices))
    start, used = np.zeros(len(weight)), np.zeros_like(prices)
    best, kept, since = -np.inf, prices, 0
    for _ in range(TRIES):
        paid = np.concatenate([np.zeros((1, prices.shape[1])), np.cumsum(prices * step, axis=0)])
        cost = relaxed_starts(demand.earliest, demand.span, demand.need, weight, paid, float(step), start)
        machine = float((prices * there).sum())
        bound = cost - machine - _ROUNDING * (cost + machine)
        since += 1
        if bound > best:
            since = 0 if bound > best + 1e-4 * abs(best) else since
            best, kept = bound, prices
        if since >= _PATIENCE:
            length, since, prices = length * _SHORTER, 0, kept
        used[:] = 0.0
        add_use(start, demand.span, demand.need, float(step), used)
        slope = used - there
        slope[(prices <= 0.0) & (slope < 0.0)] = 0.0
        square = float((slope**2).sum())
        if length < _SHORTEST or square == 0.0 or reached <= bound:
            break
        prices = np.maximum(prices + length * (reached - bound) / square * slope, 0.0)
    return best, kept
