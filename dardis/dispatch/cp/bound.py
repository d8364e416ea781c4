"""What no answer undercuts, however jobs are cut into pieces: a bound beside the solver's own.

In a schedule a job of duration d is busy, on average over what it does, d / 2 after its start. Let all do their work in
pieces, as much at a time as the machine has of a kind: then the weighted mean busy times are least if whoever weighs
most for his work is served first (Goemans et al., 2002, for one machine). Less half the durations, that bounds starts.
"""

from __future__ import annotations

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.job import FOREVER


def least_weighted_starts(weight: Floats, duration: Ints, need: Ints, time: Ints, free: Ints) -> float:
    """The least that the sum of `weight · start` can be, by any one kind; times are s from now.

    `weight`, `duration` have shape (jobs,), `need` (jobs, kinds); `free[i]` (kinds,) is there from `time[i]` on. Those
    who ask for nothing of a kind may start at once, as far as it knows.
    """
    return max((_of_kind(weight, duration, need[:, k], time, free[:, k]) for k in range(need.shape[1])), default=0.0)


def _of_kind(weight: Floats, duration: Ints, need: Ints, time: Ints, free: Ints) -> float:
    asks = need > 0
    if not asks.any() or free[-1] <= 0:
        return 0.0
    weight, duration = weight[asks], duration[asks].astype(np.float64)
    work = duration * need[asks]
    order = np.argsort(-weight / work, kind="stable")
    # Work that can be done by each step's begin, and its moment (∫ t dw): both grow along straight and square pieces.
    edges = np.append(time, FOREVER).astype(np.float64)
    done = np.concatenate([[0.0], np.cumsum(np.diff(edges[:-1]) * free[:-1])])
    begins = np.concatenate([[0.0], np.cumsum((edges[1:-1] ** 2 - edges[:-2] ** 2) / 2 * free[:-1])])
    until = np.concatenate([[0.0], np.cumsum(work[order])])
    step = np.minimum(np.searchsorted(done, until, side="right") - 1, len(free) - 1)
    rate = np.maximum(free[step], 1)
    at = np.where(free[step] > 0, edges[step] + (until - done[step]) / rate, edges[step])
    moment = begins[step] + (at**2 - edges[step] ** 2) / 2 * free[step]
    busy = np.diff(moment) / work[order]
    # Nobody starts before now, however little he weighs.
    least = float((weight[order] * (busy - duration[order] / 2)).sum())
    return max(least * (1 - 1e-12), 0.0)
