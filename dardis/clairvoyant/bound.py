"""A proven bound on how long jobs wait at least on a machine, however much is known of them.

Lagrangian relaxation of the time-indexed model (Fisher, 1973; Möhring et al., 2003, for projects): what nodes have
together of a resource is no limit any more, but has a price at each time. For any prices, the least sum of weighted
waits and of what jobs pay, less what the whole machine would pay, lies at or below every schedule's weighted waits.
Prices are raised where more is used than there is, and lowered where less is (Polyak's steps), on ever finer steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from dardis.clairvoyant.schedule import Progress
from dardis.kernels.profiles import NodeProfiles
from dardis.kernels.relaxed import add_use, relaxed_starts
from dardis.model.arrays import Floats, Ints
from dardis.model.job import Actual
from dardis.model.platform import Platform
from dardis.model.profile import sum_of_columns

STEPS_S: Final = (14_400, 7_200, 3_600, 1_800, 900, 450)
"""How long the steps of prices are, one after the other; each is so many times the next."""
MOST_STEPS: Final = 100_000
"""Shorter steps, of which there would be more, are left out."""
TRIES: Final = 400
"""Prices that are tried for each."""
_PATIENCE: Final = 15
"""Prices without a better bound after which steps are shortened, and go on from the best."""
_SHORTER: Final = 0.7
_SHORTEST: Final = 1e-4
_ROUNDING: Final = 1e-9
"""The share of the sums by which the bound is lowered: far more than their rounding."""


@dataclass(frozen=True)
class Demand:
    """Jobs and what they share; times in s from `begin`.

    Resources are what all nodes of some groups have of a kind; who may run on no other nodes needs it.
    """

    begin: int
    earliest: Floats
    span: Floats
    """How long each runs."""
    need: Floats
    """Shape (jobs, resources)."""
    time: list[Ints]
    """For each resource since when there is `free` of it, ascending from before `begin` on."""
    free: list[Ints]

    @classmethod
    def of_jobs(cls, jobs: Sequence[Actual], platform: Platform) -> Demand:
        """Of jobs that all fit on the machine."""
        begin = min(job.earliest for job in jobs)
        rows = NodeProfiles(platform, 0, platform.node_count, None).profiles
        spans = [slice(head, head + size) for head, size in zip(rows.head.tolist(), rows.size.tolist(), strict=True)]
        bits = [job.asked.groups & platform.all_groups for job in jobs]
        amounts = np.array([job.asked.request for job in jobs], dtype=np.int64)
        amounts *= np.array([job.asked.units for job in jobs])[:, None]
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

    def there(self, step: int, steps: int) -> Floats:
        """What there is of each resource in each step, in its unit times s, shape (steps, resources)."""
        edges = self.begin + step * np.arange(steps + 1, dtype=np.int64)
        columns = []
        for time, free in zip(self.time, self.free, strict=True):
            moments = np.unique(np.concatenate([edges, time[(time > edges[0]) & (time < edges[-1])]]))
            have = free[np.searchsorted(time, moments[:-1], side="right") - 1] * np.diff(moments)
            until = np.concatenate([[0], np.cumsum(have)])
            columns.append(np.diff(until[np.searchsorted(moments, edges)]))
        return np.array(columns, dtype=np.float64).reshape(-1, steps).T.copy()


def least_wait(
    demand: Demand,
    weight: Floats,
    reached: float,
    until: int,
    steps_s: Sequence[int] = STEPS_S,
    progress: Progress | None = None,
) -> float:
    """What the sum of `weight · (start - earliest)` is at least, in s, of all jobs.

    `reached` is the sum of some schedule and `until` when it ends, in s from the demand's begin: they say how far to
    go, and no bound depends on them.
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
    demand: Demand, weight: Floats, reached: float, step: int, prices: Floats, length: float
) -> tuple[float, Floats]:
    """The best bound found from these prices on, and its prices, shape (steps, resources)."""
    there = demand.there(step, len(prices))
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
