"""What no answer undercuts, however jobs are cut into pieces: a bound beside the solver's own.

In a schedule a job of duration d is busy, on average over what it does, d / 2 after its start. Let all do their work in
pieces, as much at a time as the machine has of a kind: then the weighted mean busy times are least if whoever weighs
most for his work is served first (Goemans et al., 2002, for one machine). Less half the durations, that bounds starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import ceil, inf
from operator import or_
from typing import NamedTuple

import numpy as np

from dardis.dispatch.cp.problem import Waiting
from dardis.model.arrays import Floats, Ints
from dardis.model.job import FOREVER


class Work(NamedTuple):
    """What jobs have to do, and what there is for it; times in s from now."""

    duration: Ints
    """(jobs,)"""
    need: Ints
    """(jobs, kinds); who asks for nothing may start at any time, as far as it is known here."""
    time: Ints
    free: Ints
    """`free[i]` (kinds,) is there from `time[i]` on."""


def least_of_groups(
    least: Callable[[Ints, Work], float],
    jobs: Sequence[Waiting],
    groups: Sequence[int],
    first: Ints,
    free_of: Callable[[int], tuple[Ints, Ints]],
) -> float:
    """The least of an objective by what the nodes of any groups have for the jobs that may use no others.

    `least` answers it by earliest starts and work (`Objective.least`); `groups` are those that each job may use, as
    bits, and `first` its earliest start; `free_of` answers time and free, as in `Work`, of the nodes of some groups.
    """
    duration = np.array([waiting.least_duration for waiting in jobs], dtype=np.int64)
    need = np.array([waiting.least_amounts for waiting in jobs], dtype=np.int64)
    found = []
    for bits in {*groups, reduce(or_, groups)} if groups else ():
        inside = np.array([of_job & ~bits == 0 for of_job in groups])
        found.append(least(first, Work(duration, np.where(inside[:, None], need, 0), *free_of(bits))))
    return max(found, default=-inf)


def least_weighted_starts(weight: Floats, first: Ints, work: Work) -> float:
    """The least that the sum of `weight · start` can be, by any one kind, where no job starts before its `first`."""
    alone = weight * first
    found = [float(alone.sum())]
    for kind in range(work.need.shape[1]):
        asks = work.need[:, kind] > 0
        of_kind = _of_kind(weight[asks], work.duration[asks], work.need[asks, kind], work.time, work.free[:, kind])
        found.append(of_kind + float(alone[~asks].sum()))
    return max(found)


def least_end(work: Work) -> int:
    """The earliest that all work can be done, by any one kind."""
    found = [0]
    for kind in range(work.need.shape[1]):
        all_of_it = np.array([(work.duration * work.need[:, kind]).sum()], dtype=np.float64)
        if all_of_it[0] > 0 and work.free[-1, kind] > 0:
            done = _done(all_of_it, work.time, work.free[:, kind])[0]
            found.append(ceil(float(done[0]) * (1 - 1e-12)))
    return max(found)


def _of_kind(weight: Floats, duration: Ints, need: Ints, time: Ints, free: Ints) -> float:
    """The least sum, by a kind of which all need some."""
    if not len(need) or free[-1] <= 0:
        return 0.0
    amount = duration.astype(np.float64) * need
    order = np.argsort(-weight / amount, kind="stable")
    _, moment = _done(np.concatenate([[0.0], np.cumsum(amount[order])]), time, free)
    busy = np.diff(moment) / amount[order]
    # Nobody starts before now, however little he weighs.
    least = float((weight[order] * (busy - duration[order] / 2)).sum())
    return max(least * (1 - 1e-12), 0.0)


def _done(amount: Floats, time: Ints, free: Ints) -> tuple[Floats, Floats]:
    """When so much work is done at the earliest, and its moment until then, ∫ t dw."""
    edges = np.append(time, FOREVER).astype(np.float64)
    # Both grow along straight and square pieces, from what they are at each step's begin.
    done = np.concatenate([[0.0], np.cumsum(np.diff(edges[:-1]) * free[:-1])])
    begins = np.concatenate([[0.0], np.cumsum((edges[1:-1] ** 2 - edges[:-2] ** 2) / 2 * free[:-1])])
    # What is done just as a step without room begins is done then, not at its end.
    step = np.clip(np.searchsorted(done, amount, side="left") - 1, 0, len(free) - 1)
    rate = np.maximum(free[step], 1)
    at = np.where(free[step] > 0, edges[step] + (amount - done[step]) / rate, edges[step])
    return at, begins[step] + (at**2 - edges[step] ** 2) / 2 * free[step]
